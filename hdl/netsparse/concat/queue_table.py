"""Tracks the queues: which packets are open, and which beats join, open or mark one."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import looked_up, low_bits
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.netsparse.concat.concatenation import Concatenation
from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams
from hdl.netsparse.concat.decision import Decision
from hdl.netsparse.protocol import PR_BYTES


class QueueTable(Component):
    """Keeps every queue's packet (NetSparse, section 6.1.2), in two steps: read and decide.

    A PR joins its queue's open packet if that has the same length, and the same label if there are
    labels, and the PR need not be alone. Otherwise that packet is marked, which takes a cycle, and
    a new one is opened. A packet without room for another PR of its length is marked with its last
    PR, so there is always room for a PR that joins. ``expires`` marks the packet of ``expired`` at
    once, but never splits a PR: if one is on its way, the packet is marked with the PR's last beat.

    ``moves``: a beat is decided, and ``takes`` a line if it needs one. ``opens``: its packet is a
    new one, for which the EQ's ``entry`` is stored. Two packets may be marked in a cycle, by
    ``closes`` and ``expires_now``; the latter comes first. Stalls: a first beat waits while there
    are too few ``free`` lines, or no room in the EQ (``ready``) or for packets (``admits``); later
    beats do not wait for these. ``holds``: a beat is inside, which ``advance`` replaces. ``read``
    and ``decided`` are the queues of the beats inside, one bit each. With ``follows``, ``oldest``
    becomes ``expired`` in the next cycle, so comparisons with it are made a cycle in advance.
    Throughput: one beat a cycle, of the same queue or others. Latency: :attr:`latency`.
    """

    latency = 1

    def __init__(self, params: ConcatenatorParams) -> None:
        queue = params.queue_bits
        super().__init__(
            params,
            valid=In(1),
            arrival=In(params.arrival),
            advance=Out(1),
            holds=Out(1),
            open=Out(params.queues),
            read=Out(params.queues),
            decided=Out(params.queues),
            # the decision
            moves=Out(1),
            beat=Out(params.arrival),
            opens=Out(1),
            offset=Out(7),
            line=Out(params.line_bits),  # line that is being filled
            entry=In(params.entry_bits),
            ready=In(1),
            admits=In(1),
            # lines
            free=In(bits_for(params.pr_lines)),
            free_line=In(params.line_bits),
            takes=Out(1),
            links=Out(1),
            # expiration
            oldest=In(queue),
            oldest_open=Out(1),
            oldest_entry=Out(params.entry_bits),
            follows=In(1),
            expires=In(1),
            expired=In(queue),
            # marks
            waits=In(1),
            closes=Out(1),
            closed=Out(params.mark),
            expires_now=Out(1),
            expired_now=Out(params.mark),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.concatenation = rule = Concatenation(params)
        m.submodules.decision = decision = Decision()
        beat_valid = Signal()
        beat = Signal(params.arrival, reset_less=True)
        demand = Signal(params.demand, reset_less=True)
        state = Signal(params.state, reset_less=True)
        was_open = Signal()
        fits = Signal(reset_less=True)  # it has the same length and label, and need not be alone
        opened = Signal(params.queues)
        inside = Signal()  # between the first and the last beat of a PR
        present = Signal(
            reset_less=True
        )  # the beat's queue is ``expired``, or that of the last beat
        late = Signal()  # the packet expired meanwhile
        differs = was_open & ~fits
        lacks = differs | ~self.ready | ~self.admits
        m.d.comb += [
            decision.expires.eq(self.expires),
            decision.waits.eq(self.waits),
            decision.inside.eq(inside),
            decision.present.eq(present),
            decision.able.eq(beat_valid & ~(beat.first & lacks)),
            decision.enough.eq(self.covers(self.free, demand.lines)),
            decision.first.eq(beat.first),
            decision.last.eq(beat.last),
            decision.fresh.eq(~(was_open & fits)),
            decision.closes_new.eq(rule.closes_new),
            decision.closes_joined.eq(rule.closes_joined),
            decision.displaced.eq(beat_valid & beat.first & differs),
            rule.arrival.eq(beat),
            rule.demand.eq(demand),
            rule.before.eq(state),
            rule.opens.eq(decision.opens),
            rule.late.eq(late),
            rule.free.eq(self.free_line),
            self.expires_now.eq(decision.expires_now),
            self.moves.eq(decision.moves),
            self.advance.eq(~beat_valid | self.moves),
            self.holds.eq(beat_valid),
            self.beat.eq(beat),
            self.opens.eq(self.moves & rule.opens),
            self.offset.eq(rule.offset),
            self.line.eq(state.line),
            self.takes.eq(self.moves & rule.grows),
            self.links.eq(~rule.opens),
            self.closes.eq(decision.closes),
            self.closed.eq(Mux(beat.first & differs, state.mark, rule.after.mark)),
            self.open.eq(opened),
        ]
        with m.If(self.moves):
            m.d.sync += inside.eq(~beat.last)
        with m.If(self.moves & beat.last):
            m.d.sync += late.eq(0)
        with m.Elif(decision.late_now):
            m.d.sync += late.eq(1)
        for k in range(params.queues):
            with m.If(self.expires_now & (self.expired == k)):
                m.d.sync += opened[k].eq(0)
            with m.If(beat_valid & (beat.queue == k)):
                m.d.comb += self.decided[k].eq(1)
                with m.If(self.moves):
                    m.d.sync += opened[k].eq(~decision.closes)
                with m.Elif(decision.displaces):
                    m.d.sync += opened[k].eq(0)
            m.d.comb += self.read[k].eq(self.valid & (self.arrival.queue == k))
        self.entries(m, beat.queue)
        expect(
            m,
            self,
            queue_exists=lambda: ~self.valid | (self.arrival.queue < params.queues),
            beats_follow_each_other=lambda: self.beats_follow_each_other(m),
        )
        with m.If(self.advance):
            m.d.sync += beat_valid.eq(self.valid)
        with m.Elif(decision.expires_here | decision.displaces):
            m.d.sync += was_open.eq(0)
        self.follow(m, beat, state, was_open, fits, demand, opened, present, rule, decision.closes)

    def follow(
        self, m: Module, beat, state, was_open, fits, demand, opened, present, rule, closes
    ) -> None:
        """Read the state of the next beat's queue, with the changes of this cycle."""
        params, arrival = self.params, self.arrival
        m.submodules.states = states = Memory(
            shape=params.state, depth=params.queues, init=[], attrs={"ram_style": "distributed"}
        )
        write, own = states.write_port(), states.read_port(domain="comb")
        other = states.read_port(domain="comb")
        loads = Signal()
        same = Signal()
        expired = Signal()  # the next beat's queue is ``expired``
        result = Signal(params.state)
        m.d.comb += [
            write.addr.eq(beat.queue),
            write.data.eq(rule.after),
            write.en.eq(self.moves),
            own.addr.eq(arrival.queue),
            other.addr.eq(self.expired),
            self.expired_now.eq(other.data.mark),
            loads.eq(self.advance & self.valid),
            same.eq(self.moves & (beat.queue == arrival.queue)),
            expired.eq(self.expired == arrival.queue),
            result.eq(Mux(same, rule.after, own.data)),
        ]
        left = Array(opened)[arrival.queue]
        left &= ~(self.expires_now & expired)
        # Both are compared before it is known whether the beat ahead has the same queue.
        compared = ("length", *params.label)
        like_beat, like_own = (
            Cat(of[name] == arrival[name] for name in compared).all()
            for of in (beat, own.data.mark)
        )
        # The constant bytes of a PR are added last, so that each sum adds only registers.
        size = Mux(arrival.error, 0, arrival.length) if params.payload else Const(0)
        lines = (size + (PR_BYTES + LINE_BYTES - 1)) >> 7
        most = Const(params.room - PR_BYTES) - size - arrival.bytes
        with m.If(self.follows):
            queue = Mux(loads, self.oldest == arrival.queue, self.oldest == beat.queue)
            m.d.sync += present.eq(queue)
        with m.Elif(loads):
            m.d.sync += present.eq(expired)
        with m.If(loads):
            m.d.sync += beat.queue.eq(arrival.queue)
        # Without ``valid`` the rest is not used; ``loads`` would drive more than it can.
        with m.If(self.advance):
            m.d.sync += [
                *(beat[name].eq(arrival[name]) for name in beat.shape().members if name != "queue"),
                state.eq(result),
                was_open.eq(Mux(same, ~closes, left)),
                fits.eq(Mux(same, like_beat, like_own) & ~arrival.alone),
                demand.lines.eq(low_bits(Mux(arrival.first, lines, 0), len(demand.lines))),
                demand.most.eq(low_bits(most, len(demand.most))),
            ]

    def covers(self, free: Value, needed: Value) -> Value:
        """Return whether ``free`` lines are at least ``needed``, looked up if they are few."""
        if len(free) + len(needed) > 6:
            return free >= needed
        return looked_up(int.__ge__, free, needed)

    def entries(self, m: Module, queue) -> None:
        """Store the EQ's entry of every packet."""
        m.submodules.entries = entries = Memory(
            shape=self.params.entry_bits,
            depth=self.params.queues,
            init=[],
            attrs={"ram_style": "distributed"},
        )
        write, read = entries.write_port(), entries.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(queue),
            write.data.eq(self.entry),
            write.en.eq(self.opens),
            read.addr.eq(self.oldest),
            self.oldest_entry.eq(read.data),
            self.oldest_open.eq(Array(self.open)[self.oldest]),
        ]

    def beats_follow_each_other(self, m: Module) -> Value:
        """Return whether a PR's beats come without others between them."""
        arrival, goes_on = self.arrival, Signal()
        queue = Signal.like(arrival.queue)
        with m.If(self.valid & self.advance):
            m.d.sync += [goes_on.eq(~arrival.last), queue.eq(arrival.queue)]
        follows = ~arrival.first & (arrival.queue == queue)
        return ~self.valid | Mux(goes_on, follows, arrival.first)
