"""Queues the packets for a port by class, and sends them by levels and weights."""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.packets import AXIS, BEAT, to_stream
from hdl.switch.forwarding.params import SLACK, ForwardingParams
from hdl.switch.forwarding.port_scheduler import PortScheduler


class ForwardingEgress(Component):
    """Queues the beats of the input that sends to this port, and passes whole packets to ``o``.

    Of the inputs' ``beats`` it takes those whose bit of ``comes`` is high, one at most in a cycle,
    into the queue of the input's class. ``open`` has a bit for each class whose queue has room for
    a longest packet. The packets of ``engines`` share the port with the classes. ``level``,
    ``weight`` and ``coming``, of engines, are those of the :class:`PortScheduler`; packets of a
    source that is ``paused`` wait. While ``down`` none waits, and all are dropped, each with a
    cycle of ``discarded`` (:class:`LinkGate`).

    Throughput: a beat a cycle. Latency: :attr:`latency` at most, while no other packet waits.
    """

    def __init__(self, params: ForwardingParams) -> None:
        scheduler = PortScheduler.sized(sources=params.sources)
        self.latency = self.queue(params).latency + PortScheduler.wait + PortScheduler.latency
        super().__init__(
            params,
            beats=In(BEAT).array(params.ports),
            comes=In(params.ports),
            class_=In(params.class_bits).array(params.ports),
            open=Out(params.classes),
            paused=In(params.sources),
            level=In(scheduler.level[0].shape()).array(params.sources),
            weight=In(scheduler.weight[0].shape()).array(params.sources),
            engines=In(AXIS).array(params.engines),
            coming=In(params.engines),
            down=In(1),
            discarded=Out(1),
            o=Out(stream.Signature(BEAT)),
        )

    @staticmethod
    def queue(params: ForwardingParams) -> Fifo:
        """Return the queue of a class."""
        return Fifo(FifoParams(shape=BEAT, depth=params.output_beats, refuses=False))

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.scheduler = scheduler = PortScheduler.sized(sources=params.sources)
        beat = reduce(or_, (Mux(self.comes[k], Value.cast(b), 0) for k, b in enumerate(self.beats)))
        class_ = reduce(or_, (Mux(self.comes[k], c, 0) for k, c in enumerate(self.class_)))
        for k in range(params.classes):
            m.submodules[f"class_{k}"] = queue = self.queue(params)
            connect(m, queue.o, scheduler.i[k])
            m.d.comb += [
                queue.i.valid.eq(self.comes.any() & (class_ == k)),
                Value.cast(queue.i.payload).eq(beat),
            ]
            most = params.output_beats - params.longest - SLACK
            m.d.sync += self.open[k].eq(queue.level <= most)
        for k, axis in enumerate(self.engines):
            to_stream(m, axis, scheduler.i[params.classes + k])
        for k in range(params.sources):
            m.d.comb += scheduler.level[k].eq(self.level[k])
            m.d.comb += scheduler.weight[k].eq(self.weight[k])
        m.d.comb += [
            scheduler.hold.eq(Mux(self.down, 0, self.paused)),
            scheduler.down.eq(self.down),
            self.discarded.eq(scheduler.discarded),
        ]
        m.d.comb += scheduler.coming[params.classes :].eq(self.coming)
        connect(m, scheduler.o, flipped(self.o))
