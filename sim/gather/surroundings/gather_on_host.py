"""Puts a gather's datapath on a simulated host, and asks for rows at random."""

from dataclasses import field

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from hdl.common.component import Component
from hdl.common.params import Params, tagged
from hdl.gather.engine_params import GatherEngineParams
from hdl.gather.params import GatherParams
from hdl.gather.row_poster import RowPoster
from hdl.pcie.descriptors import Cause
from hdl.pcie.request_merger import RequestMerger
from hdl.pcie.write_requester import WriteRequester
from sim.gather.surroundings.row_reader import RowReader
from sim.surroundings.pcie.host import PcieHost
from sim.surroundings.pcie.params import COUNTS, PcieHostParams

FACTOR, TERM = 1664525, 1013904223  #: linear congruential generator modulo 2**32 (Knuth, Lewis)

#: Counts since ``start``: rows that have come, their bytes, the sum of their dwords modulo 2**32,
#: rows that failed, and the cycles from the first row's end to the last one's.
FIGURES = data.StructLayout(dict.fromkeys(("rows", "bytes", "sum", "failed", "cycles"), 32))


class GatherOnHostParams(Params, suffix="{gather.suffix}_{host.suffix}"):
    """Sets the sizes of the datapath and of the host, which are of one width."""

    gather: GatherParams = field(default_factory=GatherParams)
    address_bits: int = 24  #: width of an address of host memory
    posts: bool = tagged("_posts", default=False)  #: whether rows go to host memory

    @property
    def host(self) -> PcieHostParams:
        """Return the sizes of the host."""
        return PcieHostParams(data_bits=self.gather.reads.data_bits, address_bits=self.address_bits)

    @property
    def engine(self) -> GatherEngineParams:
        """Return the sizes of an engine that posts such rows."""
        return GatherEngineParams(data_bits=self.gather.reads.data_bits, outputs="host")


class GatherOnHost(Component):
    """Reads ``count`` rows of ``table`` from host memory, back to back, and sums them up.

    From ``start`` on it offers an idx in every cycle: the upper ``idx_bits`` bits of random
    numbers, of which the first is ``first`` (:func:`idxs_of`). It is always ready for rows.
    ``done`` is 1 when the last one has come. With ``params.posts`` rows are written back to the
    host, joined, from the address ``to`` on, in packets of at most 128 << ``payload`` bytes; of
    these, the first is counted when it has been read, and the last when it is posted.
    """

    def __init__(self, params: GatherOnHostParams) -> None:
        super().__init__(
            params,
            table=In(params.gather.table),
            limit=In(3),
            settings=In(params.host.settings),
            start=In(1),
            count=In(32),
            first=In(32),
            idx_bits=In(6),
            to=In(64),
            payload=In(2),
            done=Out(1),
            figures=Out(FIGURES),
            counts=Out(COUNTS),
        )

    def build(self, m: Module) -> None:
        m.submodules.gather = gather = RowReader(self.params.gather)
        m.submodules.host = host = PcieHost(self.params.host)
        if self.params.posts:
            self.post(m, gather, host)
        else:
            connect(m, gather.rq, host.rq)
            m.d.comb += gather.rows.ready.eq(1)
        connect(m, host.rc, gather.rc)
        m.d.comb += [
            gather.table.eq(self.table),
            gather.limit.eq(self.limit),
            host.settings.eq(self.settings),
            self.counts.eq(host.counts),
        ]
        self.issue(m, gather)
        self.take(m, gather)

    def post(self, m: Module, gather: RowReader, host: PcieHost) -> None:
        """Write rows back to the host, whose RQ reads and writes share."""
        engine = self.params.engine
        m.submodules.poster = poster = RowPoster(engine)
        m.submodules.writer = writer = WriteRequester(engine.requester.writes)
        m.submodules.merger = merger = RequestMerger.sized(data_bits=engine.data_bits)
        connect(m, gather.rows, poster.rows)
        connect(m, poster.writes, writer.requests)
        connect(m, poster.data, writer.data)
        connect(m, gather.rq, merger.reads)
        connect(m, writer.rq, merger.writes)
        connect(m, merger.rq, host.rq)
        m.d.comb += [
            gather.joined.eq(1),
            merger.credits.eq(host.credits),
            writer.limit.eq(self.payload),
            writer.numbers.eq(host.numbers),
            poster.begin.eq(self.start),
            poster.address.eq(self.to),
            poster.size.eq((self.count * self.table.row_bytes)[: len(poster.size)]),
        ]

    def issue(self, m: Module, gather: RowReader) -> None:
        """Give an idx a cycle."""
        number, requested = Signal(32), Signal(32)
        idx = number >> (32 - self.idx_bits).as_unsigned()
        m.d.comb += [
            gather.idxs.valid.eq(~self.start & (requested != self.count)),
            gather.idxs.payload.idx.eq(idx[: self.params.gather.idx_bits]),
            gather.idxs.payload.final.eq(requested == self.count - 1),
        ]
        with m.If(self.start):
            m.d.sync += [number.eq(self.first), requested.eq(0)]
        with m.Elif(gather.idxs.valid & gather.idxs.ready):
            m.d.sync += [
                number.eq((number * Const(FACTOR, 32) + TERM)[:32]),
                requested.eq(requested + 1),
            ]

    def take(self, m: Module, gather: RowReader) -> None:
        """Take rows, and count."""
        rows, beat, figures = gather.rows, gather.rows.payload, self.figures
        moves, ended, came = rows.valid & rows.ready, Signal(), Signal()
        total = Const(0, 32)
        for k in range(self.params.gather.reads.lanes):
            dword = Mux(beat.bytes > 4 * k, beat.data.word_select(k, 32), 0)
            total = (total + dword)[:32]
        if self.params.posts:
            m.d.comb += came.eq(gather.read.valid)
        else:
            m.d.comb += came.eq(moves & beat.last)
        m.d.comb += self.done.eq(ended)
        m.d.sync += ended.eq(~self.start & (ended | (moves & beat.last & beat.final)))
        with m.If(self.start):
            m.d.sync += figures.eq(0)
        with m.Else():
            with m.If(figures.rows.any() & ~self.done):
                m.d.sync += figures.cycles.eq(figures.cycles + 1)
            m.d.sync += figures.rows.eq(figures.rows + came)
            with m.If(moves):
                failed = beat.last & ((beat.cause != Cause.NONE) | beat.beyond)
                m.d.sync += [
                    figures.bytes.eq(figures.bytes + beat.bytes),
                    figures.sum.eq((figures.sum + total)[:32]),
                    figures.failed.eq(figures.failed + failed),
                ]


def idxs_of(first: int, count: int, idx_bits: int) -> list[int]:
    """Return the idxs that :class:`GatherOnHost` asks for."""
    result, number = [], first
    for _ in range(count):
        result.append(number >> 32 - idx_bits)
        number = (number * FACTOR + TERM) % (1 << 32)
    return result
