"""Reports how an engine's forward stage spent each cycle."""

from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.engine.params import EngineParams

#: Describes how an engine spent a cycle; counters add these events up.
ENGINE_EVENTS = data.StructLayout(
    {
        "word": 1,  # a word was taken
        "memory_stall": 1,  # no word was there
        "network_stall": 1,  # the backward stage waited for a full activation
        "dependency_stall": 1,  # the chunk was not updated yet
        "fifo_stall": 1,  # the word FIFO was full
        "model_saturation": 1,  # a chunk update in which a lane saturated
    }
)


class EngineEvents(Component):
    """Reports, in each cycle with the forward stage ``active``, the first resource that it lacks.

    The order is: room for partial activations, a credit for the chunk, room in the word FIFO, a
    word; if it lacks nothing, the cycle took a word. The first three count as network stalls while
    the backward stage is ``starved``: it has words but no deltas. ``saturated`` marks a chunk
    update in which a lane saturated. Latency: :attr:`latency`.
    """

    latency = 1

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            active=In(1),
            no_queue=In(1),
            no_credit=In(1),
            no_room=In(1),
            no_word=In(1),
            starved=In(1),
            saturated=In(1),
            events=Out(ENGINE_EVENTS),
        )

    def build(self, m: Module) -> None:
        events = self.events
        m.d.sync += events.eq(0)
        m.d.sync += events.model_saturation.eq(self.saturated)
        with m.If(self.active):
            with m.If(self.no_queue):
                m.d.sync += events.network_stall.eq(1)
            with m.Elif(self.no_credit):
                m.d.sync += [
                    events.network_stall.eq(self.starved),
                    events.dependency_stall.eq(~self.starved),
                ]
            with m.Elif(self.no_room):
                m.d.sync += [
                    events.network_stall.eq(self.starved),
                    events.fifo_stall.eq(~self.starved),
                ]
            with m.Elif(self.no_word):
                m.d.sync += events.memory_stall.eq(1)
            with m.Else():
                m.d.sync += events.word.eq(1)
