"""Reading weights back through the banks, eight at a time."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.params import GROUP_LANES, EngineParams


class ReadBack(Component):
    """Answers ``peek`` (a chunk and a group of lanes) with the group's weights on ``peeked``.

    The weights take the way of partial activations: each ``probe`` makes every bank sum up one
    weight, so a group takes ``8 / banks`` probes. Lanes that do not exist read as zero.

    Works between runs only. Throughput: one probe at a time. ``busy`` is high while ``sums``
    belong to a probe.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {
                "peek": In(stream.Signature(params.address)),
                "probe": Out(stream.Signature(params.probe)),
                "sums": In(stream.Signature(params.partials)),
                "peeked": Out(stream.Signature(params.group)),
                "busy": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        step = Signal(params.probe.members["step"])
        last = step == params.probe_steps - 1
        asked = Signal()
        fresh = [self.sums.payload[bank][: params.weight_bits] for bank in range(params.banks)]
        weights = fresh
        for earlier in range(params.probe_steps - 1):
            kept = Signal(params.banks * params.weight_bits, name=f"kept_{earlier}")
            with m.If(self.sums.valid & (step == earlier)):
                m.d.sync += kept.eq(Cat(*fresh))
            stored = [kept.word_select(b, params.weight_bits) for b in range(params.banks)]
            weights = weights[: -params.banks] + stored + fresh
        m.d.comb += [
            self.busy.eq(asked),
            self.probe.valid.eq(self.peek.valid & ~asked),
            self.probe.payload.chunk.eq(self.peek.payload.chunk),
            self.probe.payload.group.eq(self.peek.payload.group),
            self.probe.payload.step.eq(step),
            self.peeked.payload.as_value().eq(Cat(*weights[:GROUP_LANES])),
            self.peeked.valid.eq(asked & self.sums.valid & last),
            self.sums.ready.eq(asked & (self.peeked.ready | ~last)),
            self.peek.ready.eq(self.probe.ready & ~asked & last),
        ]
        with m.If(self.probe.valid & self.probe.ready):
            m.d.sync += asked.eq(1)
        with m.If(self.sums.valid & self.sums.ready):
            m.d.sync += [asked.eq(0), step.eq(step + 1)]
            with m.If(last):
                m.d.sync += step.eq(0)
        return m
