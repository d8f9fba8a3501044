"""Transfers events from one clock to another, in which they are counted."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossing.async_fifo import AsyncFifo, AsyncFifoParams
from hdl.common.crossing.crossing import inside
from hdl.common.params import Params, whole

WAITING_BITS = 8  #: width of the number of events of a kind that wait to cross


class CountCrossingParams(Params, suffix="{kinds}"):
    """Sets how many kinds of events cross."""

    kinds: int = whole(1)  #: number of kinds of events


class CountCrossing(Component):
    """Gives in ``o``, in cycles of ``read``, the numbers of ``events`` in cycles of ``write``.

    ``events`` has a bit for each kind, and ``o`` a number for each kind, to be added in that cycle.
    No event is lost while the slower clock has at least a thirtieth of the faster one's frequency;
    a reset loses the events under way.
    """

    domains = ("write", "read")

    def __init__(self, params: CountCrossingParams) -> None:
        self.path = AsyncFifoParams(shape=WAITING_BITS * params.kinds, depth=16)
        self.crossings = inside("path", AsyncFifo(self.path).crossings, {})
        super().__init__(
            params,
            events=In(params.kinds),
            o=Out(WAITING_BITS).array(params.kinds),
        )

    def build(self, m: Module) -> None:
        m.submodules.path = path = AsyncFifo(self.path)
        waiting = [Signal(WAITING_BITS, name=f"waiting_{k}") for k in range(self.params.kinds)]
        leave = Signal()
        some = Signal()  # registered, so the numbers that are sent may all be 0
        m.d.write += some.eq(Cat(waiting).any())
        m.d.comb += [
            path.i.payload.eq(Cat(waiting)),
            path.i.valid.eq(some),
            leave.eq(path.i.valid & path.i.ready),
            path.o.ready.eq(1),
        ]
        for k, count in enumerate(waiting):
            rest = Mux(leave, 0, count)
            with m.If(rest != (1 << WAITING_BITS) - 1):
                m.d.write += count.eq((rest + self.events[k])[:WAITING_BITS])
            add = path.o.payload.word_select(k, WAITING_BITS)
            m.d.comb += self.o[k].eq(Mux(path.o.valid, add, 0))
