"""Reads and writes host memory over one stream of requests (RQ)."""

from dataclasses import field

from amaranth.hdl import Module
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params
from hdl.pcie.axis import PcieStreamSignature, rc_user, rq_user
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_pace import SHARE_BITS
from hdl.pcie.read_requester import EVENTS, ReadRequester
from hdl.pcie.request_merger import RequestMerger
from hdl.pcie.write_fence import NUMBERS
from hdl.pcie.write_params import WriteRequesterParams
from hdl.pcie.write_requester import WriteRequester

#: Describes the limits that the host has set: the largest read and payload, 128 bytes << code.
LIMITS = data.StructLayout({"read": 3, "payload": 2})


class RequesterParams(Params, suffix="{reads.suffix}_{writes.suffix}"):
    """Sets the sizes of the reader and the writer, which have the same width."""

    reads: ReadRequesterParams = field(default_factory=ReadRequesterParams)
    writes: WriteRequesterParams = field(default_factory=WriteRequesterParams)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reads.data_bits != self.writes.data_bits:
            raise ValueError(
                f"data_bits must be the same for reads and writes: {self.reads.data_bits},"
                f" {self.writes.data_bits}"
            )


class Requester(Component):
    """Connects a :class:`ReadRequester` and a :class:`WriteRequester`, which share RQ.

    The reader has the ports ``requests``, ``beats``, ``tick``, ``share``, ``forget``, ``owes`` and
    ``events``. The writer has ``writes`` (its requests), ``data``, ``sent``, ``begun``,
    ``numbers``, ``visible``, ``clear_writes``, ``writes_owe`` and ``writes_lost``. ``stop`` stops
    both, and ``idle`` says that both are idle and nothing waits for ``rq``. A
    :class:`RequestMerger`, which checks ``credits``, arbitrates packets to ``rq``. A read that is
    requested after the ``sent`` of a write returns what was written.

    Latency: :attr:`request_latency` from a request to RQ, :attr:`write_latency` from a write of one
    beat, if ``rq`` is free; :attr:`latency` from a read's last completion to its data.
    """

    def __init__(self, params: RequesterParams) -> None:
        bits = params.reads.data_bits
        reads, writes = ReadRequester(params.reads), WriteRequester(params.writes)
        self.latency = reads.latency
        self.request_latency = reads.request_latency + RequestMerger.latency
        self.write_latency = writes.latency + RequestMerger.latency
        super().__init__(
            params,
            requests=In(stream.Signature(params.reads.cutter.request)),
            beats=Out(stream.Signature(params.reads.beat)),
            writes=In(stream.Signature(params.writes.cutter.request)),
            data=In(stream.Signature(bits)),
            sent=Out(params.writes.sent),
            begun=Out(1),
            numbers=In(NUMBERS),
            visible=Out(params.writes.fence.reported),
            clear_writes=In(1),
            writes_owe=Out(1),
            writes_lost=Out(1),
            limits=In(LIMITS),
            credits=In(4),
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
        m.submodules.reader = reader = ReadRequester(params.reads)
        m.submodules.writer = writer = WriteRequester(params.writes)
        m.submodules.merger = merger = RequestMerger.sized(data_bits=params.reads.data_bits)
        connect(m, flipped(self.requests), reader.requests)
        connect(m, reader.beats, flipped(self.beats))
        connect(m, flipped(self.rc), reader.rc)
        connect(m, flipped(self.writes), writer.requests)
        connect(m, flipped(self.data), writer.data)
        connect(m, reader.rq, merger.reads)
        connect(m, writer.rq, merger.writes)
        connect(m, merger.rq, flipped(self.rq))
        m.d.comb += [
            reader.limit.eq(self.limits.read),
            reader.share.eq(self.share),
            reader.tick.eq(self.tick),
            reader.stop.eq(self.stop),
            reader.forget.eq(self.forget),
            writer.stop.eq(self.stop),
            self.writes_lost.eq(writer.lost),
            self.owes.eq(reader.owes),
            self.events.eq(reader.events),
            writer.limit.eq(self.limits.payload),
            self.sent.eq(writer.sent),
            writer.numbers.eq(self.numbers),
            self.begun.eq(writer.begun),
            self.visible.eq(writer.visible),
            writer.clear.eq(self.clear_writes),
            self.writes_owe.eq(writer.owes),
            merger.credits.eq(self.credits),
        ]
        leaves = self.rq.tvalid | reader.rq.tvalid | writer.rq.tvalid
        m.d.sync += self.idle.eq(reader.idle & writer.idle & ~leaves)
