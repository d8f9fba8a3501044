"""Posts rows to addresses of the host's bus."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.axi import FOUR_KB
from hdl.common.component import Component
from hdl.gather.engine_params import GatherEngineParams


class RowPoster(Component):
    """Writes joined ``rows``, ``size`` bytes in all, to the bus from ``address`` on.

    ``writes`` are requests of at most 4,096 bytes for a
    :class:`hdl.pcie.write_requester.WriteRequester`, and ``data`` are their bytes, which begin in
    byte 0 of a beat. The requester cuts them at multiples of the largest payload, so no packet
    crosses 4 KB. The address can be that of host memory or of a peer: both get the same posted
    writes, in order, which nothing answers. After each ``begin``, ``done`` is high with the
    array's last beat, when it moves: whatever the requester is asked to write later follows the
    rows. ``address`` and ``size`` must be stable from ``begin`` to ``done``.

    ``halt``, held until ``done``, ends the array early: no more of ``rows`` are taken. The requests
    that were taken get beats without a meaning, and the requester, which must be stopped
    meanwhile, drops them; ``done`` says that they have all their beats.

    Throughput: a beat a cycle. Latency: :attr:`latency`. Stalls: ``rows`` wait for ``data``.
    """

    latency = 0

    def __init__(self, params: GatherEngineParams) -> None:
        super().__init__(
            params,
            {
                "address": In(64),
                "size": In(params.size_bits),
                "begin": In(1),
                "halt": In(1),
                "rows": In(stream.Signature(params.gather.beat)),
                "done": Out(1),
                "moved": Out(1),
                "writes": Out(stream.Signature(params.requester.writes.cutter.request)),
                "data": Out(stream.Signature(params.data_bits)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        rows, request = self.rows, self.writes.payload
        beat_bytes, low = self.params.beat_bytes, exact_log2(FOUR_KB)
        most = FOUR_KB // beat_bytes  # beats of a request
        at = Signal(64, reset_less=True)  # where the next request begins
        left = Signal(self.params.size_bits)  # bytes that were not requested
        owed = Signal(range(2 * most))  # beats of requests that were taken
        goes, moves, whole = Signal(), Signal(), Signal()
        tail = (left[:low] + (beat_bytes - 1)) >> exact_log2(beat_bytes)
        m.d.comb += [
            whole.eq(left[low:].any()),
            # A request is made while the beats of the one before still come.
            self.writes.valid.eq(left.any() & (owed < most) & ~self.halt),
            request.address.eq(at),
            request.bytes.eq(Mux(whole, FOUR_KB, left[:low])),
            goes.eq(self.writes.valid & self.writes.ready),
            self.data.payload.eq(rows.payload.data),
            self.data.valid.eq(owed.any() & (rows.valid | self.halt)),
            rows.ready.eq(owed.any() & self.data.ready & ~self.halt),
            moves.eq(self.data.valid & self.data.ready),
            self.moved.eq(moves & ~self.halt),
            self.done.eq(Mux(self.halt, ~owed.any(), moves & rows.payload.last)),
        ]
        m.d.sync += owed.eq((owed + Mux(goes, Mux(whole, most, tail), 0) - moves)[: len(owed)])
        with m.If(self.begin):
            m.d.sync += [at.eq(self.address), left.eq(self.size)]
        with m.Elif(self.halt):
            m.d.sync += left.eq(0)
        with m.Elif(goes):
            m.d.sync += [
                at[low:].eq(at[low:] + 1),
                left.eq(Mux(whole, left - FOUR_KB, 0)),
            ]
        return m
