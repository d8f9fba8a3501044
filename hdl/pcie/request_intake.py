"""Takes the host's requests from the block, a packet at a time."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register
from hdl.common.component import Component
from hdl.pcie.axis import PcieStreamSignature, cq_user
from hdl.pcie.completer_params import MAX_DWORDS, CompleterParams
from hdl.pcie.descriptors import HOST_REQUEST, REQUEST_DWORDS


class RequestIntake(Component):
    """Turns each packet of ``cq``, of any length, into one entry of ``packets``.

    Straddling is off on CQ, so each packet begins a beat. Only the dwords of data that registers
    can take are kept.

    Throughput: a packet of one beat in two cycles. Latency: :attr:`latency` from a packet's last
    beat. Stalls: ``cq`` waits until a packet has been taken; ``cq.tready`` is a register.
    """

    latency = 1

    def __init__(self, params: CompleterParams) -> None:
        bits = params.data_bits
        super().__init__(
            params,
            cq=In(PcieStreamSignature(data_bits=bits, user=cq_user(bits))),
            packets=Out(stream.Signature(params.packet)),
        )

    def build(self, m: Module) -> None:
        cq, inside = self.cq, Signal()  # a packet goes on from the previous beat
        packet = data_register(m, self.packets.payload)
        user = cq_user(self.params.data_bits)(cq.tuser)
        wide = self.params.data_bits == 512
        m.d.comb += cq.tready.eq(~self.packets.valid)
        with m.If(self.packets.ready):
            m.d.sync += self.packets.valid.eq(0)
        with m.If(cq.tvalid & cq.tready):
            m.d.sync += [
                self.packets.valid.eq(cq.tlast),
                inside.eq(~cq.tlast),
                packet.discontinued.eq(user.discontinue | (inside & packet.discontinued)),
            ]
            with m.If(~inside):
                m.d.sync += [
                    packet.request.eq(cq.tdata[: HOST_REQUEST.size]),
                    *(
                        packet.data[k].eq(cq.tdata.word_select(REQUEST_DWORDS + k, 32))
                        for k in range(MAX_DWORDS)
                    ),
                    packet.enables[0].eq(user.first_enable[0] if wide else user.first_enable),
                    packet.enables[1].eq(user.last_enable[0] if wide else user.last_enable),
                    packet.keep.eq(cq.tkeep),
                ]
