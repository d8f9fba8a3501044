"""States what is proven of queues: beats leave unchanged, in the order in which they came."""

from collections.abc import Sequence

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from tests.formal.claims import check, claim, reach

Happening = tuple[Value, Value]  #: whether, and what


def follow_beats(
    m: Module, mark: Value, comes: Happening, leaves: Happening, inside: Sequence[Happening]
) -> None:
    """Claim that every beat that ``comes`` also ``leaves``, unchanged and in its turn.

    ``inside`` is where beats are, from the oldest on, with gaps or without. Any beat may be
    followed: the one that comes when the free input ``mark`` is set. Beats that are ahead of it
    are counted down; when it is its turn, what leaves must be it.
    """
    (coming, beat), (leaving, left) = comes, leaves
    most = len(inside)
    count = Signal(range(most + 1), name="count_inside")
    expected = Signal(range(most + 1))  # from what came and left alone
    followed = Signal()
    ahead = Signal(range(most + 1))
    followed_beat = Signal(len(beat))
    m.d.comb += count.eq(count_ones([valid for valid, _ in inside]))
    m.d.sync += expected.eq(expected + coming - leaving)
    with m.If(~followed):
        m.d.sync += [
            followed.eq(mark & coming),
            followed_beat.eq(beat),
            ahead.eq(count - leaving),
        ]
    with m.Elif(leaving):
        m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), followed.eq(ahead != 0)]
    claim(m, "none_lost_or_invented", count == expected)
    claim(m, "none_leaves_from_nothing", ~leaving | (expected != 0))
    with m.If(followed & leaving & (ahead == 0)):
        claim(m, "leaves_unchanged_in_its_turn", left == followed_beat)
    # What makes it so: where the beat is meanwhile.
    check(m, "still_inside", ~followed | (ahead < count))
    older = Value.cast(0)
    for valid, value in inside:
        with m.If(followed & valid & (older == ahead)):
            check(m, "where_it_should_be", value == followed_beat)
        older = older + valid
    reach(m, "one_leaves_from_behind_all_others", followed & (ahead == most - 1))
    reach(m, "it_leaves", followed & leaving & (ahead == 0))


def keeps_waiting(m: Module, port) -> None:
    """Claim the stream rule of the output ``port``: what waits neither changes nor goes away."""
    waited = Signal(name="waited")
    before = Signal(port.payload.shape(), name="before", reset_less=True)
    m.d.sync += [waited.eq(port.valid & ~port.ready), before.eq(port.payload)]
    with m.If(waited):
        claim(m, "waits_unchanged", port.valid & (Value.cast(port.payload) == Value.cast(before)))


class FifoProof(Component):
    """Has a :class:`Fifo` with free streams: order, losses, ``level``, latency, stream rule."""

    def __init__(self, params: FifoParams) -> None:
        words = data.ArrayLayout(params.width, params.depth)
        address, stored = range(params.depth), range(params.depth + 1)
        hidden = {  # inputs that are wired to what is inside instead
            "words": (words, "dut.words[*]"),
            "write_at": (address, "dut.write_at"),
            "read_at": (address, "dut.read_at"),
            "stored": (stored, "dut.stored"),
            "filled": (1, "dut.filled"),
        }
        if params.output_register:
            hidden |= {"holds": (1, "dut.holds"), "read_data": (params.width, "dut.read__data")}
        self.peeks = {name: source for name, (_, source) in hidden.items()}
        super().__init__(
            params,
            mark=In(1),
            i_valid=In(1),
            beat=In(params.width),
            o_ready=In(1),
            **{name: In(shape) for name, (shape, _) in hidden.items()},
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.dut = dut = Fifo(params)
        m.d.comb += [
            dut.i.valid.eq(self.i_valid),
            dut.i.payload.eq(self.beat),
            dut.o.ready.eq(self.o_ready),
        ]
        # From the oldest beat on: the stages, then the memory from where it is read.
        inside = [(dut.o.valid, dut.o.payload)] if params.stages else []
        if params.output_register:
            inside.append((self.holds, self.read_data))
        for k in range(params.depth):
            at = self.behind(k)
            inside.append((k < self.stored, Array(self.words)[at]))
        follow_beats(
            m,
            self.mark,
            (dut.i.valid & dut.i.ready, dut.i.payload),
            (dut.o.valid & dut.o.ready, dut.o.payload),
            inside,
        )
        keeps_waiting(m, dut.o)
        claim(m, "level_counts", dut.level == count_ones([valid for valid, _ in inside]))
        claim(m, "full_as_said", dut.i.ready == (self.stored != params.depth))
        check(m, "stored_fits", self.stored <= params.depth)
        check(m, "filled_as_said", self.filled == (self.stored != 0))
        check(m, "addresses_exist", (self.read_at < params.depth) & (self.write_at < params.depth))
        check(m, "written_behind", self.write_at == self.behind(self.stored))
        # Whether anybody is ready or not.
        silent = Signal(range(params.latency + 1))
        with m.If((dut.level != 0) & ~dut.o.valid):
            m.d.sync += silent.eq(silent + 1)
            claim(m, "comes_to_the_output", silent < params.latency - 1)
        with m.Else():
            m.d.sync += silent.eq(0)
        self.examples(m, dut)

    def examples(self, m: Module, dut: Fifo) -> None:
        """Ask for a full queue, one empty later, one wrapped, and a beat in and out of a near-full
        one.
        """
        was_full = Signal()
        with m.If(dut.level == self.params.capacity):
            m.d.sync += was_full.eq(1)
        both = dut.i.valid & dut.i.ready & dut.o.valid & dut.o.ready
        reach(m, "filled_to_its_capacity", dut.level == self.params.capacity)
        reach(m, "empty_behind_full", was_full & (dut.level == 0))
        reach(m, "wrapped", was_full & (self.read_at == 0) & (self.stored != 0))
        reach(m, "in_and_out_nearly_full", both & (self.stored == self.params.depth - 1))
        reach(m, "in_and_out_with_one_inside", both & (dut.level == 1))

    def behind(self, offset) -> Value:
        """Return the address of a word this many words after the one that is read next."""
        at = self.read_at + offset
        return Mux(at >= self.params.depth, at - self.params.depth, at)[: len(self.read_at)]
