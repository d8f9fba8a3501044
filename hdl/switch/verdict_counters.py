"""Counts how often the packets of each port, or of each job, met each verdict."""

from amaranth.hdl import Cat, Module, Mux, Shape, Signal
from amaranth.lib import enum
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import delay, index_of
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.common.params import Params, whole
from hdl.switch.update_memory import UpdateMemory

COUNTER_BITS = 32


class VerdictCountersParams(Params):
    """Sets the verdicts, and the number of sources whose packets are counted separately."""

    verdict: type[enum.Enum]
    sources: int = whole(2, 32)  #: number of sources of packets, ports or jobs

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: whose verdicts, and the number of sources."""
        system = self.verdict.__module__.split(".")[1]
        return f"{system}_{self.verdict.__name__.lower()}_{self.sources}"

    @property
    def source_bits(self) -> int:
        """Return the width of a source's number."""
        return ceil_log2(self.sources)


class VerdictCounters(Component):
    """Counts packets by ``source`` (one-hot) and by ``verdict``, which is NONE without a packet.

    Counters wrap. ``value`` is the counter of source ``number`` and verdict ``of``, four cycles
    after both. ``clear`` sets all counters to zero, and so does a reset: ``busy`` is then high for
    as many cycles as there are counters, and nothing is counted meanwhile.

    Throughput: one verdict a cycle, even the same one in a row.
    """

    def __init__(self, params: VerdictCountersParams) -> None:
        kinds = 1 << Shape.cast(params.verdict).width
        self.memory = MemoryParams(
            shape=COUNTER_BITS, depth=kinds << params.source_bits, style="block"
        )
        super().__init__(
            params,
            clear=In(1),
            busy=Out(1),
            verdict=In(params.verdict),
            source=In(params.sources),
            number=In(params.source_bits),
            of=In(params.verdict),
            value=Out(COUNTER_BITS),
        )

    def build(self, m: Module) -> None:
        m.submodules.counts = counts = UpdateMemory(self.memory)
        m.submodules.copy = copy = DualPortMemory(self.memory)  # for the host to read
        walk = Signal(self.memory.address_bits)
        walking = Signal(init=1)
        with m.If(walking):
            m.d.sync += [walk.eq(walk + 1), walking.eq(walk != self.memory.depth - 1)]
        with m.Elif(self.clear):
            m.d.sync += walking.eq(1)
        address = Signal(self.memory.address_bits, reset_less=True)
        happened = Signal()
        wipe = Signal()
        m.d.sync += [
            address.eq(Mux(walking, walk, Cat(self.verdict, index_of(self.source)))),
            happened.eq(self.verdict != self.params.verdict.NONE),
            wipe.eq(walking),
        ]
        wiping = delay(m, wipe, counts.lead, "wipe", reset_less=False)
        counting = delay(m, happened, counts.lead, "happened", reset_less=False)
        m.d.comb += [
            self.busy.eq(walking),
            counts.address.eq(address),
            counts.after.eq(Mux(wiping, 0, counts.before + 1)[:COUNTER_BITS]),
            counts.write.eq(wiping | counting),
            copy.write.eq(counts.written.valid),
            copy.write_address.eq(counts.written.address),
            copy.write_data.eq(counts.written.contents),
            copy.read_address.eq(Cat(self.of, self.number)),
            self.value.eq(copy.read_data),
        ]
