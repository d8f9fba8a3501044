"""Concatenates PRs with the same destination into packets."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for, ceil_log2

from hdl.common.arithmetic import delay, looked_up, low_bits
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.common.streams import StreamRegister
from hdl.netsparse.concat.arrivals import Arrivals
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.destination_cam import DestinationCam
from hdl.netsparse.concat.exhaustion import Exhaustion
from hdl.netsparse.concat.expiration_queue import ExpirationQueue
from hdl.netsparse.concat.flush_engine import FlushEngine
from hdl.netsparse.concat.line_memory import LineMemory
from hdl.netsparse.concat.line_pool import LinePool
from hdl.netsparse.concat.line_writer import LineWriter
from hdl.netsparse.concat.mark_order import MarkOrder
from hdl.netsparse.concat.packet_header import PacketHeader
from hdl.netsparse.concat.queue_table import QueueTable


class Concatenator(Component):
    """Concatenates PRs of one class into packets (NetSparse, section 6.1; with ``pool`` 7.2).

    PRs of the same destination and length wait in the destination's queue until their packet is
    marked: because no other PR fits the MTU, because a PR of another length comes, or because the
    first PR's time has expired. An error leaves in a packet of its own and does not wait. The beats
    of a PR are consecutive and have a destination below ``nodes``; a property has an even number of
    bytes. Packets leave in the order of their marks, as a header beat and PRs without gaps.

    Without ``concatenate`` only PRs of a group share a packet. With ``params.groups`` beats mark
    groups: a PR that ``starts`` a group joins no packet, and its packet is marked with the PR that
    ``ends`` the group. Otherwise each PR is a group of its own: it leaves in a packet of its own
    and does not wait. Between PRs of a group there may be other PRs, if they have another
    destination or are whole groups.

    With ``params.label_bits`` a PR has a ``label``, the same in all of its beats. Its packet has
    the same label, which comes with each beat at ``axis``; PRs with different labels share no
    packet, like PRs of different lengths.

    Full form: a queue for every destination. Its lines come from one pool that holds an MTU for
    each queue and one more, so a queue accepts PRs while its previous packet is emitted. Virtual
    form: ``pool`` lines and ``destinations`` queues, independent of the number of nodes; when fewer
    than a reserve of either are left, the oldest packet is marked.

    Waiting: a packet is marked at most DelayCycles + :attr:`lateness` cycles after its first PR
    ``entered`` its queue, and never within a PR, so the last PR may enter later. ``flush`` says
    that no PR will come that could be added: in every cycle the oldest open packet is then marked,
    so that waiting packets leave at once. ``entered`` comes :attr:`entry_latency` cycles after the
    PR's last beat was taken at ``prs``, and later only while the input stalls: for lines or packets
    that have not left yet, and a cycle for a packet that is displaced or for two marks at once.

    With ``params.credits`` the events report for every PR, :attr:`credit_latency` cycles after it
    ``entered``, by how many beats of 64 bytes its packet ``grows``: by the header's beat if the PR
    opens the packet, and by the beats that its own bytes begin. Four reads make a packet 82, 100,
    118 and 136 bytes long: it grows by 2, 0, 0 and 1. For every packet the sum is the number of its
    beats, so when ``empty`` the sum over all PRs is the number of beats that have left; no PR adds
    more beats than it would need alone.

    Throughput: one PR and 64 bytes of packets a cycle. Latency: :attr:`latency` from a PR of one
    beat in a packet of its own to the packet's header. ``empty``: no PR is inside.
    """

    entry_latency = 1 + Arrivals.latency + QueueTable.latency
    credit_latency = 3

    def __init__(self, params: ConcatenatorParams) -> None:
        self.lateness = ExpirationQueue(params).lateness + 1  # one cycle more, after another mark
        marks = MarkOrder(params).latency
        self.latency = self.entry_latency + marks + PacketHeader.latency + FlushEngine.latency
        super().__init__(
            params,
            prs=In(stream.Signature(params.pr)),
            settings=In(params.settings),
            flush=In(1),
            axis=Out(AXIS),
            **{name: Out(bits) for name, bits in params.label.items()},
            events=Out(params.events),
            empty=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        register = StreamRegister.sized(shape=params.pr)
        m.submodules.input = register
        self.short = Signal()  # queues or lines run short, in the virtual form
        m.submodules.arrivals = arrivals = Arrivals(params)
        m.submodules.queues = queues = QueueTable(params)
        m.submodules.pool = pool = LinePool(params)
        m.submodules.marks = marks = MarkOrder(params)
        m.submodules.header = header = PacketHeader(params)
        m.submodules.flush = flush = FlushEngine(params)
        self.input(m, register, arrivals, queues)
        expiration = self.expiration(m, queues)
        self.storage(m, queues, pool, flush)
        if params.credits:
            self.credits(m, queues)
        if params.virtual:
            self.exhaustion(m, queues, marks, expiration)
        packets = Signal(bits_for(params.packets))
        admits = Signal(init=1)
        with m.If(queues.opens & ~flush.packet):
            m.d.sync += [packets.eq(packets + 1), admits.eq(packets != params.packets - 1)]
        with m.If(flush.packet & ~queues.opens):
            m.d.sync += [packets.eq(packets - 1), admits.eq(1)]
        connect(m, marks.marks, header.marks)
        connect(m, header.packets, flush.packets)
        connect(m, flush.axis, flipped(self.axis))
        m.d.comb += [
            queues.admits.eq(admits),
            queues.waits.eq(marks.waits),
            marks.expires.eq(queues.expires_now),
            marks.expired.eq(queues.expired_now),
            marks.arrives.eq(queues.closes),
            marks.arrived.eq(queues.closed),
            header.settings.eq(self.settings),
            *(getattr(self, name).eq(getattr(flush, name)) for name in params.label),
            self.events.packet.eq(flush.packet),
            self.events.bytes.eq(flush.bytes),
            self.events.prs.eq(flush.prs),
            self.events.stall.eq(self.prs.valid & ~self.prs.ready),
            self.events.entered.eq(queues.moves & queues.beat.last),
            self.events.marked.eq(marks.enters),
            self.empty.eq(
                ~register.o.valid & ~arrivals.valid & ~queues.decided.any() & (packets == 0)
            ),
        ]

    def input(self, m: Module, register, arrivals: Arrivals, queues: QueueTable) -> None:
        """Connect ``prs`` to the queues, through :class:`Arrivals`."""
        connect(m, flipped(self.prs), register.i)
        connect(m, register.o, arrivals.prs)
        m.d.comb += [
            arrivals.concatenate.eq(self.settings.concatenate),
            queues.valid.eq(arrivals.valid),
            queues.arrival.eq(arrivals.arrival),
            # This is ``queues.advance``, whose own loads are as many.
            arrivals.advance.eq(~queues.holds | queues.moves),
            arrivals.holds.eq(queues.holds),
            arrivals.moves.eq(queues.moves),
        ]
        if not self.params.virtual:
            queue = arrivals.dest
            if self.params.payload:
                queue = Mux(arrivals.error, self.params.nodes, queue)
            m.d.comb += [arrivals.chosen.eq(queue), arrivals.result.eq(1)]
            return
        m.submodules.cam = cam = DestinationCam(self.params)
        m.d.comb += [
            cam.dest.eq(arrivals.dest),
            cam.error.eq(arrivals.error),
            cam.takes.eq(arrivals.takes),
            cam.open.eq(queues.open),
            cam.read.eq(queues.read),
            cam.decided.eq(queues.decided),
            arrivals.chosen.eq(cam.chosen),
            arrivals.result.eq(cam.result),
        ]

    def expiration(self, m: Module, queues: QueueTable) -> ExpirationQueue:
        """Add the EQ, in which queues enter and expire."""
        m.submodules.expiration = expiration = ExpirationQueue(self.params)
        m.d.comb += [
            expiration.delay.eq(self.settings.delay),
            expiration.force.eq(Cat(self.flush, self.short)),
            expiration.opens.eq(queues.opens),
            expiration.entering.eq(queues.beat.queue),
            expiration.open.eq(queues.oldest_open),
            expiration.entered.eq(queues.oldest_entry),
            expiration.closes.eq(queues.closes),
            expiration.closed.eq(queues.beat.queue),
            queues.entry.eq(expiration.entry),
            queues.ready.eq(expiration.ready),
            queues.oldest.eq(expiration.oldest),
            queues.follows.eq(expiration.follows),
            queues.expires.eq(expiration.expires),
            queues.expired.eq(expiration.expired),
        ]
        return expiration

    def storage(self, m: Module, queues: QueueTable, pool: LinePool, flush: FlushEngine) -> None:
        """Add the lines, which queues take and write, and the flush engine reads and returns."""
        m.submodules.writer = writer = LineWriter(self.params)
        m.submodules.line_memory = lines = LineMemory(self.params)
        m.d.comb += [
            queues.free.eq(pool.free),
            queues.free_line.eq(pool.line),
            pool.takes.eq(queues.takes),
            pool.links.eq(queues.links),
            pool.behind.eq(queues.line),
            pool.returns.eq(flush.returns),
            pool.returned.eq(flush.line),
            pool.step.eq(flush.step),
            pool.leader.eq(flush.line),
            flush.follower.eq(pool.follower),
            writer.valid.eq(queues.moves),
            writer.arrival.eq(queues.beat),
            writer.offset.eq(queues.offset),
            writer.line.eq(queues.line),
            writer.behind.eq(pool.line),
            lines.write.eq(writer.write),
            lines.lines.eq(writer.lines),
            lines.pieces.eq(writer.pieces),
            lines.step.eq(flush.step),
            lines.line.eq(flush.line),
            flush.low.eq(lines.low),
            flush.high.eq(lines.high),
        ]

    def exhaustion(self, m: Module, queues: QueueTable, marks: MarkOrder, expiration) -> None:
        """Mark the oldest packet of the virtual form when queues or lines run short."""
        m.submodules.exhaustion = watch = Exhaustion(self.params)
        m.d.comb += [
            watch.opens.eq(queues.opens),
            watch.closes.eq(queues.closes),
            watch.expires_now.eq(queues.expires_now),
            watch.takes.eq(queues.takes),
            watch.enters.eq(marks.enters),
            watch.entering.eq(marks.entering),
            self.short.eq(watch.force),
            watch.forced.eq(expiration.expires),
        ]

    def credits(self, m: Module, queues: QueueTable) -> None:
        """Count the beats that each PR adds to its packet, from the bytes that its beats add."""
        beat, used = queues.beat, queues.offset[: ceil_log2(BEAT_BYTES)]
        start = Signal.like(used, reset_less=True)  # first byte in a beat of the packet
        added = Signal.like(beat.bytes, reset_less=True)
        end = Signal(len(added) + 1)
        header = Signal(reset_less=True)
        step = Signal(2, reset_less=True)  # number of beats
        grows = Signal.like(self.events.grows, reset_less=True)
        whole, part = end[len(start) :], end[: len(start)].any()  # beats that the bytes begin
        m.d.sync += [
            start.eq(used),
            added.eq(beat.bytes),
            header.eq(queues.opens),
            step.eq(
                looked_up(
                    lambda whole, part, begun, first: whole + part - begun + first,
                    *(whole, part, start.any(), header),
                    bits=len(step),
                )
            ),
        ]
        first = delay(m, beat.first, 2, "first")
        with m.If(delay(m, queues.moves, 2, "moves", reset_less=False)):
            m.d.sync += grows.eq(low_bits(Mux(first, 0, grows) + step, len(grows)))
        entered = delay(m, self.events.entered, self.credit_latency, "entered", reset_less=False)
        m.d.comb += [
            end.eq(start + added),
            self.events.credit.eq(entered),
            self.events.grows.eq(grows),
        ]
