"""Leads a host's accesses to registers over AMD's block for PCI Express, without a root complex."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.axi import AxiLiteSignature, Response
from hdl.common.component import Component
from hdl.pcie.axis import PcieStreamSignature, cc_user, cq_user
from hdl.pcie.completer_params import CompleterParams
from hdl.pcie.descriptors import (
    ANSWER,
    COMPLETION_DWORDS,
    DWORD_BITS,
    HOST_REQUEST,
    RequestType,
    Status,
)

REQUEST_KEEP, DATA_KEEP = 0b1111, 0b11111  #: dwords of a packet without data, and with a dword


class RegisterPath(Component):
    """Turns accesses at ``axil`` into reads and writes of a dword on CQ, one at a time.

    A write is answered as soon as CQ has taken it, as it is posted. A read waits for its completion
    on CC; one whose status is not SUCCESS answers SLVERR. The packets are those that PG213
    describes, for a block of 512 bits. ``ready`` of each channel is a register,
    as a compiled master that wakes between two edges needs. Throughput: an access in three cycles.
    """

    def __init__(self, params: CompleterParams) -> None:
        bits = params.data_bits
        if bits != 512:
            raise ValueError(f"data_bits must be 512: {bits}")
        super().__init__(
            params,
            {
                "axil": In(AxiLiteSignature(address_bits=params.address_bits)),
                "cq": Out(PcieStreamSignature(data_bits=bits, user=cq_user(bits))),
                "cc": In(PcieStreamSignature(data_bits=bits, user=cc_user(bits))),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        axil, cq, cc = self.axil, self.cq, self.cc
        request, user, said = Signal(HOST_REQUEST), Signal(cq_user(512)), Signal(ANSWER)
        aw, w, ar = (self.taken(m, name) for name in ("aw", "w", "ar"))
        writes = aw.valid & w.valid
        last = HOST_REQUEST.size // DWORD_BITS
        m.d.comb += [
            request.address.eq(Mux(writes, aw.addr, ar.addr) >> 2),
            request.dwords.eq(1),
            request.kind.eq(Mux(writes, RequestType.MEMORY_WRITE, RequestType.MEMORY_READ)),
            request.bar.eq(self.params.bar),
            request.aperture.eq(self.params.address_bits),
            user.first_enable[0].eq(Mux(writes, w.strb, 0b1111)),
            user.starts.eq(1),
            user.ends.eq(1),
            user.end_dword[0].eq(Mux(writes, last, last - 1)),
            cq.tdata.eq(Cat(request, w.data)),
            cq.tkeep.eq(Mux(writes, DATA_KEEP, REQUEST_KEEP)),
            cq.tlast.eq(1),
            cq.tuser.eq(user),
            said.eq(cc.tdata[: ANSWER.size]),
        ]
        with m.FSM():
            with m.State("REQUEST"):
                m.d.comb += cq.tvalid.eq(writes | ar.valid)
                with m.If(cq.tvalid & cq.tready):
                    m.next = "READ"
                    with m.If(writes):
                        m.next = "WRITTEN"
            with m.State("WRITTEN"):
                m.d.comb += axil.bvalid.eq(1)
                with m.If(axil.bready):
                    m.d.sync += [aw.valid.eq(0), w.valid.eq(0)]
                    m.next = "REQUEST"
            with m.State("READ"):
                failed = said.status != Status.SUCCESS
                m.d.comb += [
                    axil.rvalid.eq(cc.tvalid),
                    axil.rdata.eq(cc.tdata.word_select(COMPLETION_DWORDS, DWORD_BITS)),
                    axil.rresp.eq(Mux(failed, Response.SLVERR, Response.OKAY)),
                    cc.tready.eq(axil.rready),
                ]
                with m.If(cc.tvalid & cc.tready):
                    m.d.sync += ar.valid.eq(0)
                    m.next = "REQUEST"
        return m

    def taken(self, m: Module, name: str) -> Any:
        """Return what a channel of ``axil`` has brought, which stays until ``valid`` is cleared."""
        fields = {"aw": ("addr",), "w": ("data", "strb"), "ar": ("addr",)}[name]
        ports = {field: getattr(self.axil, name + field) for field in fields}
        layout = {field: len(port) for field, port in ports.items()}
        held = Signal(data.StructLayout({"valid": 1, **layout}), name=f"{name}_taken")
        valid, ready = (getattr(self.axil, f"{name}{end}") for end in ("valid", "ready"))
        m.d.comb += ready.eq(~held.valid)
        with m.If(valid & ready):
            m.d.sync += [held.valid.eq(1), *(held[field].eq(ports[field]) for field in fields)]
        return held
