"""Computes the addresses of a table's rows."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.gather.params import GatherParams

STAGES = 3  #: pipeline registers of the multiplier in DSP slices


class RowFinder(Component):
    """Computes the address of the row of each of ``idxs``: ``base`` + idx * ``stride``.

    An idx that is not less than the number of the table's rows is marked ``beyond``, and row 0
    takes its place. ``table`` may change when no idx is inside.

    Throughput: an idx a cycle. Latency: :attr:`latency`. Stalls: all wait.
    """

    latency = STAGES + 1

    def __init__(self, params: GatherParams) -> None:
        super().__init__(
            params,
            table=In(params.table),
            idxs=In(stream.Signature(params.result)),
            rows=Out(stream.Signature(params.row)),
        )

    def build(self, m: Module) -> None:
        params, table, row = self.params, self.table, self.rows.payload
        goes = Signal()
        valid, beyond = Signal(STAGES), Signal(STAGES)
        ordered = Signal(data.ArrayLayout(params.ordered, STAGES), reset_less=True)
        idx = Signal(params.idx_bits, reset_less=True)
        stride = Signal(params.stride_bits, reset_less=True)
        product = Signal(params.idx_bits + len(stride), reset_less=True)
        place = Signal(len(product), reset_less=True)
        provided = self.idxs.payload
        outside = provided.idx >= table.rows
        m.d.comb += [goes.eq(~self.rows.valid | self.rows.ready), self.idxs.ready.eq(goes)]
        with m.If(goes):
            m.d.sync += [
                idx.eq(Mux(outside, 0, provided.idx)),
                stride.eq(table.stride),
                product.eq(idx * stride),
                place.eq(product),
                valid.eq((valid << 1 | self.idxs.valid)[:STAGES]),
                beyond.eq((beyond << 1 | outside)[:STAGES]),
                *(ordered[k].eq(ordered[k - 1]) for k in range(1, STAGES)),
                *(ordered[0][name].eq(provided[name]) for name, _ in params.ordered),
                self.rows.valid.eq(valid[-1]),
                row.address.eq((table.base + place)[: len(row.address)]),
                row.beyond.eq(beyond[-1]),
                *(row[name].eq(ordered[-1][name]) for name, _ in params.ordered),
            ]
