"""What is proven of a concatenator's bookkeeping: its lines, its queues and their EQ."""

from dataclasses import dataclass

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In
from amaranth.utils import bits_for, ceil_log2

from hdl.common.arithmetic import count_ones, delay
from hdl.common.component import Component
from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams
from hdl.netsparse.concat.expiration_queue import ExpirationQueue
from hdl.netsparse.concat.line_pool import LinePool
from hdl.netsparse.concat.mark_order import MarkOrder
from hdl.netsparse.concat.queue_table import QueueTable
from hdl.netsparse.protocol import BEAT_BYTES, PR_BYTES
from sim.formal.claims import assume, claim, reach


@dataclass(frozen=True, kw_only=True)
class SmallParams(ConcatenatorParams):
    """So few lines and packets that both run out within a few cycles."""

    few_lines: int  #: in place of what the form would have
    few_packets: int  #: likewise

    @property
    def lines(self) -> int:
        return self.few_lines

    @property
    def packets(self) -> int:
        return self.few_packets


class LinePoolProof(Component):
    """A :class:`LinePool` whose lines are taken and returned as one likes: for all time.

    No line is in two places, and none is lost: those that can be taken are all that have entered
    and are not taken. Assumed is that none is taken while there is none, and that what is returned
    was taken.
    """

    #: Inputs that are wired to what is inside instead.
    peeks = {
        "words": "dut.fifo.words[*]",
        "entered": "dut.entered",
        "read_at": "dut.fifo.read_at",
        "write_at": "dut.fifo.write_at",
        "stored": "dut.fifo.stored",
        "filled": "dut.fifo.filled",
        "full": "dut.fifo.full",
    }

    def __init__(self, params: SmallParams) -> None:
        super().__init__(
            params,
            {
                "takes": In(1),
                "returns": In(1),
                "returned": In(params.line_bits),
                "words": In(data.ArrayLayout(params.line_bits, params.lines)),
                "entered": In(bits_for(params.lines)),
                "read_at": In(params.line_bits),
                "write_at": In(params.line_bits),
                "stored": In(bits_for(params.lines)),
                "filled": In(1),
                "full": In(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        lines = self.params.lines
        m.submodules.dut = dut = LinePool(self.params)
        taken = Signal(lines)
        m.d.comb += [
            dut.takes.eq(self.takes),
            dut.returns.eq(self.returns),
            dut.returned.eq(self.returned),
        ]
        assume(m, ~self.takes | (dut.free != 0))
        assume(m, ~self.returns | ((self.returned < lines) & Array(taken)[self.returned]))
        for k in range(lines):
            with m.If(self.takes & (dut.line == k)):
                m.d.sync += taken[k].eq(1)
            with m.If(self.returns & (self.returned == k)):
                m.d.sync += taken[k].eq(0)
        with m.If(self.takes):
            claim(m, "taken_once", (dut.line < lines) & ~Array(taken)[dut.line])
        ones = count_ones(list(taken))
        claim(m, "none_lost", dut.free + ones == self.entered)
        # What induction needs: every line is taken, listed or has not entered.
        claim(m, "entered_in_range", self.entered <= lines)
        claim(m, "list_is_sound", (self.read_at < lines) & (dut.free == self.stored))
        behind = self.read_at + self.stored
        claim(m, "list_has_an_end", self.write_at == Mux(behind < lines, behind, behind - lines))
        claim(
            m, "list_knows", (self.filled == (dut.free != 0)) & (self.full == (dut.free == lines))
        )
        for k in range(lines):
            place = [
                (n < dut.free) & (Array(self.words)[(self.read_at + n) % lines] == k)
                for n in range(lines)
            ]
            found = taken[k] + count_ones(place)
            claim(m, "in_one_place", found == (k < self.entered))
        reach(m, "all_taken_and_returned", (ones == 0) & (dut.free == lines) & self.was_used(m))
        return m

    def was_used(self, m: Module) -> Signal:
        """Whether any line has been returned."""
        used = Signal()
        with m.If(self.returns):
            m.d.sync += used.eq(1)
        return used


def inputs(params: SmallParams) -> dict:
    """What :func:`arrive` makes PRs of, and DelayCycles."""
    return {
        "valid": In(1),
        "error": In(1),
        "concatenate": In(1),
        "queue": In(params.queue_bits),
        "long": In(1),
        "delay": In(params.delay_bits),
    }


def arrive(m: Module, proof: Component, queues: QueueTable) -> Signal:
    """Free PRs of two lengths, in one beat or several; the bytes that the last one lacks."""
    params = proof.params
    arrival = Signal(params.arrival, reset_less=True)
    valid = Signal()
    rest = Signal(range(params.most_property_bytes + 1))
    length = Mux(proof.long, params.most_property_bytes, BEAT_BYTES)
    size = Mux(rest != 0, rest, Mux(proof.error, 0, length))
    part = Mux(size > BEAT_BYTES, BEAT_BYTES, size)
    m.d.comb += [queues.valid.eq(valid), queues.arrival.eq(arrival)]
    assume(m, (proof.queue < params.nodes) | proof.error)
    with m.If(queues.advance):
        m.d.sync += valid.eq(proof.valid)
        with m.If(proof.valid):
            m.d.sync += [
                rest.eq(size - part),
                arrival.first.eq(rest == 0),
                arrival.last.eq(size <= BEAT_BYTES),
                arrival.bytes.eq(part + Mux(rest == 0, PR_BYTES, 0)),
            ]
            with m.If(rest == 0):
                m.d.sync += [
                    arrival.error.eq(proof.error),
                    arrival.alone.eq(proof.error | ~proof.concatenate),
                    arrival.queue.eq(Mux(proof.error, params.nodes, proof.queue)),
                    arrival.length.eq(length),
                ]
    held = delay(m, proof.delay, 1, "held")
    started = delay(m, Const(1), 1, "started", reset_less=False)
    assume(m, ~started | (proof.delay == held))
    assume(m, proof.delay <= params.most_delay)
    return rest


def expire(m: Module, proof: Component, queues: QueueTable, expiration: ExpirationQueue) -> None:
    """Queues enter the EQ and expire."""
    m.d.comb += [
        expiration.delay.eq(proof.delay),
        expiration.opens.eq(queues.opens),
        expiration.entering.eq(queues.beat.queue),
        expiration.open.eq(queues.oldest_open),
        expiration.entered.eq(queues.oldest_entry),
        expiration.closes.eq(queues.closes),
        expiration.closed.eq(queues.beat.queue),
        queues.entry.eq(expiration.entry),
        queues.ready.eq(expiration.ready),
        queues.oldest.eq(expiration.oldest),
        queues.expires.eq(expiration.expires),
        queues.expired.eq(expiration.expired),
    ]


class ExpirationProof(Component):
    """A :class:`QueueTable` and its EQ, with free PRs, lines and marks: for all time.

    A packet that is open has the entry that it remembers in the EQ, or has expired within a PR and
    is marked with its last beat. No PR is split.
    """

    #: Inputs that are wired to what is inside instead.
    peeks = {
        "entries": "queues.entries[*]",
        "inside": "queues.inside",
        "inside_queue": "queues.inside_queue",
        "late": "queues.late",
        "was_open": "queues.was_open",
        "words": "expiration.fifo.words[*]",
        "read_at": "expiration.fifo.read_at",
        "write_at": "expiration.fifo.write_at",
        "stored": "expiration.fifo.stored",
        "filled": "expiration.fifo.filled",
        "full": "expiration.fifo.full",
        "pushed": "expiration.pushed",
        "popped": "expiration.popped",
        "head": "expiration.valid",
        "fresh": "expiration.fresh",
    }

    def __init__(self, params: SmallParams) -> None:
        depth, entry, at = params.expirations, params.entry_bits, ceil_log2(params.expirations)
        shown = {
            "entries": data.ArrayLayout(entry, params.queues),
            "inside_queue": params.queue_bits,
            "words": data.ArrayLayout(params.expiration, depth),
            "read_at": at,
            "write_at": at,
            "stored": bits_for(depth),
            "pushed": entry,
            "popped": entry,
        }
        super().__init__(
            params,
            inputs(params)
            | {name: In(shown.get(name, 1)) for name in self.peeks}
            | {
                "waits": In(1),
                "admits": In(1),
                "force": In(1),
                "free": In(bits_for(params.lines)),
                "free_line": In(params.line_bits),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.queues = queues = QueueTable(self.params)
        m.submodules.expiration = expiration = ExpirationQueue(self.params)
        rest = arrive(m, self, queues)
        expire(m, self, queues, expiration)
        m.d.comb += [
            expiration.force.eq(self.force),
            queues.waits.eq(self.waits),
            queues.admits.eq(self.admits),
            queues.free.eq(self.free),
            queues.free_line.eq(self.free_line),
        ]
        self.beats(m, queues, rest)
        self.list(m)
        for k in range(self.params.queues):
            # How far behind the list's head the entry is that the packet remembers.
            place = Signal(self.params.entry_bits, name=f"place_{k}")
            at = Signal(range(2 * self.params.expirations), name=f"at_{k}")
            m.d.comb += [
                place.eq(self.entries[k] - self.popped),
                at.eq((self.read_at + place[: len(self.read_at)]) % self.params.expirations),
            ]
            listed = (place < self.stored) & (Array(self.words)[at].queue == k)
            first = self.head & self.fresh & (expiration.expired == k) & place.all()
            later = self.inside & (self.inside_queue == k) & self.late
            with m.If(queues.open[k]):
                claim(m, "open_has_an_entry", listed | first | later)
            if k < self.params.nodes:  # errors never expire
                reach(m, "open_and_late", queues.open[k] & later)
        with m.If(self.head & self.fresh):
            known = Array(self.entries)[expiration.expired]
            claim(m, "fresh_is_open", Array(queues.open)[expiration.expired])
            next_one = (known + 1)[: self.params.entry_bits]
            claim(m, "fresh_is_remembered", next_one == self.popped)
        return m

    def beats(self, m: Module, queues: QueueTable, rest) -> None:
        """The beats of a PR follow each other, and its packet stays open."""
        read, beat = queues.arrival, queues.beat
        decided = queues.decided.any()
        goes_on = Mux(decided, ~beat.last, self.inside)
        queue = Mux(decided, beat.queue, self.inside_queue)
        with m.If(decided):
            claim(m, "first_or_inside", beat.first == ~self.inside)
            claim(m, "same_queue", beat.first | (beat.queue == self.inside_queue))
            is_open = Array(queues.open)[beat.queue]
            claim(m, "open_is_known", ~beat.first | (self.was_open == is_open))
        with m.If(queues.valid):
            claim(m, "first_or_goes_on", read.first == ~goes_on)
            claim(m, "goes_on_same", read.first | (read.queue == queue))
            claim(m, "rest_is_to_come", read.last == (rest == 0))
        with m.Else():
            claim(m, "rest_is_expected", goes_on == (rest != 0))
            claim(m, "rest_is_same", ~goes_on | (read.queue == queue))
        claim(m, "late_inside", ~self.late | self.inside)
        for k in range(self.params.queues):
            with m.If(self.inside & (self.inside_queue == k)):
                claim(m, "inside_is_open", queues.open[k])
                claim(m, "not_split", ~(queues.expires_now & (queues.expired == k)))
        claim(m, "queues_exist", beat.queue < self.params.queues)
        claim(m, "queues_asked_exist", ~queues.valid | (read.queue < self.params.queues))

    def list(self, m: Module) -> None:
        """The list of the EQ is one, and knows how many entries it has."""
        depth = self.params.expirations
        behind = self.read_at + self.stored
        distance = (self.pushed - self.popped)[: len(self.pushed)]
        claim(m, "list_in_range", (self.read_at < depth) & (self.stored <= depth))
        claim(m, "list_has_an_end", self.write_at == Mux(behind < depth, behind, behind - depth))
        claim(m, "list_is_counted", distance == self.stored)
        claim(
            m,
            "list_knows",
            (self.filled == (self.stored != 0)) & (self.full == (self.stored == depth)),
        )


class ConcatenatorProof(Component):
    """Queues, EQ, lines and marks with free PRs and a free output.

    Marked packets leave when they like, and return their lines. PRs come in beats that follow each
    other. Claimed is: a line is in one packet; all lines return; a packet that is open is marked in
    time; no PR is split; no packet is empty or outgrows the MTU.
    """

    def __init__(self, params: SmallParams) -> None:
        super().__init__(
            params,
            inputs(params) | {"leaves": In(1)},
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        m.submodules.queues = queues = QueueTable(params)
        m.submodules.expiration = expiration = ExpirationQueue(params)
        m.submodules.pool = pool = LinePool(params)
        m.submodules.marks = marks = MarkOrder(params)
        arrive(m, self, queues)
        expire(m, self, queues, expiration)
        m.d.comb += [
            queues.free.eq(pool.free),
            queues.free_line.eq(pool.line),
            pool.takes.eq(queues.takes),
            pool.links.eq(queues.links),
            pool.behind.eq(queues.line),
            queues.waits.eq(marks.waits),
            marks.expires.eq(queues.expires_now),
            marks.expired.eq(queues.expired_now),
            marks.arrives.eq(queues.closes),
            marks.arrived.eq(queues.closed),
        ]
        self.output(m, marks, pool, queues)
        self.lines(m, queues, pool)
        self.packets(m, queues, expiration, marks)
        return m

    def output(self, m: Module, marks: MarkOrder, pool: LinePool, queues: QueueTable) -> None:
        """A packet leaves by its lines, one every other cycle or slower."""
        params, mark = self.params, marks.marks.payload
        left = Signal(bits_for(params.lines))
        line = Signal(params.line_bits)
        known = Signal()  # the pool's follower is that of line
        packets = Signal(bits_for(params.packets))
        ends = Signal()
        m.d.comb += [
            pool.step.eq(1),
            pool.leader.eq(line),
            marks.marks.ready.eq((left == 0) & self.leaves),
            pool.returns.eq((left != 0) & known & self.leaves),
            pool.returned.eq(line),
            ends.eq(pool.returns & (left == 1)),
            queues.admits.eq(packets != params.packets),
        ]
        m.d.sync += [packets.eq(packets + queues.opens - ends), known.eq(left != 0)]
        with m.If(marks.marks.valid & marks.marks.ready):
            m.d.sync += [line.eq(mark.first), left.eq((mark.used + LINE_BYTES - 1) >> 7)]
        with m.If(pool.returns):
            m.d.sync += [line.eq(pool.follower), left.eq(left - 1), known.eq(0)]
        self.inside, self.left = packets, left

    def lines(self, m: Module, queues: QueueTable, pool: LinePool) -> None:
        """Every line is free or in one packet."""
        taken = Signal(self.params.lines)
        for k in range(self.params.lines):
            with m.If(pool.takes & (pool.line == k)):
                m.d.sync += taken[k].eq(1)
            with m.If(pool.returns & (pool.returned == k)):
                m.d.sync += taken[k].eq(0)
        with m.If(pool.takes):
            claim(m, "there_is_a_line", pool.free != 0)
            claim(m, "line_in_no_packet", ~Array(taken)[pool.line])
        with m.If(pool.returns):
            claim(m, "line_of_a_packet", Array(taken)[pool.returned])
        with m.If(self.inside == 0):
            claim(m, "lines_return", ~taken.any())
        reach(m, "all_lines_taken", taken.all())

    def packets(self, m: Module, queues, expiration, marks) -> None:
        """Every open packet expires in time, whole."""
        params, beat = self.params, queues.beat
        limit = params.most_delay + expiration.lateness + 1
        within = Signal()
        with m.If(queues.moves):
            m.d.sync += within.eq(~beat.last)
        for k in range(params.queues):
            age = Signal(range(limit + 2), name=f"age_{k}")
            with m.If(queues.opens & (beat.queue == k)):
                m.d.sync += age.eq(0)
            with m.Elif(age != limit + 1):
                m.d.sync += age.eq(age + 1)
            here = within & (beat.queue == k)
            with m.If(queues.open[k] & ~here):
                claim(m, "marked_in_time", age < self.delay + expiration.lateness)
        with m.If(within & queues.moves):
            claim(m, "not_split", ~beat.first & Array(queues.open)[beat.queue])
        with m.If(within):
            expired = queues.expires_now & (expiration.expired == beat.queue)
            claim(m, "not_split_by_time", ~expired)
        with m.If(marks.enters):
            claim(m, "within_the_mtu", marks.entering.used <= params.room)
            claim(m, "not_empty", (marks.entering.used != 0) & (marks.entering.prs != 0))
        reach(m, "two_marks", queues.closes & queues.expires_now)
        reach(m, "joins", queues.moves & beat.first & ~queues.opens)
