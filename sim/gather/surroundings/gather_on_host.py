"""Puts a gather's datapath on a simulated host, and asks for rows at random."""

from dataclasses import field

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from hdl.common.component import Component
from hdl.common.params import Params
from hdl.gather.params import GatherParams
from hdl.pcie.descriptors import Cause
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

    @property
    def host(self) -> PcieHostParams:
        """Return the sizes of the host."""
        return PcieHostParams(data_bits=self.gather.reads.data_bits, address_bits=self.address_bits)


class GatherOnHost(Component):
    """Reads ``count`` rows of ``table`` from host memory, back to back, and sums them up.

    From ``start`` on it offers an idx in every cycle: the upper ``idx_bits`` bits of random
    numbers, of which the first is ``first`` (:func:`idxs_of`). It is always ready for rows.
    ``done`` is 1 when the last one has come.
    """

    def __init__(self, params: GatherOnHostParams) -> None:
        super().__init__(
            params,
            {
                "table": In(params.gather.table),
                "limit": In(3),
                "settings": In(params.host.settings),
                "start": In(1),
                "count": In(32),
                "first": In(32),
                "idx_bits": In(6),
                "done": Out(1),
                "figures": Out(FIGURES),
                "counts": Out(COUNTS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.gather = gather = RowReader(self.params.gather)
        m.submodules.host = host = PcieHost(self.params.host)
        connect(m, gather.rq, host.rq)
        connect(m, host.rc, gather.rc)
        m.d.comb += [
            gather.table.eq(self.table),
            gather.limit.eq(self.limit),
            host.settings.eq(self.settings),
            self.counts.eq(host.counts),
        ]
        self.issue(m, gather)
        self.take(m, gather)
        return m

    def issue(self, m: Module, gather: RowReader) -> None:
        """Give an idx a cycle."""
        number, requested = Signal(32), Signal(32)
        idx = number >> (32 - self.idx_bits).as_unsigned()
        m.d.comb += [
            gather.idxs.valid.eq(~self.start & (requested != self.count)),
            gather.idxs.payload.idx.eq(idx[: self.params.gather.idx_bits]),
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
        total = Const(0, 32)
        for k in range(self.params.gather.reads.lanes):
            dword = Mux(beat.bytes > 4 * k, beat.data.word_select(k, 32), 0)
            total = (total + dword)[:32]
        m.d.comb += [rows.ready.eq(1), self.done.eq(figures.rows == self.count)]
        with m.If(self.start):
            m.d.sync += figures.eq(0)
        with m.Else():
            with m.If(figures.rows.any() & ~self.done):
                m.d.sync += figures.cycles.eq(figures.cycles + 1)
            with m.If(rows.valid):
                failed = beat.last & ((beat.cause != Cause.NONE) | beat.beyond)
                m.d.sync += [
                    figures.rows.eq(figures.rows + beat.last),
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
