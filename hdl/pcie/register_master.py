"""Reads and writes registers over AXI4-Lite, one at a time, with a time-out."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.axi import AxiLiteSignature, Response
from hdl.common.bus_watch import overdue
from hdl.common.component import Component
from hdl.pcie.completer_params import ACCESS_ANSWER, CompleterParams


class RegisterMaster(Component):
    """Carries out each of ``accesses`` on ``axil``; then ``answer`` is valid for a cycle.

    ``answer.failed``: the slave refused the access, or a whole period between two ``tick`` passed
    without an answer. AXI does not allow a master to withdraw an access, so after a time-out the
    slave still owes its answer. Until that has come, and is dropped, ``broken`` is high and all
    accesses fail at once.

    Throughput: one access at a time. Latency: :attr:`latency` from an access to its address, and
    none from R or B to ``answer``.
    """

    latency = 1

    def __init__(self, params: CompleterParams) -> None:
        super().__init__(
            params,
            accesses=In(stream.Signature(params.access)),
            answer=Out(ACCESS_ANSWER),
            tick=In(1),
            broken=Out(1),
            axil=Out(AxiLiteSignature(address_bits=params.address_bits)),
        )

    def build(self, m: Module) -> None:
        bus, access = self.axil, self.accesses.payload
        owes = Signal()  # the slave owes an answer,
        writes = Signal()  # of a write;
        waits = Signal()  # somebody waits for it
        fails = Signal()  # an access that cannot be carried out
        stored = Signal(self.params.access, reset_less=True)
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
            bus.awaddr.eq(stored.address),
            bus.araddr.eq(stored.address),
            bus.wdata.eq(stored.data),
            bus.wstrb.eq(stored.strobes),
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
                stored.eq(access),
                writes.eq(access.writes),
                owes.eq(1),
                waits.eq(1),
                bus.awvalid.eq(access.writes),
                bus.wvalid.eq(access.writes),
                bus.arvalid.eq(~access.writes),
            ]
