"""Reads host memory through AMD's block for PCI Express, with many reads under way."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo
from hdl.common.local_reset import add_with_reset
from hdl.pcie.axis import PcieStreamSignature, rc_user, rq_user
from hdl.pcie.completion_judge import CompletionJudge
from hdl.pcie.completion_placer import CompletionPlacer
from hdl.pcie.completion_splitter import CompletionSplitter
from hdl.pcie.params import EPOCH, ReadRequesterParams
from hdl.pcie.read_buffer import ReadBuffer
from hdl.pcie.read_pace import SHARE_BITS, ReadPace
from hdl.pcie.read_return import ReadReturn
from hdl.pcie.read_sender import ReadSender
from hdl.pcie.request_cutter import RequestCutter
from hdl.pcie.tag_table import TagTable

#: Lists the events of reads to be counted; each is a pulse of one cycle. ``sent``: a read was sent.
#: ``stranger``: a completion came for no read under way. ``failed``: a read has had its first
#: error. ``abandoned``: a read was given up here, because it timed out or was stopped.
EVENTS = data.StructLayout({"sent": 1, "stranger": 1, "failed": 1, "abandoned": 1})


class ReadRequester(Component):
    """Reads host memory: ``beats`` are the data of ``requests``, of which many are under way.

    A request is for 1 to 4,096 bytes, and begins at a dword. It is cut into reads where an address
    is a multiple of the largest read (``limit``: ``cfg_max_read_req``, at most
    ``params.max_read``). Each read begins a beat, so its last beat may be short: ``beats.bytes``
    says how many bytes are valid. Tags are managed here (AXISTEN_IF_ENABLE_CLIENT_TAG); more than
    32 need extended tags. ``rc`` straddles up to four completions in 512 bits, two in 256.

    Data comes in the order of requests, and ``beats.last`` ends a request. Without
    ``params.in_order`` each read is handed on when it completes, so that none waits for another:
    its beats are consecutive, the last one has ``beats.last``, and ``beats.place`` says where in
    its request they belong. A request that was cut is complete when the bytes of all its reads have
    come.

    A read that fails has all its beats, too; ``beats.cause`` says why it failed, and their data is
    invalid. With ``params.in_order`` the later beats of the same request have the cause as well;
    other requests are not affected. The tag of a read is free again after the completion that the
    block marks as the last one; if the block reports a time-out of the read, a further time-out
    later. A read for which the block reports neither data nor an error is abandoned when two ticks
    have passed, so the period of ``tick`` must be longer than the block's completion time-out, 50
    ms or as the host has set. The tag of an abandoned read stays taken until the block reports the
    read's end, or a reset.

    ``share`` limits reads to so many 256ths of the data that ``rc`` could carry; 0 is no limit
    (:class:`hdl.pcie.read_pace.ReadPace`).

    While ``stop`` is high no read is sent and all that are under way are abandoned; their late
    completions are still accepted, and dropped. Hold it until ``idle``. When it falls, work goes on
    with the tags that are free, and with the requests that were taken but not sent. ``forget``,
    high together with ``stop``, drops these; a request that was sent in part then has no last beat.
    ``owes`` says that completions are still to come from the block.

    Throughput: a read, a completion and a beat a cycle. If one completion ends and another begins
    in a beat of ``rc``, they take a cycle each if their data is for the same lanes and both tags
    are even or both odd. Consecutive tags avoid that. Latency: :attr:`request_latency` from a
    request to RQ, :attr:`latency` from a read's last completion on ``rc`` to its first beat.
    Stalls: ``rc`` never waits for ``beats``. After a reset no read is sent for as many cycles as
    there are tags.
    """

    request_latency = RequestCutter.latency + ReadSender.latency

    def __init__(self, params: ReadRequesterParams) -> None:
        self.latency = (
            CompletionSplitter.latency
            + CompletionJudge.latency
            + CompletionPlacer.latency
            + ReadReturn(params).latency
        )
        bits = params.data_bits
        super().__init__(
            params,
            requests=In(stream.Signature(params.cutter.request)),
            beats=Out(stream.Signature(params.beat)),
            limit=In(3),
            share=In(SHARE_BITS),
            tick=In(1),
            stop=In(1),
            forget=In(1),
            idle=Out(1),
            owes=Out(1),
            events=Out(EVENTS),
            rq=Out(PcieStreamSignature(data_bits=bits, user=rq_user(bits))),
            rc=In(PcieStreamSignature(data_bits=bits, user=rc_user(bits))),
        )

    def build(self, m: Module) -> None:
        params = self.params
        cutter = RequestCutter(params.cutter)
        add_with_reset(m, "cutter", cutter, self.forget)
        m.submodules.sender = sender = ReadSender(params)
        m.submodules.pace = pace = ReadPace(params)
        m.submodules.splitter = splitter = CompletionSplitter(params)
        m.submodules.judge = judge = CompletionJudge(params)
        m.submodules.placer = placer = CompletionPlacer(params)
        m.submodules.buffer = buffer = ReadBuffer(params)
        m.submodules.tags = tags = TagTable(params)
        m.submodules.back = back = ReadReturn(params)
        m.submodules.free = free = Fifo.sized(
            shape=params.tag_bits, depth=params.tags, style="distributed", refuses=False
        )
        connect(m, flipped(self.requests), cutter.requests)
        connect(m, cutter.pieces, sender.pieces)
        connect(m, sender.rq, flipped(self.rq))
        connect(m, flipped(self.rc), splitter.rc)
        connect(m, splitter.steps, judge.steps)
        connect(m, judge.judged, placer.judged)
        connect(m, sender.order, back.order)
        connect(m, free.o, sender.tags)
        connect(m, back.beats, flipped(self.beats))
        epoch = Signal(EPOCH)
        m.d.sync += epoch.eq(epoch + self.tick)
        m.d.comb += [
            cutter.limit.eq(self.limit),
            pace.share.eq(self.share),
            pace.goes.eq(sender.provided.valid),
            pace.bytes.eq(cutter.pieces.payload.bytes),
            sender.hold.eq(Cat(self.stop, ~judge.ready, ~pace.may_go)),
            sender.forget.eq(self.forget),
            sender.epoch.eq(epoch),
            free.i.payload.eq(tags.freed.tag),
            free.i.valid.eq(tags.freed.valid),
            judge.provided.eq(sender.provided),
            judge.read.eq(cutter.pieces.payload),
            placer.open.eq(tags.open),
            buffer.placed.eq(placer.placed),
            buffer.at.eq(back.at),
            tags.tick.eq(self.tick),
            tags.provided.eq(sender.provided),
            tags.failed.valid.eq(placer.failure.valid),
            tags.failed.tag.eq(placer.failure.tag),
            tags.abandoned.eq(back.abandoned),
            tags.ends.eq(placer.ends),
            tags.left.eq(back.left),
            back.stop.eq(self.stop),
            back.forget.eq(self.forget),
            back.epoch.eq(epoch),
            back.ends.eq(placer.ends),
            back.done.eq(tags.done),
            back.open.eq(tags.open),
            back.failure.eq(placer.failure),
            back.data.eq(buffer.data),
        ]
        m.d.sync += [
            self.owes.eq(tags.taken.any()),
            self.idle.eq(~back.busy),
            self.events.sent.eq(sender.provided.valid),
            self.events.stranger.eq(judge.stranger),
            self.events.failed.eq(placer.failure.valid),
            self.events.abandoned.eq(back.abandoned.valid),
        ]
        expect(
            m,
            self,
            begins_at_a_dword=lambda: (
                ~self.requests.valid | ~self.requests.payload.address[:2].any()
            ),
        )
