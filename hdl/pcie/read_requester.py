"""Reads host memory through AMD's block for PCI Express, with many reads under way."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo, FifoParams
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

#: What is told, for a cycle each, of completions and reads, to be counted. ``stranger``: a
#: completion of no read came. ``failed``: a read has had its first error. ``abandoned``: a read
#: was given up here, because nothing came or it was stopped.
EVENTS = data.StructLayout({"sent": 1, "stranger": 1, "failed": 1, "abandoned": 1})


class ReadRequester(Component):
    """``beats`` are the data of ``requests``; many are under way at a time.

    A request is of 1 to 4,096 bytes from a dword on. It is cut where an address is a multiple of
    the largest read (``limit``: ``cfg_max_read_req``, at most ``params.max_read``), and each piece
    begins a beat, so the last beat of a piece may be short: ``beats.bytes``. Tags are managed here
    (AXISTEN_IF_ENABLE_CLIENT_TAG); more than 32 need extended tags. ``rc`` straddles up to four
    completions in 512 bits, two in 256.

    Data comes in the order of requests, and ``beats.last`` ends a request. Without
    ``params.in_order`` each read is handed on as it completes, in whatever order, so that none
    waits for another: its beats are in a row, the last with ``beats.last``, and ``beats.place``
    says where in its request they belong. A request that was cut has several such reads, and has
    ended when all its bytes have come.

    A read that fails has all its beats too, whose ``beats.cause`` says why, and their data is of no
    use. In the order of requests so have those that follow of its request; other requests never
    notice. The tag of a read is given again when the block has said that its last completion was
    this one, and, if the block has given the read up, a time-out later. A read for which nothing
    comes, nor the block's word, is given up when two ticks have passed: ``tick`` is to come more
    rarely than the block gives up, 50 ms or as the host has set. Its tag stays taken until the
    block's word or a reset.

    ``share`` keeps reads to so many 256ths of what the data bus of ``rc`` could carry, data alone
    (:class:`hdl.pcie.read_pace.ReadPace`); 0: to all of it.

    ``stop`` sends nothing more and gives all up that is under way; what was sent is still awaited.
    Hold it until ``idle``, and everything begins anew as soon as it is low, with the tags that are
    free. Requests that have not been sent go then; with ``forget``, beside ``stop``, those that
    were taken are forgotten, and the beats of one that was sent in part have no last one. ``owes``:
    the block has completions to come.

    Throughput: a read, a completion and a beat a cycle. Two completions of which the one ends and
    the other begins in a beat of ``rc`` take a cycle each if their data is for the same lanes and
    their tags are both even or both odd; those of reads in a row never are.
    Latency: :attr:`request_latency` from a request to RQ, :attr:`latency` from a read's last
    completion on ``rc`` to its first beat. Stalls: ``rc`` never waits for ``beats``. After a reset
    no read is sent for as many cycles as there are tags.
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
            {
                "requests": In(stream.Signature(params.cutter.request)),
                "beats": Out(stream.Signature(params.beat)),
                "limit": In(3),
                "share": In(SHARE_BITS),
                "tick": In(1),
                "stop": In(1),
                "forget": In(1),
                "idle": Out(1),
                "owes": Out(1),
                "events": Out(EVENTS),
                "rq": Out(PcieStreamSignature(data_bits=bits, user=rq_user(bits))),
                "rc": In(PcieStreamSignature(data_bits=bits, user=rc_user(bits))),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
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
        m.submodules.free = free = Fifo(
            FifoParams(width=params.tag_bits, depth=params.tags, style="distributed", refuses=False)
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
            pace.goes.eq(sender.given.valid),
            pace.bytes.eq(cutter.pieces.payload.bytes),
            sender.hold.eq(self.stop | ~judge.ready | ~pace.may_go),
            sender.epoch.eq(epoch),
            free.i.payload.eq(tags.freed.tag),
            free.i.valid.eq(tags.freed.valid),
            judge.given.eq(sender.given),
            judge.read.eq(cutter.pieces.payload),
            placer.open.eq(tags.open),
            buffer.placed.eq(placer.placed),
            buffer.at.eq(back.at),
            tags.tick.eq(self.tick),
            tags.given.eq(sender.given),
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
            self.events.sent.eq(sender.given.valid),
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
        return m
