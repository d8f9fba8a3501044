"""Merges reads and writes into the one stream of requests that the block takes."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.params import Params, choice
from hdl.common.stream_arbiter import StreamArbiter
from hdl.pcie.axis import DATA_BITS, PcieStreamSignature, rq_user

READS, WRITES = range(2)  #: inputs of the arbiter
CREDITS_LATE = 2  #: cycles after which ``credits`` counts a read (PG213, see below)


class RequestMergerParams(Params, suffix="{data_bits}"):
    """Sets the width of the streams."""

    data_bits: int = choice(*DATA_BITS, default=512)  #: width of a beat


class RequestMerger(Component):
    """Arbitrates whole packets of ``reads`` and ``writes`` to ``rq``, in round-robin order.

    The block holds back a read for which the host has no flow-control credit, and everything behind
    it. So a read is sent only if it surely has a credit: ``credits`` is ``pcie_tfc_nph_av``, the
    number of non-posted requests that the host can take, at most 15. It counts a read two cycles
    after the block has taken it (PG213, "Avoiding Head-of-Line Blocking for Posted Requests"), so
    reads of the last cycles are counted here. Writes pass a read that waits for credit.

    Throughput: a beat a cycle. Latency: :attr:`latency`. A packet on ``reads`` or ``writes`` must
    come without a gap, and leaves without one.
    """

    latency = StreamArbiter.latency

    def __init__(self, params: RequestMergerParams) -> None:
        stream = PcieStreamSignature(data_bits=params.data_bits, user=rq_user(params.data_bits))
        super().__init__(
            params,
            reads=In(stream),
            writes=In(stream),
            credits=In(4),
            rq=Out(stream),
        )

    def build(self, m: Module) -> None:
        beat = Cat(self.rq.tlast, self.rq.tkeep, self.rq.tuser, self.rq.tdata)
        m.submodules.arbiter = arbiter = StreamArbiter.sized(
            shape=len(beat), count=2, last_bit=0, holds=True
        )
        for k, i in ((READS, self.reads), (WRITES, self.writes)):
            m.d.comb += [
                arbiter.i[k].payload.eq(Cat(i.tlast, i.tkeep, i.tuser, i.tdata)),
                arbiter.i[k].valid.eq(i.tvalid),
                i.tready.eq(arbiter.i[k].ready),
            ]
        taken = Signal()  # a read has left
        under_way = Signal(3)  # reads that ``credits`` does not count yet
        m.d.comb += [
            beat.eq(arbiter.o.payload.payload),
            self.rq.tvalid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(self.rq.tready),
            taken.eq(arbiter.o.valid & arbiter.o.ready & (arbiter.o.payload.index == READS)),
            arbiter.hold[READS].eq(~less(under_way, self.credits)),
        ]
        begins = self.reads.tvalid & self.reads.tready
        counted = delay(m, taken, CREDITS_LATE - 1, "taken", reset_less=False)
        m.d.sync += under_way.eq((under_way + begins - counted)[: len(under_way)])


def less(value: Value, limit: Value) -> Value:
    """Return whether ``value`` is less than ``limit``, bit by bit, without a carry chain."""
    result = Const(0)
    for k in range(len(limit)):
        bit = value[k] if k < len(value) else Const(0)
        result = (limit[k] & ~bit) | (result & (limit[k] | ~bit))
    return result
