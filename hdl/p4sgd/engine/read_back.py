"""Reads weights back through the banks, eight at a time."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import EngineParams

OUTSTANDING = 15  #: most probes under way; the forward stage's queue has room for their sums


def probe_steps(params: EngineParams) -> int:
    """Return the number of words that read back a group, each for a weight of every bank."""
    return -(-GROUP_LANES // params.banks)


def probe_layout(params: EngineParams) -> data.StructLayout:
    """Describe a word that reads back one weight of every bank.

    Bank b of step s gives the weight of lane ``group * 8 + s * banks + b``.
    """
    return data.StructLayout(
        {**params.model.address.members, "step": max(1, ceil_log2(probe_steps(params)))}
    )


class ReadBack(Component):
    """Answers ``peek`` (a chunk and a group of lanes) with the group's weights on ``peeked``.

    The weights are read as partial activations: each ``probe`` makes every bank sum up one weight,
    so a group takes ``8 / banks`` probes. Lanes that do not exist read as zero.

    It works only between runs, or while a run exchanges models. Throughput: a probe a cycle, up to
    :data:`OUTSTANDING` of them. ``busy`` is high while ``sums`` belong to a probe.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            peek=In(stream.Signature(params.model.address)),
            probe=Out(stream.Signature(probe_layout(params))),
            sums=In(stream.Signature(params.partials)),
            peeked=Out(stream.Signature(params.model.group)),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        requested, answered = self.count_steps(m)
        outstanding = Signal(range(OUTSTANDING + 1))
        demands = self.probe.valid & self.probe.ready
        answers = self.sums.valid & self.sums.ready
        busy = Signal()  # whether a probe is under way; a register, as other queues wait for it
        with m.If(demands ^ answers):
            m.d.sync += outstanding.eq((outstanding + Mux(demands, 1, -1))[: len(outstanding)])
            m.d.sync += busy.eq(demands | (outstanding != 1))
        fresh = [self.sums.payload[bank][: params.weight_bits] for bank in range(params.banks)]
        weights = fresh
        for earlier in range(probe_steps(params) - 1):
            retained = Signal(params.banks * params.weight_bits, name=f"stored_{earlier}")
            with m.If(answers & (answered == earlier)):
                m.d.sync += retained.eq(Cat(*fresh))
            stored = [retained.word_select(b, params.weight_bits) for b in range(params.banks)]
            weights = weights[: -params.banks] + stored + fresh
        last = answered == probe_steps(params) - 1
        room = outstanding != OUTSTANDING
        m.d.comb += [
            self.busy.eq(busy),
            self.probe.valid.eq(self.peek.valid & room),
            self.probe.payload.chunk.eq(self.peek.payload.chunk),
            self.probe.payload.group.eq(self.peek.payload.group),
            self.probe.payload.step.eq(requested),
            self.peeked.payload.as_value().eq(Cat(*weights[:GROUP_LANES])),
            self.peeked.valid.eq(self.busy & self.sums.valid & last),
            self.sums.ready.eq(self.busy & (self.peeked.ready | ~last)),
            self.peek.ready.eq(self.probe.ready & room & (requested == probe_steps(params) - 1)),
        ]

    def count_steps(self, m: Module) -> tuple[Signal, Signal]:
        """Count the step of the next probe, and that of the next sums."""
        steps = []
        for name, moves in (("requested", self.probe), ("answered", self.sums)):
            step = Signal(probe_layout(self.params)["step"].shape, name=name)
            with m.If(moves.valid & moves.ready):
                m.d.sync += step.eq(step + 1)
                with m.If(step == probe_steps(self.params) - 1):
                    m.d.sync += step.eq(0)
            steps.append(step)
        return steps[0], steps[1]
