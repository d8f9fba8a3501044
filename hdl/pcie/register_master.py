"""Reads and writes registers by AXI4-Lite, one at a time, and never waits for ever."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.axi import AxiLiteSignature, Response
from hdl.common.bus_watch import overdue
from hdl.common.component import Component
from hdl.pcie.completer_params import ACCESS_ANSWER, CompleterParams


class RegisterMaster(Component):
    """Each of ``accesses`` is carried out on ``axil``, and ``answer`` is valid for a cycle then.

    ``failed``: the slave refused it, or has not answered between two of ``tick``. AXI forbids to
    withdraw, so after that the slave still owes its answer, which is not looked at; until it has
    come, accesses fail at once (``broken``), and then all is as before.

    Throughput: one access at a time. Latency: :attr:`latency` from an access to its address, and
    none from R or B to ``answer``.
    """

    latency = 1

    def __init__(self, params: CompleterParams) -> None:
        super().__init__(
            params,
            {
                "accesses": In(stream.Signature(params.access)),
                "answer": Out(ACCESS_ANSWER),
                "tick": In(1),
                "broken": Out(1),
                "axil": Out(AxiLiteSignature(address_bits=params.address_bits)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        bus, access = self.axil, self.accesses.payload
        owes = Signal()  # the slave owes an answer,
        writes = Signal()  # of a write;
        waits = Signal()  # somebody waits for it
        fails = Signal()  # an access that cannot be carried out
        kept = Signal(self.params.access, reset_less=True)
        comes, late, refused = Signal(), Signal(), Signal()
        goes = self.accesses.valid & self.accesses.ready
        m.d.comb += [
            comes.eq(Mux(writes, bus.bvalid, bus.rvalid) & owes),
            late.eq(overdue(m, self.tick, waits, comes) & waits),
            refused.eq(Mux(writes, bus.bresp, bus.rresp) != Response.OKAY),
            self.accesses.ready.eq(~waits & ~fails),
            self.broken.eq(owes & ~waits),
            bus.bready.eq(owes & writes),
            bus.rready.eq(owes & ~writes),
            bus.awaddr.eq(kept.address),
            bus.araddr.eq(kept.address),
            bus.wdata.eq(kept.data),
            bus.wstrb.eq(kept.strobes),
            self.answer.valid.eq(fails | (waits & (comes | late))),
            self.answer.data.eq(bus.rdata),
            self.answer.failed.eq(fails | ~comes | refused),
        ]
        for valid, ready in (
            (bus.awvalid, bus.awready),
            (bus.wvalid, bus.wready),
            (bus.arvalid, bus.arready),
        ):
            with m.If(ready):
                m.d.sync += valid.eq(0)
        with m.If(comes):
            m.d.sync += owes.eq(0)
        with m.If(comes | late):
            m.d.sync += waits.eq(0)
        m.d.sync += fails.eq(goes & owes)
        with m.If(goes & ~owes):
            m.d.sync += [
                kept.eq(access),
                writes.eq(access.writes),
                owes.eq(1),
                waits.eq(1),
                bus.awvalid.eq(access.writes),
                bus.wvalid.eq(access.writes),
                bus.arvalid.eq(~access.writes),
            ]
        return m
