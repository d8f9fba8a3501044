"""Lets reads enter a middle pipe when there is room for every possible outcome."""

from typing import Any, cast

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.middle_pipe.cost import cost_of
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.routing_table import RoutingTable

PATIENCE = 127  #: cycles, enough for some packets to leave a port, and make room


class LookupGate(Component):
    """Lets reads in, one a cycle, and decides which of them look up the cache (section 6.2.1).

    A read does a lookup if the ``cache`` is on, its route leads to an uplink, hits have a route to
    its src, which ``write`` has entered, and its idx is in the range of the cache's tags. It enters
    with a place for a miss (``reads_room``); a lookup also needs a place for a hit (``hits_room``),
    room for the response at the port of its src (``open_items``), and the cache's ``slot`` of this
    cycle. The read waits for these; but if the port of its src is ``stalled``, room may never come,
    so the read goes on without a lookup, and ``passed_by`` is high.

    ``enters`` and ``entry`` are combinational; an entry with ``lookup`` accesses the cache in this
    cycle. ``waits``: a lookup waits only for the slot. ``lacks_room``: it has waited for room for
    the response for :data:`PATIENCE` cycles. Latency: :attr:`latency` from a PR taken.
    """

    latency = RoutingTable.latency

    def __init__(self, params: NetSparseSwitchParams) -> None:
        super().__init__(
            params,
            write=In(params.write_route),
            cache=In(1),
            prs=In(stream.Signature(params.deconcatenator(False).beat)),
            tag=In(params.tag),
            open_items=In(params.ports),
            stalled=In(params.ports),
            reads_room=In(1),
            hits_room=In(1),
            slot=In(1),
            waits=Out(1),
            lacks_room=Out(1),
            enters=Out(1),
            entry=Out(params.read_entry),
            passed_by=Out(1),
        )

    def build(self, m: Module) -> None:
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
        needs = Signal()
        ready = Signal()  # only the slot may be missing
        starved = Signal()
        m.d.comb += [
            starved.eq(~Array(self.open_items)[home] & Array(self.stalled)[home]),
            needs.eq(up & homes.route.known & ~starved),
            ready.eq(self.reads_room & self.hits_room & Array(self.open_items)[home]),
            self.waits.eq(valid & needs & ready & ~self.slot),
            self.passed_by.eq(self.enters & up & homes.route.known & starved),
        ]
        with m.If(needs):
            m.d.comb += self.enters.eq(valid & ready & self.slot)
        with m.Else():
            m.d.comb += self.enters.eq(valid & self.reads_room)
        lacks = Signal(range(PATIENCE + 1))  # cycles without room
        m.d.comb += self.lacks_room.eq(lacks == PATIENCE)
        with m.If(~(valid & needs) | Array(self.open_items)[home]):
            m.d.sync += lacks.eq(0)
        with m.Elif(~self.lacks_room):
            m.d.sync += lacks.eq(lacks + 1)
        entry = cast(Any, self.entry)
        m.d.comb += [
            entry.read.eq(read),
            entry.lookup.eq(needs),
            entry.egress.eq(egress),
            entry.home.eq(home),
            entry.cost.eq(cost),
        ]
