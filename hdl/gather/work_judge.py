"""Checks whether a work request is legal."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, over
from hdl.common.component import Component
from hdl.gather.engine_params import WORK, GatherEngineParams
from hdl.gather.params import MAX_ROW, ReadOrder


class WorkJudge(Component):
    """Says in ``illegal`` that ``work`` cannot be carried out (:mod:`sim.gather.golden.engine`).

    A legal request has an array that is aligned to its idxs; the completion is aligned to 16 bytes.
    A row has 1 to 65,536 bytes; table, rows and destination begin at any byte. The table has at
    least one row, and fewer than 2 ** ``params.idx_bits``. All rows lie inside device memory,
    unless they are ``streamed`` or ``posted``, and so do idxs that are ``on_card``. The build must
    have the output and the source of idxs that the request names. ``size`` is the bytes of all
    rows.
    Latency: :attr:`latency` from ``work``.
    """

    latency = 5

    def __init__(self, params: GatherEngineParams) -> None:
        super().__init__(params, work=In(WORK), illegal=Out(1), size=Out(params.size_bits))

    def build(self, m: Module) -> None:
        work, params = self.work, self.params
        bits = params.address_bits
        elsewhere = work.streamed | work.posted
        end = Signal(
            max(bits, len(self.size)) + 1, reset_less=True
        )  # end of the rows in device memory
        m.d.sync += [
            self.size.eq(work.count * work.row_bytes),
            end.eq(work.destination[:bits] + delay(m, self.size, 1, "size")),
        ]
        faults = {
            "idxs_split": work.idx_address[:2].any() | (work.wide & work.idx_address[2]),
            "row_size": ~work.row_bytes.any() | over(work.row_bytes, MAX_ROW),
            "rows": ~work.rows.any() | work.rows[params.idx_bits :].any(),
            "stride": work.stride[params.stride_bits :].any(),
            "order": work.order > max(order.value for order in ReadOrder),
            "completion_split": work.completion[:4].any(),
            "outside": ~elsewhere & (work.destination[bits:].any() | over(end, 1 << bits)),
            "output": (
                (work.streamed & (work.posted | (not params.to_stream)))
                | (work.posted & (not params.to_host))
                | (~elsewhere & (not params.to_memory))
            ),
            "idxs_outside": work.on_card & self.beyond(m),
            "malformed": work.malformed,
        }
        result = Signal(len(faults))
        m.d.sync += [
            *(result[k].eq(fault) for k, fault in enumerate(faults.values())),
            self.illegal.eq(result.any()),
        ]

    def beyond(self, m: Module) -> Value:
        """Return whether the array of idxs is not inside device memory."""
        work, bits = self.work, self.params.address_bits
        if not self.params.card_idxs:
            return Const(1)
        size = Cat(Const(0, 2), Mux(work.wide, work.count << 1, work.count))
        end = Signal(max(bits, len(size)) + 1, reset_less=True)
        m.d.sync += end.eq(work.idx_address[:bits] + size)
        return work.idx_address[bits:].any() | over(end, 1 << bits)
