"""Stores the words of packets in a ring; a packet becomes visible as a whole, or is dropped."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.memory import STYLES, ram_style
from hdl.common.output_lane import add_lanes
from hdl.common.params import choice, tagged, whole
from hdl.common.shaped import ShapedParams


class PacketBufferParams(ShapedParams, suffix="{width}x{words}_{behind}"):
    """Sets a word's shape, depth and memory of a packet buffer."""

    words: int = whole(16, 1 << 16, power_of_two=True)  #: number of words in the memory
    behind: int = whole(1, 8)  #: cycles from reading ``room`` to the write that relies on it
    style: str = choice(*STYLES, default="block", tag="_{}")  #: kind of memory in Vivado
    #: whether words may leave before their packet is kept or dropped
    ahead: bool = tagged("_ahead", default=False)
    follows: bool = tagged("_follows", default=False)  #: whether there is a port ``following``
    #: whether a packet leaves a cycle earlier, for two registers and a multiplexer of a word more
    early: bool = tagged("_early", default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ahead and self.early:
            raise ValueError("ahead and early exclude each other: words leave earlier by ahead")

    @property
    def latency(self) -> int:
        """Return the cycles from a packet's end to its first word at ``o``."""
        return 3 - self.early

    @property
    def following(self) -> data.StructLayout:
        """Describe the word behind that at ``o``, if there is one."""
        return data.StructLayout({"valid": 1, "word": self.shape})

    @property
    def max_packet_words(self) -> int:
        """Return the words of the longest packet that fits an empty buffer."""
        return self.words - self.behind - 2


class PacketBuffer(Component):
    """Passes the words of packets that are kept to ``o``, in order, and drops all others.

    In a cycle with ``write``, ``word`` is added to the current packet. ``ends``, in the cycle of
    the last word or later, ends the packet: with ``keep`` it becomes readable, without it the
    packet is dropped. ``write`` cannot be refused: the register ``room`` must have been high
    ``params.behind`` cycles before each word. ``used`` is the number of words inside in the
    previous cycle, those of the current packet included.

    With ``params.ahead`` words are readable as soon as they are written (cut-through). Then
    ``ends`` must come with the last word of each packet that is kept, so that the last word of a
    dropped packet never leaves. ``undone`` says that the words that have left since the last whole
    packet, one in this cycle included, belong to a dropped packet. The reader must not stall words
    of the current packet.

    Throughput: a word in and a word out every cycle. Latency: :attr:`latency` from ``ends`` to the
    packet's first word (a cycle less with ``params.early``, but for
    a word right behind another packet), or from ``write`` to a word. Full:
    ``room`` goes low; it goes high again when words leave ``o``, unless a packet is longer than
    ``params.max_packet_words``. With ``params.follows``, ``following`` has the word behind that at
    ``o``, which comes to ``o`` when that leaves.
    """

    latency = 3

    def __init__(self, params: PacketBufferParams) -> None:
        self.latency = params.latency
        super().__init__(
            params,
            room=Out(1),
            used=Out(exact_log2(params.words) + 1),
            write=In(1),
            word=In(params.shape),
            ends=In(1),
            keep=In(1),
            o=Out(stream.Signature(params.shape)),
            **({"undone": Out(1)} if params.ahead else {}),
            **({"following": Out(params.following)} if params.follows else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.words = words = memory.Memory(
            shape=params.width,
            depth=params.words,
            init=[],
            attrs=ram_style(params.style, params.width, params.words),
        )
        write = words.write_port()
        # Addresses have one more bit than the memory needs, to distinguish full from empty.
        address_bits = exact_log2(params.words) + 1
        write_at = Signal(address_bits)
        written = Signal(address_bits)  # write address after this cycle's word
        stored = Signal(address_bits)  # address where the current packet begins
        read_at = Signal(address_bits)
        used = Signal(address_bits)
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(write_at[:-1]),
            write.data.eq(self.word),
            written.eq((write_at + self.write)[:address_bits]),
            used.eq(write_at - read_at),
        ]
        # ``room`` is decided from ``used``, so words written since then are not in it.
        m.d.sync += [
            self.room.eq(~self.nearly_full(used)),
            self.used.eq(used),
            write_at.eq(written),
        ]
        with m.If(self.ends):
            with m.If(self.keep):
                m.d.sync += stored.eq(written)
            with m.Else():
                m.d.sync += write_at.eq(stored)
        filled = read_at != (write_at if params.ahead else stored)
        if params.early:
            kept = self.ends & self.keep
            expect(m, self, keeps_words=lambda: ~kept | (written != stored))
        self.read_words(m, words, read_at, filled, stored)

    def nearly_full(self, used: Value) -> Value:
        """Return whether ``used`` words leave at most ``behind`` free.

        All but the lowest four bits are then ones, so no second carry chain is needed.
        """
        least = 16 - self.params.behind - 1
        return used[-1] | (Cat(used[4:-1], 1).all() & (used[:4] >= least))

    def read_words(
        self, m: Module, words: memory.Memory, read_at: Signal, filled: Value, stored: Signal
    ) -> None:
        """Add the memory's read register and one more, as pipeline stages that may stall."""
        read = words.read_port()
        fresh = read.data
        holds = Signal()  # the memory's read register has a word
        valid = Signal()  # the last register has a word
        leaves = Signal()
        dropped = Signal()  # what would be in it is dropped
        advance, reads, early = Signal(), Signal(), self.params.early
        if early:  # the word that is read may be written in the same cycle
            word, same = Signal(self.params.width, reset_less=True), Signal(reset_less=True)
            begins = Signal(init=1)  # the current packet has no word before this cycle's
            with m.If(self.ends | self.write):
                m.d.sync += begins.eq(self.ends)
            with m.If(~holds):
                m.d.sync += word.eq(self.word)
            with m.If(advance):
                m.d.sync += same.eq(begins & ~filled & ~holds)
            fresh = Mux(same, word, read.data)
            filled |= self.ends & self.keep & ~(holds & begins)
        m.d.comb += [
            read.addr.eq(read_at[:-1]),
            leaves.eq(~valid | self.o.ready),
            advance.eq(~holds | leaves),
            reads.eq(filled & advance),
            read.en.eq(advance if early else reads),  # early, also of a word that is not there
            self.o.valid.eq(valid),
        ]
        m.d.sync += valid.eq(~dropped & Mux(leaves, holds, valid))
        add_lanes(m, Value.cast(fresh), self.o, holds, runs=~dropped)
        with m.If(advance):
            m.d.sync += holds.eq(filled)
        with m.If(reads):
            m.d.sync += read_at.eq(read_at + 1)
        if self.params.follows:
            m.d.comb += [self.following.valid.eq(holds), self.following.word.eq(fresh)]
        if self.params.ahead:
            self.undo(m, read_at, stored, (reads, advance, holds), (leaves, valid, dropped))

    def undo(
        self,
        m: Module,
        read_at: Signal,
        stored: Signal,
        memory_stage: tuple[Signal, Signal, Signal],
        last_stage: tuple[Signal, Signal, Signal],
    ) -> None:
        """Drop words that were read of a packet that is not kept."""
        (reads, advance, holds), (leaves, valid, dropped) = memory_stage, last_stage
        # Bits that mark words of the current packet: the next word to read, the words in both
        # registers, and any word that has left.
        begun, held, shown, left = (Signal(name=f"open_{k}") for k in range(4))
        comes = begun | (read_at == stored)
        drops = self.ends & ~self.keep
        m.d.comb += self.undone.eq(drops & (left | (valid & shown)))
        with m.If(self.ends):
            m.d.sync += [begun.eq(0), held.eq(0), shown.eq(0), left.eq(0)]
        with m.Else():
            m.d.sync += [begun.eq(begun | (reads & comes)), left.eq(left | (valid & shown))]
            with m.If(advance):
                m.d.sync += held.eq(reads & comes)
            with m.If(leaves):
                m.d.sync += shown.eq(holds & held)
        with m.If(drops):
            with m.If(comes):
                m.d.sync += read_at.eq(stored)
            with m.If(Mux(advance, comes, held)):
                m.d.sync += holds.eq(0)
            m.d.comb += dropped.eq(Mux(leaves, held, shown))
        expect(m, self, takes_what_is_open=lambda: ~(valid & shown) | self.o.ready)
