"""Carries a stream over a long distance through registers, with credits instead of stalls."""

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.params import tagged
from hdl.common.placed_delay import placed_delay
from hdl.common.wire_pipeline import WirePipelineParams


class StreamPipelineParams(WirePipelineParams):
    """Sets the shape of a beat, and the number of registers on the way."""

    passes: bool = tagged("_passing", default=False)  #: whether an empty queue takes no cycle

    @property
    def capacity(self) -> int:
        """Return the beats that it holds while ``o`` is stalled: at least those of a round trip."""
        return 1 << ceil_log2(2 * self.stages + 2)

    @property
    def latency(self) -> int:
        """Return the cycles from a beat at ``i`` to the same beat at ``o``, if it is empty."""
        return self.stages + 1 - self.passes

    @property
    def wires(self) -> int:
        """Return the number of wires between the two ends: beats and reset, and credits."""
        return self.width + 3


class StreamPipeline(Component):
    """Carries a stream from ``i`` to a queue at ``o`` over ``stages`` registers: for SLR crossings.

    The queue has room for every beat under way, so the registers never stall. ``i`` counts the free
    places (credits), and a beat that leaves the queue returns its credit over as many registers.
    The registers are called ``payload_1`` (beside ``i``) up to ``payload_N`` (beside ``o``),
    ``sent_1`` .. ``sent_N``, and ``left_1`` (beside ``o``) .. ``left_N`` (beside ``i``). They have
    no reset: the reset of ``i`` travels with the beats, through ``reset_1`` .. ``reset_N``, to the
    queue, and logic after ``o`` must be reset with the same delay. A reset must last at least
    :attr:`reset_cycles`; then no beat from before it is left.

    ``empty`` is high when every beat that ``i`` took has left ``o``, at the latest ``stages + 1``
    cycles after the last one did. Throughput: one beat a cycle. Latency: ``params.latency``; with
    ``params.passes`` a beat leaves the last register straight for ``o`` while the queue is empty.
    Full: ``i.ready``, a register, goes low after ``params.capacity`` beats.
    """

    keeps_boundary = True
    out = ("payload", "sent", "reset")  #: registers from ``i`` to ``o``
    back = ("left",)  #: registers from ``o`` to ``i``
    far = ("queue",)  #: instances beside ``o``
    reset_side = "i"  #: side from which the reset comes

    def __init__(self, params: StreamPipelineParams) -> None:
        self.latency = params.latency
        self.reset_cycles = 2 * params.stages + 1
        super().__init__(
            params,
            i=In(stream.Signature(params.shape)),
            o=Out(stream.Signature(params.shape)),
            empty=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.domains.far = ClockDomain(local=True)
        m.submodules.queue = queue = DomainRenamer("far")(
            Fifo.sized(
                shape=params.shape,
                depth=params.capacity,
                style="distributed",
                passes=params.passes,
            )
        )
        taken = Signal()
        leaves = Signal()
        full = Signal()
        under_way = Signal(range(params.capacity + 1))
        none_under_way = Signal(init=1)
        left = placed_delay(m, leaves, params.stages, "left")
        connect(m, queue.o, flipped(self.o))
        m.d.comb += [
            ClockSignal("far").eq(ClockSignal()),
            ResetSignal("far").eq(placed_delay(m, ResetSignal(), params.stages, "reset")),
            self.i.ready.eq(~full),
            self.empty.eq(none_under_way),
            taken.eq(self.i.valid & ~full),
            queue.i.payload.eq(placed_delay(m, self.i.payload, params.stages, "payload")),
            queue.i.valid.eq(placed_delay(m, taken, params.stages, "sent")),
            leaves.eq(self.o.valid & self.o.ready),
        ]
        if params.passes:  # a queue that is reset stores nothing, but a beat could pass it
            m.d.comb += taken.eq(self.i.valid & ~full & ~ResetSignal())
        with m.If(taken & ~left):
            m.d.sync += [
                under_way.eq(under_way + 1),
                full.eq(under_way == params.capacity - 1),
                none_under_way.eq(0),
            ]
        with m.If(left & ~taken):
            m.d.sync += [
                under_way.eq(under_way - 1),
                full.eq(0),
                none_under_way.eq(under_way == 1),
            ]

    def registers(self, name: str) -> list[str]:
        """Return the names of the registers of ``name``, in the order of the signal's way."""
        return [f"{name}_{k}" for k in range(1, self.params.stages + 1)]
