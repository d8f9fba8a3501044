"""Aligns the data of writes with their descriptors."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import rotated
from hdl.common.component import Component
from hdl.pcie.descriptors import REQUEST, RequestType
from hdl.pcie.write_params import WriteRequesterParams


class WriteAligner(Component):
    """Builds a beat for each of ``plans``, of new data and of data left from the beat before.

    Throughput: a beat a cycle. Latency: :attr:`latency`. Stalls: a plan that takes data waits for
    it; ``plans.ready`` and ``data.ready`` follow ``beats.ready``.
    """

    latency = 1

    def __init__(self, params: WriteRequesterParams) -> None:
        super().__init__(
            params,
            plans=In(stream.Signature(params.plan)),
            data=In(stream.Signature(params.data_bits)),
            beats=Out(stream.Signature(params.beat)),
        )

    def build(self, m: Module) -> None:
        params, plan, beat = self.params, self.plans.payload, self.beats.payload
        left = Signal(params.data_bits, reset_less=True)  # the beat of data taken last
        mixed = Signal(params.data_bits, reset_less=True)  # bytes of the beat, not yet turned
        planned = Signal(params.plan, reset_less=True)  # the plan of that beat
        free = Signal()
        m.d.comb += [
            free.eq(~self.beats.valid | self.beats.ready),
            self.plans.ready.eq(free & (self.data.valid | ~plan.takes)),
            self.data.ready.eq(free & self.plans.valid & plan.takes),
        ]
        with m.If(free):
            m.d.sync += [
                self.beats.valid.eq(self.plans.valid & self.plans.ready),
                planned.eq(plan),
                mixed.eq(
                    Cat(
                        Mux(
                            plan.takes & (plan.turn <= params.beat_bytes - 1 - k),
                            self.data.payload.word_select(k, 8),
                            left.word_select(k, 8),
                        )
                        for k in range(params.beat_bytes)
                    )
                ),
            ]
        with m.If(self.data.valid & self.data.ready):
            m.d.sync += left.eq(self.data.payload)
        descriptor = Signal(REQUEST)
        placed = rotated(mixed, planned.turn, 8)
        m.d.comb += [
            descriptor.address.eq(planned.head.address),
            descriptor.dwords.eq(planned.head.dwords),
            descriptor.kind.eq(RequestType.MEMORY_WRITE),
            beat.ends.eq(planned.ends),
            beat.begins.eq(planned.begins),
            beat.final.eq(planned.final),
            beat.end_dword.eq(planned.end_dword),
            beat.first_enable.eq(planned.head.first_enable),
            beat.last_enable.eq(planned.head.last_enable),
            beat.user.eq(planned.user),
            beat.data.eq(
                Cat(Mux(planned.begins, descriptor, placed[: REQUEST.size]), placed[REQUEST.size :])
            ),
        ]
