"""States what is proven of a concatenator's queues and their EQ."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In
from amaranth.utils import bits_for, ceil_log2

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.concat.concatenator_params import LINE_BYTES
from hdl.netsparse.concat.expiration_queue import ExpirationQueue
from hdl.netsparse.concat.queue_table import QueueTable
from hdl.netsparse.protocol import PR_BYTES
from tests.formal.claims import check, claim, granted, reach
from tests.hdl.netsparse.concat.line_pool_proof import SmallParams


def inputs(params: SmallParams) -> dict:
    """Return what :func:`arrive` makes PRs of, and DelayCycles."""
    return {
        "valid": In(1),
        "error": In(1),
        "concatenate": In(1),
        "queue": In(params.queue_bits),
        "long": In(1),
        "delay": In(params.delay_bits),
    }


def arrive(m: Module, proof: Component, queues: QueueTable) -> Signal:
    """Make free PRs of two lengths, in one beat or several; return bytes the last one lacks."""
    params = proof.params
    arrival = Signal(params.arrival, reset_less=True)
    valid = Signal()
    rest = Signal(range(params.most_property_bytes + 1))
    length = Mux(proof.long, params.most_property_bytes, BEAT_BYTES)
    size = Mux(rest != 0, rest, Mux(proof.error, 0, length))
    part = Mux(size > BEAT_BYTES, BEAT_BYTES, size)
    m.d.comb += [queues.valid.eq(valid), queues.arrival.eq(arrival)]
    with m.If(queues.advance):
        m.d.sync += valid.eq(proof.valid)
        with m.If(proof.valid):
            m.d.sync += [
                rest.eq(size - part),
                arrival.first.eq(rest == 0),
                arrival.last.eq(size <= BEAT_BYTES),
                arrival.bytes.eq(low_bits(part + Mux(rest == 0, PR_BYTES, 0), len(arrival.bytes))),
            ]
            with m.If(rest == 0):
                m.d.sync += [
                    arrival.error.eq(proof.error),
                    arrival.alone.eq(proof.error | ~proof.concatenate),
                    arrival.queue.eq(Mux(proof.error, params.nodes, proof.queue)),
                    arrival.length.eq(length),
                ]
    return rest


def expire(m: Module, proof: Component, queues: QueueTable, expiration: ExpirationQueue) -> None:
    """Let queues enter the EQ and expire."""
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
        queues.follows.eq(expiration.follows),
    ]


class ExpirationProof(Component):
    """Has a :class:`QueueTable` and its EQ, with free PRs, lines and marks, for all time.

    A packet that is open has the entry that it remembers in the EQ, or has expired within a PR and
    is marked with its last beat. No PR is split. A beat waits for nothing but what the table names,
    and while one marked packet waits only one more is marked.
    """

    #: Inputs that are wired to what is inside instead.
    peeks = {
        "entries": "queues.entries[*]",
        "inside": "queues.inside",
        "present": "queues.present",
        "late": "queues.late",
        "was_open": "queues.was_open",
        "demand": "queues.demand",
        "words": "expiration.fifo.words[*]",
        "read_at": "expiration.fifo.read_at",
        "write_at": "expiration.fifo.write_at",
        "stored": "expiration.fifo.stored",
        "filled": "expiration.fifo.filled",
        "room": "expiration.fifo.free",
        "pushed": "expiration.pushed",
        "popped": "expiration.popped",
        "head": "expiration.valid",
        "fresh": "expiration.fresh",
    }

    def __init__(self, params: SmallParams) -> None:
        depth, entry, at = params.expirations, params.entry_bits, ceil_log2(params.expirations)
        shown = {
            "entries": data.ArrayLayout(entry, params.queues),
            "demand": params.demand,
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
                "free": In(bits_for(params.pr_lines)),
                "free_line": In(params.line_bits),
            },
        )

    def build(self, m: Module) -> None:
        m.submodules.queues = queues = granted(QueueTable(self.params))
        m.submodules.expiration = expiration = granted(ExpirationQueue(self.params))
        rest = arrive(m, self, queues)
        expire(m, self, queues, expiration)
        self.ready_entry = expiration.ready
        m.d.comb += [
            expiration.force.eq(self.force),
            queues.waits.eq(self.waits),
            queues.admits.eq(self.admits),
            queues.free.eq(self.free),
            queues.free_line.eq(self.free_line),
        ]
        present = expiration.expired == queues.beat.queue
        check(m, "here_is_known", ~self.head | (self.present == present))
        self.beats(m, queues, rest)
        self.waiting(m, queues, rest)
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
            later = self.inside & (queues.beat.queue == k) & self.late
            with m.If(queues.open[k]):
                claim(m, "open_has_an_entry", listed | first | later)
            if k < self.params.nodes:  # errors never expire
                reach(m, "open_and_late", queues.open[k] & later)
        with m.If(self.head & self.fresh):
            known = Array(self.entries)[expiration.expired]
            claim(m, "fresh_is_open", Array(queues.open)[expiration.expired])
            next_one = (known + 1)[: self.params.entry_bits]
            claim(m, "fresh_is_remembered", next_one == self.popped)

    def beats(self, m: Module, queues: QueueTable, rest) -> None:
        """Claim that the beats of a PR follow each other, and its packet stays open."""
        read, beat = queues.arrival, queues.beat
        decided = queues.decided.any()
        goes_on = Mux(decided, ~beat.last, self.inside)
        with m.If(decided):
            check(m, "first_or_inside", beat.first == ~self.inside)
            is_open = Array(queues.open)[beat.queue]
            check(m, "open_is_known", ~beat.first | (self.was_open == is_open))
        with m.If(queues.valid):
            check(m, "first_or_goes_on", read.first == ~goes_on)
            check(m, "goes_on_same", read.first | (read.queue == beat.queue))
            check(m, "rest_is_to_come", read.last == (rest == 0))
        with m.Else():
            check(m, "rest_is_expected", goes_on == (rest != 0))
            check(m, "rest_is_same", ~goes_on | (read.queue == beat.queue))
        check(m, "late_inside", ~self.late | self.inside)
        for k in range(self.params.queues):
            with m.If(self.inside & (beat.queue == k)):
                check(m, "inside_is_open", queues.open[k])
                claim(m, "not_split", ~(queues.expires_now & (queues.expired == k)))
        check(m, "queues_exist", beat.queue < self.params.queues)
        check(m, "queues_requested_exist", ~queues.valid | (read.queue < self.params.queues))

    def waiting(self, m: Module, queues: QueueTable, rest) -> None:
        """Claim what holds a beat up, and what holds for the marks while one waits."""
        params, beat = self.params, queues.beat
        size = PR_BYTES + Mux(beat.error, 0, beat.length)
        lines = (size + LINE_BYTES - 1) // LINE_BYTES
        present = queues.expires_now & (queues.expired == beat.queue)
        lacks = ~self.ready_entry | ~self.admits | (self.free < lines)
        marks = self.waits & queues.expires
        with m.If(queues.decided.any()):
            check(m, "length_decided_fits", beat.length <= params.most_property_bytes)
            check(m, "requests_its_lines", self.demand.lines == Mux(beat.first, lines, 0))
        read = queues.arrival
        existing = queues.valid | (rest != 0)  # a PR, or the rest of one
        check(m, "length_fits", ~existing | (read.length <= params.most_property_bytes))
        with m.If(queues.decided.any() & ~queues.moves):
            claim(m, "only_a_first_beat_waits", beat.first | marks)
            claim(m, "waits_for_a_reason", marks | queues.closes | present | lacks)
        claim(m, "one_mark_while_one_waits", ~(self.waits & queues.closes & queues.expires_now))
        reach(m, "would_be_two_while_one_waits", marks & queues.decided.any() & ~queues.moves)
        enough = self.free == params.pr_lines
        reach(m, "a_line_for_every_pr", queues.moves & beat.first & enough)
        reach(m, "no_line_is_free", queues.decided.any() & beat.first & (self.free == 0))

    def list(self, m: Module) -> None:
        """Claim that the EQ's list is one, and knows how many entries it has."""
        depth = self.params.expirations
        behind = self.read_at + self.stored
        distance = (self.pushed - self.popped)[: len(self.pushed)]
        check(m, "list_in_range", (self.read_at < depth) & (self.stored <= depth))
        check(m, "list_has_an_end", self.write_at == Mux(behind < depth, behind, behind - depth))
        check(m, "list_is_counted", distance == self.stored)
        check(
            m,
            "list_knows",
            (self.filled == (self.stored != 0)) & (self.room == (self.stored != depth)),
        )
