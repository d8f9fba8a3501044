"""Checks whether a work request can be carried out."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import Cause


class RequestCheck(Component):
    """Gives the ``command`` of a unit for ``request``, with the ``cause`` that forbids it.

    COMMAND: its property size is 0, no multiple of 4, or above the largest of the build; an
    address is not aligned, or beyond what the build can address; or the idx filter is to be used
    and its address is one of these (``filter_illegal``).

    ARRAY: with ``filter``, the request is for another array of properties (address and size) than
    the first good one that was ``taken`` with it since the filter was cleared. A bit of the
    filter says that an idx has its property, not in which array, so the idx would be dropped and
    its property would not come (NetSparse, section 5.2). ``clear`` makes room for a new array, if
    no request is under way: each is from its ``taken`` to its ``ended``.

    Latency: none.
    """

    latency = 0

    def __init__(self, params: SnicParams) -> None:
        super().__init__(
            params,
            {
                "request": In(params.rig.request),
                "command": Out(params.rig.command),
                "filter": In(1),
                "filter_illegal": In(1),
                "clear": In(1),
                "taken": In(1),
                "ended": In(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        rig = self.params.rig
        request, command = self.request, self.command
        under_way = Signal(bits_for(self.params.units * (rig.commands + 2)))
        array = Signal(rig.property_array, reset_less=True)
        known = Signal()  # there is an array already
        rests = Signal()
        other = Signal()
        asked = Signal(rig.property_array)
        m.d.comb += [
            asked.address.eq(request.property_address[: rig.address_bits]),
            asked.bytes.eq(request.property_bytes),
            rests.eq(under_way == 0),
            other.eq(self.filter & known & (asked != array) & ~(self.clear & rests)),
            *(command[name].eq(request[name][: len(command[name])]) for name, _ in rig.request),
        ]
        with m.If(self.illegal()):
            m.d.comb += command.cause.eq(Cause.COMMAND)
        with m.Elif(other):
            m.d.comb += command.cause.eq(Cause.ARRAY)
        m.d.sync += under_way.eq(under_way + self.taken - self.ended)
        with m.If(self.clear & rests):
            m.d.sync += known.eq(0)
        with m.If(self.taken & self.filter & (command.cause == Cause.DONE)):
            m.d.sync += [known.eq(1), array.eq(asked)]
        return m

    def illegal(self) -> Value:
        """Return whether no unit can carry the request out."""
        rig, request = self.params.rig, self.request
        size = request.property_bytes
        return (
            (size == 0)
            | size[:2].any()
            | (size > rig.most_property_bytes)
            | request.property_address[:2].any()
            | request.property_address[rig.address_bits :].any()
            | request.idx_address[:2].any()
            | (request.wide & request.idx_address[2])
            | request.idx_address[rig.address_bits :].any()
            | (self.filter & self.filter_illegal)
        )
