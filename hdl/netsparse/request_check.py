"""Checks whether a work request is legal."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import Cause


class RequestCheck(Component):
    """Builds the ``command`` of a unit from ``request``, with the ``cause`` if it is not legal.

    COMMAND: the property size is 0, not a multiple of 4, or above the largest of the build; an
    address is not aligned, or beyond the build's address range; or the idx filter is enabled and
    its own address is illegal (``filter_illegal``).

    ARRAY: with ``filter``, the request is for another array of properties (address and size) than
    the first legal one that was ``taken`` with the filter since it was cleared. A bit of the filter
    says that the property of an idx is in memory, but not in which array, so the idx would be
    dropped and its property would be missing (NetSparse, section 5.2). ``clear`` allows a new
    array, if no request is under way; a request is under way from ``taken`` to ``ended``.

    Latency: none.
    """

    latency = 0

    def __init__(self, params: SnicParams) -> None:
        super().__init__(
            params,
            request=In(params.rig.request),
            command=Out(params.rig.command),
            filter=In(1),
            filter_illegal=In(1),
            clear=In(1),
            taken=In(1),
            ended=In(1),
        )

    def build(self, m: Module) -> None:
        rig = self.params.rig
        request, command = self.request, self.command
        under_way = Signal(bits_for(self.params.units * (rig.commands + 2)))
        array = Signal(rig.property_array, reset_less=True)
        known = Signal()  # an array was taken already
        rests = Signal()
        fresh = Signal()  # any array may be taken
        other = Signal()
        illegal = self.illegal()
        requested = Signal(rig.property_array)
        m.d.comb += [
            requested.address.eq(request.property_address[: rig.address_bits]),
            requested.bytes.eq(request.property_bytes),
            rests.eq(under_way == 0),
            fresh.eq(~known | (self.clear & rests)),
            other.eq(self.filter & ~fresh & (requested != array)),
            *(command[name].eq(request[name][: len(command[name])]) for name, _ in rig.request),
        ]
        with m.If(illegal):
            m.d.comb += command.cause.eq(Cause.COMMAND)
        with m.Elif(other):
            m.d.comb += command.cause.eq(Cause.ARRAY)
        m.d.sync += under_way.eq(under_way + self.taken - self.ended)
        with m.If(self.clear & rests):
            m.d.sync += known.eq(0)
        with m.If(self.taken & self.filter & fresh & ~illegal):
            m.d.sync += [known.eq(1), array.eq(requested)]

    def illegal(self) -> Value:
        """Return whether no unit can carry out the request."""
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
