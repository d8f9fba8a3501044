"""States what is proven of a concatenator's bookkeeping as a whole: lines, queues, EQ and marks."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib.wiring import In
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.netsparse.concat.concatenator_params import LINE_BYTES
from hdl.netsparse.concat.expiration_queue import ExpirationQueue
from hdl.netsparse.concat.line_pool import LinePool
from hdl.netsparse.concat.mark_order import MarkOrder
from hdl.netsparse.concat.queue_table import QueueTable
from tests.formal.claims import claim, granted, reach
from tests.hdl.netsparse.concat.expiration_proof import arrive, expire, inputs
from tests.hdl.netsparse.concat.line_pool_proof import SmallParams


class ConcatenatorProof(Component):
    """Has queues, EQ, lines and marks with free PRs and a free output.

    Marked packets leave when they like, and return their lines. PRs come in beats that follow each
    other. Claimed is: a line is in one packet; all lines return; a packet that is open is marked
    when its time has come, in the very cycle; no PR is split; no packet is empty or outgrows the
    MTU.
    """

    def __init__(self, params: SmallParams) -> None:
        super().__init__(params, inputs(params) | {"leaves": In(1)})

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.queues = queues = granted(QueueTable(params))
        m.submodules.expiration = expiration = granted(ExpirationQueue(params))
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

    def output(self, m: Module, marks: MarkOrder, pool: LinePool, queues: QueueTable) -> None:
        """Let a packet leave by its lines, one every other cycle or slower."""
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
        """Claim that every line is free or in one packet."""
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
        """Claim that every open packet expires in time, whole."""
        params, beat = self.params, queues.beat
        limit = params.most_delay + expiration.lateness + 1
        through = expiration.sizes.latency  # cycles, of the EQ; no time is shorter
        due = Mux(self.delay > through, self.delay, through)
        within = Signal()
        with m.If(queues.moves):
            m.d.sync += within.eq(~beat.last)
        for k in range(params.queues):
            age = Signal(range(limit + 2), name=f"age_{k}")
            with m.If(queues.opens & (beat.queue == k)):
                m.d.sync += age.eq(0)
            with m.Elif(age != limit + 1):
                m.d.sync += age.eq(age + 1)
            present = within & (beat.queue == k)
            with m.If(queues.open[k] & ~present):
                claim(m, "marked_in_time", age <= due)
            with m.If(queues.expires_now & (expiration.expired == k)):
                claim(m, "not_marked_early", age >= due)
                reach(m, f"queue_{k}_expires", 1) if k < params.nodes else None
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
