"""Lets reads enter a middle pipe when there is room for whatever may become of them."""

from typing import Any, cast

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.middle_pipe.cost import cost_of
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.routing_table import RoutingTable

PATIENCE = 127  #: cycles that some packets take to leave a port, and make room


class LookupGate(Component):
    """Lets reads in, one a cycle, and says which of them look their property up (section 6.2.1).

    A read looks up if the ``cache`` is on, its way leads to an uplink, its src has a route and its
    idx is one that the cache can tell from all others. It
    enters with a place among the reads that may miss (``reads_room``); one that looks up needs a
    place for a hit (``hits_room``), room for the response at the port of its src (``open_items``),
    and the cache's ``slot`` of this cycle. It waits for these, except that the room may not come
    while that port is ``stalled``: then it goes on without a lookup, as ``passed_by`` says.

    ``enters`` and ``entry`` are combinational; an entry with ``lookup`` accesses the cache in this
    cycle. ``waits``: a lookup lacks nothing but the slot. ``lacks_room``: it has
    lacked room for the response for :data:`PATIENCE` cycles. Latency: :attr:`latency` from a PR
    taken.
    """

    latency = RoutingTable.latency

    def __init__(self, params: NetSparseSwitchParams) -> None:
        super().__init__(
            params,
            {
                "write": In(params.write_route),
                "cache": In(1),
                "prs": In(stream.Signature(params.deconcatenator(False).beat)),
                "tag": In(params.tag),
                "open_items": In(params.ports),
                "stalled": In(params.ports),
                "reads_room": In(1),
                "hits_room": In(1),
                "slot": In(1),
                "waits": Out(1),
                "lacks_room": Out(1),
                "enters": Out(1),
                "entry": Out(params.read_entry),
                "passed_by": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        m.submodules.homes = homes = RoutingTable(params)
        valid = Signal()
        up = Signal(reset_less=True)
        read = Signal(self.prs.payload.shape(), reset_less=True)
        egress = Signal(params.port_bits, reset_less=True)
        cost = Signal(params.cost_bits, reset_less=True)
        step = Signal()
        m.d.comb += [
            step.eq(~valid | self.enters),
            self.prs.ready.eq(step),
            homes.write.eq(self.write),
            homes.step.eq(step),
            homes.dest.eq(self.prs.payload.pr.src),
        ]
        with m.If(step):
            m.d.sync += [
                valid.eq(self.prs.valid),
                read.eq(self.prs.payload),
                egress.eq(self.tag.egress),
                up.eq(self.tag.uplink & self.cache & params.fits(self.prs.payload.pr.idx)),
                cost.eq(cost_of(self.prs.payload.length, params.cost_bits)),
            ]
        home = homes.route.port
        wants = Signal()
        ready = Signal()  # but for the slot
        starved = Signal()
        m.d.comb += [
            starved.eq(~Array(self.open_items)[home] & Array(self.stalled)[home]),
            wants.eq(up & homes.route.known & ~starved),
            ready.eq(self.reads_room & self.hits_room & Array(self.open_items)[home]),
            self.waits.eq(valid & wants & ready & ~self.slot),
            self.passed_by.eq(self.enters & up & homes.route.known & starved),
        ]
        with m.If(wants):
            m.d.comb += self.enters.eq(valid & ready & self.slot)
        with m.Else():
            m.d.comb += self.enters.eq(valid & self.reads_room)
        lacks = Signal(range(PATIENCE + 1))  # cycles
        m.d.comb += self.lacks_room.eq(lacks == PATIENCE)
        with m.If(~(valid & wants) | Array(self.open_items)[home]):
            m.d.sync += lacks.eq(0)
        with m.Elif(~self.lacks_room):
            m.d.sync += lacks.eq(lacks + 1)
        entry = cast(Any, self.entry)
        m.d.comb += [
            entry.read.eq(read),
            entry.lookup.eq(wants),
            entry.egress.eq(egress),
            entry.home.eq(home),
            entry.cost.eq(cost),
        ]
        return m
