"""Carries all signals between the engines of one die and the next through registers."""

from typing import Any

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    DomainRenamer,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.gearbox import Deserializer, GearboxParams, Serializer
from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams
from hdl.common.streams import connect_by
from hdl.common.wire_pipeline import WirePipeline
from hdl.p4sgd.core.group_params import GroupParams, GroupSignature

#: names of the signals that cross as streams, besides the words of each set beyond
STREAMS = ("deltas", "peek", "load", "partials", "peeked")
IN_LOOP = ("deltas", "partials")  #: those of them on the way of the training loop
WEIGHT_PARTS = 4  #: number of parts in which eight weights cross, one after the other


class SlrCrossing(Component):
    """Makes ``far`` follow ``near``, with ``slr_stages`` registers in each direction.

    Streams cross through a :class:`StreamPipeline`, and all other signals through a
    :class:`WirePipeline`; so does the reset of ``near``, which becomes ``far_reset``, the reset of
    the next die. Eight weights, to an engine and back, cross in :data:`WEIGHT_PARTS` parts, because
    wires between dies are few. The engines' flags are right at ``near`` although they arrive late:
    ``finished`` is low from the cycle after ``begin`` until the far side has reported the end of
    that run, and ``waiting`` is high only if the engine reported it after it had taken the last
    word that was sent to it.

    Throughput: a beat a cycle of each stream, eight weights in ``WEIGHT_PARTS + 1`` cycles.
    Latency: :attr:`latency` cycles of a stream, ``WEIGHT_PARTS + 1`` more of weights;
    :attr:`loop_latency`, one less, of ``deltas``, ``partials`` and anything else. :attr:`wires` run
    between the dies.
    """

    def __init__(self, params: GroupParams) -> None:
        self.stages = params.worker.slr_stages
        self.latency = StreamPipelineParams(shape=1, stages=self.stages).latency
        self.loop_latency = StreamPipelineParams(shape=1, stages=self.stages, passes=True).latency
        signature = GroupSignature(params.worker, params.beyond)
        super().__init__(params, near=In(signature), far=Out(signature), far_reset=Out(1))
        unused = 0 if params.worker.engine.data_parallel else 2 + len(params.beyond)
        for stream in (self.near.load, self.near.peeked):
            parts = parts_of(stream.payload)
            unused += parts.width - parts.part_bits
        wires = sum(len(Value.cast(v)) for *_, v in signature.flatten(self.near)) - unused
        self.sets = len(params.beyond) // params.worker.classes
        resets = self.sets + len(STREAMS) + 1  # one for each stream, and one for the die
        self.wires = wires + resets

    def build(self, m: Module) -> None:
        near, far = flipped(self.near), flipped(self.far)
        m.domains.far = ClockDomain(local=True)
        m.d.comb += [ClockSignal("far").eq(ClockSignal()), ResetSignal("far").eq(self.far_reset)]
        self.wire(m, "reset", ResetSignal(), self.far_reset)
        words = [f"words_{k}" for k in range(self.sets)]
        empty = Cat(self.cross(m, name, getattr(near, name), getattr(far, name)) for name in words)
        for name in ("deltas", "peek"):
            self.cross(m, name, getattr(near, name), getattr(far, name))
        self.cross(m, "partials", far.partials, near.partials, "far")
        self.cross_in_parts(m, "load", near.load, far.load, "sync", "far")
        self.cross_in_parts(m, "peeked", far.peeked, near.peeked, "far", "sync")

        self.wire(m, "settings", near.settings, far.settings)
        self.wire(m, "begin", near.begin, far.begin)
        self.wire(m, "events", far.events, near.events)
        self.wire(m, "loaded", far.loaded, near.loaded)
        waiting = Signal.like(far.waiting)
        self.wire(m, "waiting", far.waiting, waiting)
        m.d.comb += near.waiting.eq(waiting & empty)
        if self.params.worker.engine.data_parallel:
            self.wire(m, "exchanging", near.exchanging, far.exchanging)
            self.wire(m, "refill", near.refill, far.refill)
            self.wire(m, "updated", far.updated, near.updated)
        self.report_end(m)

    def cross(self, m: Module, name: str, source: Any, target: Any, domain: str = "sync") -> Signal:
        """Connect a stream from die to die; return whether all beats have arrived.

        ``domain`` is the clock domain of ``source``.
        """
        pipeline = StreamPipeline.sized(
            shape=source.payload.shape(), stages=self.stages, passes=name in IN_LOOP
        )
        connect_by(m, name, DomainRenamer(domain)(pipeline), source, target)
        return pipeline.empty

    def cross_in_parts(
        self, m: Module, name: str, source: Any, target: Any, present: str, far: str
    ) -> None:
        """Connect a stream of eight weights from die to die in parts, over fewer wires.

        ``present`` and ``far`` are the clock domains of its ends.
        """
        parts = parts_of(source.payload)
        serializer = DomainRenamer(present)(Serializer(parts))
        m.submodules[f"{name}_serializer"] = serializer
        deserializer = DomainRenamer(far)(Deserializer(parts))
        m.submodules[f"{name}_deserializer"] = deserializer
        m.submodules[name] = pipeline = DomainRenamer(present)(
            StreamPipeline.sized(shape=parts.part_bits, stages=self.stages)
        )
        connect(m, serializer.o, pipeline.i)
        connect(m, pipeline.o, deserializer.i)
        connect(m, source, serializer.i)
        connect(m, deserializer.o, target)

    def wire(self, m: Module, name: str, source: Any, target: Any) -> None:
        """Connect a plain wire from die to die."""
        source, target = Value.cast(source), Value.cast(target)
        m.submodules[f"{name}_wires"] = pipeline = WirePipeline.sized(
            shape=len(source), stages=self.stages
        )
        m.d.comb += [pipeline.i.eq(source), target.eq(pipeline.o)]

    def report_end(self, m: Module) -> None:
        """Report ``finished`` at the near side, unless it belongs to the previous run."""
        begun = Signal()
        # ``begin`` reaches the far side and lowers ``finished``, which needs ``stages`` to come
        # back.
        acknowledged = delay(m, self.near.begin, 2 * self.stages, "acknowledged", reset_less=False)
        with m.If(self.near.begin):
            m.d.sync += begun.eq(1)
        with m.Elif(acknowledged):
            m.d.sync += begun.eq(0)
        finished = Signal()
        self.wire(m, "finished", self.far.finished, finished)
        m.d.comb += self.near.finished.eq(finished & ~begun)


def parts_of(payload: Any) -> GearboxParams:
    """Return the sizes of the gearbox that cuts eight weights and their address into parts."""
    return GearboxParams(shape=payload.shape(), parts=WEIGHT_PARTS)
