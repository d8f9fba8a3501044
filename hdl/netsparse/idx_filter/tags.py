"""Tracks which lines a bank of the Idx Filter's cache holds, and which is replaced next."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.round_robin import lowest
from hdl.netsparse.idx_filter.params import FilterCacheParams
from hdl.netsparse.lru import least_recent, pairs

DISTRIBUTED = {"ram_style": "distributed"}


class FilterTags(Component):
    """Holds the tags of a bank, with combinational reads; ways are bits of a mask.

    ``hits`` is the way that holds ``tag`` in ``set``, if any. ``victim`` is the lowest empty way,
    or else the least recently used one, with its ``victim_tag`` and ``victim_dirty``. ``intact``:
    not all ways were filled since ``clear``, so no line of the set was evicted. At the end of the
    cycle, ``use`` makes way ``hits`` the most recent one and, with ``change``, dirty; ``install``
    puts ``tag``, clean, into way ``victim``; ``drop`` empties way ``victim``. At most one of these
    three may be high. ``clear`` empties all ways of set ``clear_at`` instead. Latency: none.
    Contents survive a reset.
    """

    latency = 0

    def __init__(self, params: FilterCacheParams) -> None:
        ways = params.ways
        self.pairs = pairs(ways)
        self.entry = data.StructLayout({"tag": params.tag_bits, "holds": 1})
        self.state = data.StructLayout(
            {
                "dirty": ways,
                "newer": max(1, len(self.pairs)),  # the first way of each pair is newer
                "filled": 1,  # all ways were filled since ``clear``
            }
        )
        super().__init__(
            params,
            set=In(params.set_bits),
            tag=In(params.tag_bits),
            hits=Out(ways),
            victim=Out(ways),
            victim_tag=Out(params.tag_bits),
            victim_dirty=Out(1),
            intact=Out(1),
            use=In(1),
            change=In(1),
            install=In(1),
            drop=In(1),
            clear=In(1),
            clear_at=In(params.set_bits),
        )

    def build(self, m: Module) -> None:
        ways = self.params.ways
        write_at = Signal(self.params.set_bits)
        m.d.comb += write_at.eq(self.set)
        with m.If(self.clear):
            m.d.comb += write_at.eq(self.clear_at)
        states, state_write = self.add_memory(m, "states", self.state, write_at)
        entries = []
        for way in range(ways):
            entry, write = self.add_memory(m, f"tags_{way}", self.entry, write_at)
            entries.append(entry)
            replaced = self.victim[way] & (self.install | self.drop)
            m.d.comb += [
                write.en.eq(replaced | self.clear),
                write.data.tag.eq(self.tag),
                write.data.holds.eq(self.install & ~self.clear),
                self.hits[way].eq(entry.holds & (entry.tag == self.tag)),
            ]
        holds = Cat(entry.holds for entry in entries)
        full = Signal()
        m.d.comb += [full.eq(holds.all()), self.victim.eq(least_recent(states.newer, ways))]
        with m.If(~full):
            m.d.comb += self.victim.eq(lowest(~holds))
        victims = [self.victim[way].replicate(len(e.tag)) & e.tag for way, e in enumerate(entries)]
        for tag in victims[1:]:
            victims[0] |= tag
        m.d.comb += [
            self.victim_tag.eq(victims[0]),
            self.victim_dirty.eq((self.victim & holds & states.dirty).any()),
            state_write.en.eq(self.use | self.install | self.drop | self.clear),
            state_write.data.newer.eq(states.newer),
            state_write.data.dirty.eq(states.dirty & ~self.victim),
            state_write.data.filled.eq(states.filled | full),
            self.intact.eq(~states.filled & ~full),
        ]
        with m.If(self.use):
            m.d.comb += state_write.data.dirty.eq(
                states.dirty | self.hits & self.change.replicate(ways)
            )
            for number, (first, second) in enumerate(self.pairs):
                with m.If(self.hits[first]):
                    m.d.comb += state_write.data.newer[number].eq(1)
                with m.If(self.hits[second]):
                    m.d.comb += state_write.data.newer[number].eq(0)
        with m.If(self.clear):
            m.d.comb += [state_write.data[name].eq(0) for name in self.state.members]

    def add_memory(self, m: Module, name: str, shape: data.StructLayout, write_at: Signal):
        """Add a memory with an entry a set; return the one of ``set``, and the write port."""
        assert ceil_log2(self.params.sets) == len(write_at)
        m.submodules[name] = memory = Memory(
            shape=shape, depth=self.params.sets, init=[], attrs=DISTRIBUTED
        )
        read, write = memory.read_port(domain="comb"), memory.write_port()
        m.d.comb += [read.addr.eq(self.set), write.addr.eq(write_at)]
        return read.data, write
