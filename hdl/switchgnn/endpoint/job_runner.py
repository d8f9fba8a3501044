"""Contains the hardware of a worker's job: turns, sending, receiving."""

from amaranth.hdl import Array, Module
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import AXIS
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import forward
from hdl.switchgnn.endpoint.bundles import LOOKUP, SLOT_BITS
from hdl.switchgnn.endpoint.done_timer import DoneTimer
from hdl.switchgnn.endpoint.fetcher import Fetcher
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.progress import Progress
from hdl.switchgnn.endpoint.receiver import RECEIVER_EVENTS, Receiver
from hdl.switchgnn.endpoint.sender import SENDER_EVENTS, Sender
from hdl.switchgnn.endpoint.source_lookup import SourceLookup
from hdl.switchgnn.endpoint.table_reader import TableReader
from hdl.switchgnn.endpoint.turn_contexts import TurnContexts
from hdl.switchgnn.endpoint.turn_loader import TurnLoader

ANSWERS = 16  #: most RAWFETCHes that wait for their answers

#: Describes the events of a cycle.
JOB_EVENTS = data.StructLayout(
    {
        "sender": SENDER_EVENTS,
        "receiver": RECEIVER_EVENTS,
        "foreign": 1,  # a RAWFETCH came for a vertex that the worker does not send
        "turn": 1,  # a turn is over
        "unready": 1,  # the next turn's features are not in memory
        "unloaded": 1,  # the oldest open turn's tables are not loaded
    }
)


class JobRunner(Component):
    """Runs a job from the end of its reset to ``finished``, when all turns of it are over.

    Its buses ``table_*``, ``payload_*`` and ``sum_*`` belong to the ports of a
    :class:`hdl.switchgnn.endpoint.memory_ports.MemoryPorts`. While ``stop`` is high nothing new
    begins, but the frame that is leaving goes on (``inside``). ``illegal_program`` and
    ``illegal_list``: a record in memory is not legal. ``lo`` is the oldest open turn, and
    ``sending`` the turn that is sent.
    """

    def __init__(self, params: EndpointParams) -> None:
        receiver, reader = Receiver(params).signature.members, TableReader(params).signature.members
        super().__init__(
            params,
            settings=In(params.settings),
            stop=In(1),
            m_axis=Out(AXIS),
            s_axis=In(AXIS),
            table_bursts=reader["bursts"],
            table_provided=reader["provided"],
            payload_bursts=Out(stream.Signature(params.payload_port.burst)),
            payload_provided=In(params.payload_port_beat),
            sum_bursts=receiver["bursts"],
            sum_beats=receiver["beats"],
            sum_answered=In(1),
            sum_answered_slot=In(SLOT_BITS),
            inside=Out(1),
            finished=Out(1),
            illegal_program=Out(1),
            illegal_list=Out(1),
            lo=Out(32),
            sending=Out(32),
            rate=Out(17),
            events=Out(JOB_EVENTS),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.sender = sender = Sender(params)
        m.submodules.receiver = receiver = Receiver(params)
        m.submodules.progress = progress = Progress(params)
        m.submodules.contexts = contexts = TurnContexts(params)
        m.submodules.loader = loader = TurnLoader(params)
        m.submodules.done = done = DoneTimer(params)
        m.submodules.fetcher = fetcher = Fetcher(params)
        m.submodules.lookup = lookup = SourceLookup(params)
        m.submodules.tables = tables = TableReader(params)
        self.read_tables(m, tables, loader, sender, lookup)
        self.follow_turns(m, progress, loader, sender, receiver)
        self.issue(m, progress, receiver, done, fetcher)
        self.look_up(m, fetcher, receiver, lookup)
        self.send(m, sender, receiver, fetcher, done, lookup)
        self.receive(m, receiver)
        turns = (progress.beginning, receiver.slot, lookup.slot)
        readers = (sender, receiver, lookup)
        for k, (turn, reader) in enumerate(zip(turns, readers, strict=True)):
            m.d.comb += [
                contexts.slots[k].eq(turn[:SLOT_BITS]),
                reader.context.eq(contexts.contexts[k]),
            ]
        m.d.comb += [
            contexts.write.eq(loader.write),
            contexts.slot.eq(loader.slot),
            contexts.context.eq(loader.context),
            self.finished.eq(progress.finished),
            self.illegal_program.eq(loader.illegal),
            self.illegal_list.eq(sender.illegal),
            self.lo.eq(progress.lo),
            self.sending.eq(sender.sending),
            self.rate.eq(sender.rate),
            self.events.sender.eq(sender.events),
            self.events.receiver.eq(receiver.events),
            self.events.foreign.eq(lookup.foreign),
            self.events.turn.eq(receiver.advance),
            self.events.unready.eq(progress.waits),
            self.events.unloaded.eq(~progress.is_loaded[0] & ~progress.finished),
        ]

    def read_tables(self, m: Module, tables, loader, sender, lookup) -> None:
        """Connect the clients that read tables to the reader."""
        connect(m, tables.bursts, flipped(self.table_bursts))
        m.d.comb += tables.provided.eq(self.table_provided)
        for k, client in enumerate((loader, sender, lookup)):
            connect(m, client.request, tables.requests[k])
            m.d.comb += client.beat.eq(tables.beats[k])

    def follow_turns(self, m: Module, progress, loader, sender, receiver) -> None:
        """Connect the parts that begin, load and end turns."""
        settings = self.settings
        connect(m, loader.words, receiver.words)
        m.d.comb += [
            progress.turns.eq(settings.turns),
            progress.ready.eq(settings.ready_turns),
            progress.two_open.eq(settings.two_open),
            progress.free.eq(sender.free & ~self.stop),
            progress.loaded.eq(loader.loaded),
            progress.advance.eq(receiver.advance),
            loader.load.eq(progress.load & ~self.stop),
            loader.turn.eq(progress.loading),
            loader.program.eq(settings.program),
            receiver.set.eq(loader.loaded),
            receiver.set_slot.eq(loader.slot),
            receiver.set_missing.eq(loader.missing),
            receiver.lo.eq(progress.lo),
            receiver.next.eq(progress.next),
            receiver.sending.eq(sender.sending),
            receiver.turns.lo.eq(progress.lo[:SLOT_BITS]),
            receiver.turns.sending.eq(sender.sending[:SLOT_BITS]),
            receiver.turns.is_open.eq(progress.is_open),
            receiver.turns.is_loaded.eq(progress.is_loaded),
            receiver.turns.has_begun.eq(progress.has_begun),
            sender.begin.eq(progress.begin),
            sender.turn.eq(progress.beginning),
            sender.end.eq(progress.end),
        ]

    def issue(self, m: Module, progress, receiver, done, fetcher) -> None:
        """Connect the parts that send DONE of turn ``lo``, or fetch its missing items."""
        settings = self.settings
        slot = progress.lo[:SLOT_BITS]
        nothing = Array(receiver.empty)[slot]
        connect(m, fetcher.scan, receiver.scan)
        m.d.comb += [
            done.turn.eq(progress.lo),
            done.complete.eq(
                progress.is_loaded[0] & Array(receiver.complete)[slot] & ~progress.finished
            ),
            done.over.eq(receiver.advance),
            done.timeout.eq(settings.done_timeout),
            receiver.turns.may_advance.eq(done.said),
            fetcher.turn.eq(progress.lo),
            fetcher.misses.eq(progress.is_loaded[0] & ~nothing),
            fetcher.news.eq(receiver.news & (receiver.news_slot == slot)),
            fetcher.over.eq(receiver.advance),
            fetcher.timeout.eq(settings.fetch_timeout),
            fetcher.gap.eq(settings.fetch_gap),
            fetcher.word.eq(receiver.word),
        ]

    def look_up(self, m: Module, fetcher, receiver, lookup) -> None:
        """Connect the lookup of sources that other workers request, or that this worker misses."""
        m.submodules.answers = answers = Fifo.sized(shape=LOOKUP, depth=ANSWERS)
        m.submodules.lookups = lookups = StreamArbiter.sized(shape=LOOKUP, count=2)
        connect(m, answers.o, lookups.i[0])
        connect(m, receiver.lookups, answers.i)
        connect(m, fetcher.lookups, lookups.i[1])
        m.d.comb += [
            *forward(lookups.o, lookup.lookups),
            lookup.lookups.payload.eq(lookups.o.payload.payload),
        ]

    def send(self, m: Module, sender, receiver, fetcher, done, lookup) -> None:
        """Connect the sender: frames of lists, requests and answers."""
        connect(m, sender.axis, flipped(self.m_axis))
        connect(m, sender.bursts, flipped(self.payload_bursts))
        for job, give in zip(sender.others, (fetcher.jobs, done.jobs, lookup.jobs), strict=True):
            connect(m, give, job)
        m.d.comb += [
            sender.settings.eq(self.settings),
            sender.ack.eq(receiver.ack),
            sender.congested.eq(receiver.congested),
            sender.provided.eq(self.payload_provided),
            sender.stop.eq(self.stop),
            self.inside.eq(sender.inside),
        ]

    def receive(self, m: Module, receiver) -> None:
        """Connect the receiver, and its writes to memory."""
        connect(m, flipped(self.s_axis), receiver.axis)
        connect(m, receiver.bursts, flipped(self.sum_bursts))
        connect(m, receiver.beats, flipped(self.sum_beats))
        m.d.comb += [
            receiver.settings.eq(self.settings),
            receiver.stop.eq(self.stop),
            receiver.answered.eq(self.sum_answered),
            receiver.answered_slot.eq(self.sum_answered_slot),
        ]
