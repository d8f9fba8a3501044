"""Delays beats of packets until their time has come, inside a simulated network."""

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import AXIS
from hdl.common.params import Params
from sim.surroundings.chance import random_bits

TIME_BITS = 16
LATENCY_BITS = 10
INDEX_BITS = 16

BEAT = data.StructLayout(
    {"tdata": AXIS.data_bits, "tkeep": AXIS.data_bits // 8, "tlast": 1, "tuser": 1}
)
#: Counts what has left, and cycles in which the far end let a beat wait, modulo 2**32.
DELIVERED = data.StructLayout({"packets": 32, "bytes": 32, "beats": 32, "refused": 32})


class DelayLineParams(Params, suffix="{depth}"):
    """Sets how many beats a line holds."""

    depth: int = 300  #: beats under way: a beat a cycle at any latency


class DelayLine(Component):
    """Delivers at ``o`` the beats that came to ``i``, ``least_latency + latency`` cycles later.

    ``stall`` is the chance in 256, every cycle, that none leaves; while ``stop`` is high none
    leaves either. ``leaves`` is high while a place becomes free. ``delivered`` counts what was
    taken from ``o``, and the cycles in which a beat waited there.

    Throughput: a beat a cycle. Stalls: a beat at ``o`` waits unchanged; ``i.ready`` is low while
    ``params.depth`` beats are under way, and depends on registers only.
    """

    least_latency = 2

    def __init__(self, params: DelayLineParams) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(BEAT)),
            o=Out(AXIS),
            index=In(INDEX_BITS),
            seed=In(32),
            latency=In(LATENCY_BITS),
            stall=In(8),
            stop=In(1),
            leaves=Out(1),
            delivered=Out(DELIVERED),
        )

    def build(self, m: Module) -> None:
        o = self.o
        now = Signal(TIME_BITS)
        shape = data.StructLayout({"beat": BEAT, "due": TIME_BITS})
        m.submodules.line = line = Fifo.sized(
            shape=shape, depth=self.params.depth, style="distributed"
        )
        entry = Signal(shape)
        first = Signal(shape)
        offered = Signal(BEAT)
        waits = Signal()  # offered
        ripe = ~(now - first.due)[TIME_BITS - 1]
        stall = self.stop | happens(m, self.stall, self.seed, ~self.index)
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            entry.beat.eq(self.i.payload),
            entry.due.eq((now + 1 + self.latency)[:TIME_BITS]),
            line.i.payload.eq(entry),
            line.i.valid.eq(self.i.valid),
            self.i.ready.eq(line.i.ready),
            first.eq(line.o.payload),
            self.leaves.eq(line.o.valid & ripe & ~stall & (~waits | o.tready)),
            line.o.ready.eq(self.leaves),
            o.tvalid.eq(waits),
            *(getattr(o, name).eq(offered[name]) for name in BEAT.members),
        ]
        with m.If(self.leaves):
            m.d.sync += [offered.eq(first.beat), waits.eq(1)]
        with m.Elif(o.tready):
            m.d.sync += waits.eq(0)
        count = self.delivered
        with m.If(o.tvalid & o.tready):
            stored = sum(o.tkeep[1:], start=o.tkeep[0])
            m.d.sync += [
                count.packets.eq(count.packets + o.tlast),
                count.bytes.eq(count.bytes + stored),
                count.beats.eq(count.beats + 1),
            ]
        with m.Elif(o.tvalid):
            m.d.sync += count.refused.eq(count.refused + 1)


def happens(m: Module, share: Value, seed: Value, index: Value) -> Value:
    """Return whether an event of chance ``share`` / 256 happens in this cycle, at ``index``."""
    start = seed ^ (index * Const(0x9E3779B9, 32))[:32]
    return random_bits(m, start | 1)[8:16] < share
