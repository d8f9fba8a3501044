"""Queues beats from a pipeline that cannot stall; a place is reserved for each beat in advance."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.params import tagged, whole
from hdl.common.shaped import ShapedParams


class ReservedFifoParams(ShapedParams, suffix="{width}x{depth}"):
    """Sets the shape of a beat, the size of a queue in LUTs, and which optional ports it has."""

    depth: int = whole(2, 64, power_of_two=True)  #: places, reserved or taken by beats
    cancels: bool = tagged("_cancels", default=False)  #: whether there is a port ``cancel``
    #: whether ``o`` has a beat in the cycle of its push while it is empty
    passes: bool = tagged("_passes", default=False)

    @property
    def fifo(self) -> FifoParams:
        """Return the sizes of the FIFO of beats that have come, each of which has a place."""
        return FifoParams(shape=self.shape, depth=self.depth, style="distributed", refuses=False)


class ReservedFifo(Component):
    """Queues ``payload`` in cycles with ``push``; beats leave ``o`` in the same order.

    ``reserve``, allowed while ``room`` is high, reserves a place for a beat that comes at least one
    cycle later. So a beat that has entered the pipeline finds room at its end. A place is free
    again in the cycle after its beat has left, or after ``cancel``, which says that a beat will not
    come.

    Throughput: a beat a cycle, if ``params.depth`` is more than the number of cycles from
    ``reserve`` until the beat leaves. Latency: :attr:`latency` from ``push`` to the beat at ``o``.
    Full: ``room`` is low; it depends on registers only. With ``params.passes`` the latency is 0.
    """

    latency = 1

    def __init__(self, params: ReservedFifoParams) -> None:
        super().__init__(
            params,
            reserve=In(1),
            room=Out(1),
            push=In(1),
            payload=In(params.shape),
            o=Out(stream.Signature(params.shape)),
            **({"cancel": In(1)} if params.cancels else {}),
        )

    def build(self, m: Module) -> None:
        depth = self.params.depth
        m.submodules.beats = beats = Fifo(self.params.fifo)
        places = Signal(bits_for(depth))  # places that are reserved or hold a beat
        left = self.o.valid & self.o.ready
        if self.params.cancels:
            m.d.sync += places.eq((places + self.reserve - (left + self.cancel))[: len(places)])
        else:  # with fewer levels of logic
            with m.If(self.reserve ^ left):
                m.d.sync += places.eq((places + Mux(self.reserve, 1, -1))[: len(places)])
        m.d.comb += [
            self.room.eq(~places[-1]),  # never more than depth
            beats.i.payload.eq(self.payload),
        ]
        if self.params.passes:
            self.pass_by(m, beats)
        else:
            m.d.comb += beats.i.valid.eq(self.push)
            connect(m, beats.o, flipped(self.o))
        expect(
            m,
            self,
            reserves_what_there_is=lambda: ~self.reserve | self.room,
            comes_to_its_place=lambda: ~self.push | (beats.level < places),
        )

    def pass_by(self, m: Module, beats: Fifo) -> None:
        """Let a beat bypass the empty queue, or wait in it if ``o`` is stalled."""
        waits = beats.o.valid
        m.d.comb += [
            self.o.valid.eq(waits | self.push),
            self.o.payload.eq(Mux(waits, beats.o.payload, self.payload)),
            beats.o.ready.eq(self.o.ready),
            beats.i.valid.eq(self.push & (waits | ~self.o.ready)),
        ]
