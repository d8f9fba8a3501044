"""Writes PRs to lines: each beat is rotated to the place where its packet continues."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES, in_lanes
from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams
from hdl.netsparse.concat.line_memory import (
    GROUP_BYTES,
    GROUPS,
    PIECE_BYTES,
    PIECES,
)
from hdl.netsparse.protocol import PR_BYTES

PIECE_BITS = 8 * PIECE_BYTES + 1  #: width of a piece and its enable
COARSE = 4  #: the first of the six steps of a rotation that come after the middle register


class LineWriter(Component):
    """Writes ``arrival``'s bytes from byte ``offset`` of ``line`` on.

    Beyond the line's end they continue in the line ``behind``; with offset 0 they begin in that
    line. A first beat has its PR layer in front. Bytes come in pairs, and a byte after an odd end
    is undefined. Throughput: one beat a cycle, never stalling. Latency: :attr:`latency` cycles to
    the outputs, which go to a ``LineMemory``.
    """

    latency = 3

    def __init__(self, params: ConcatenatorParams) -> None:
        super().__init__(
            params,
            valid=In(1),
            arrival=In(params.arrival),
            offset=In(ceil_log2(LINE_BYTES)),
            line=In(params.line_bits),
            behind=In(params.line_bits),
            write=Out(PIECES),
            lines=Out(data.ArrayLayout(params.line_bits, GROUPS)),
            pieces=Out(8 * LINE_BYTES),
        )

    def build(self, m: Module) -> None:
        by = delay(m, self.offset[ceil_log2(PIECE_BYTES) :], 1, "by")
        later = delay(m, by, 1, "by_later")
        taken = delay(m, self.taken(m), 1, "taken")
        coarse = delay(m, turned(m, taken, by, range(COARSE, 6)), 1, "coarse")
        fine = delay(m, turned(m, coarse, later, range(COARSE)), 1, "fine")
        start = later[ceil_log2(GROUP_BYTES // PIECE_BYTES) :]
        fresh = delay(m, self.offset == 0, 2, "fresh")
        line = delay(m, self.line, 2, "line")
        behind = delay(m, self.behind, 2, "behind")
        valid = delay(m, self.valid, self.latency, "valid", reset_less=False)
        pieces = [fine.word_select(k, PIECE_BITS) for k in range(PIECES)]
        m.d.comb += [
            self.pieces.eq(Cat(piece[:-1] for piece in pieces)),
            self.write.eq(Mux(valid, Cat(piece[-1] for piece in pieces), 0)),
        ]
        for k in range(GROUPS):
            where = Signal(self.params.line_bits, name=f"line_of_{k}", reset_less=True)
            m.d.sync += where.eq(Mux(fresh | (start > k), behind, line))
            m.d.comb += self.lines[k].eq(where)

    def taken(self, m: Module) -> Signal:
        """Return the beat's pieces, as many as there can be, each with its enable above it."""
        arrival = self.arrival
        source = Signal(8 * (PR_BYTES + self.params.payload * BEAT_BYTES))
        m.d.comb += source.eq(in_lanes(arrival.pr))
        if self.params.payload:
            whole = Cat(in_lanes(arrival.pr), arrival.data)
            m.d.comb += source.eq(Mux(arrival.first, whole, arrival.data))
        pieces = [
            Cat(source.word_select(k, 8 * PIECE_BYTES), arrival.bytes > PIECE_BYTES * k)
            for k in range(len(source) // (8 * PIECE_BYTES))
        ]
        result = Signal(PIECES * PIECE_BITS)
        m.d.comb += result.eq(Cat(pieces))
        return result


def turned(m: Module, pieces: Value, by: Value, steps: range) -> Value:
    """Rotate ``pieces`` up by the places in the bits ``steps`` of ``by``."""
    for step in steps:
        after = Signal(len(pieces), name=f"turned_{step}")
        m.d.comb += after.eq(Mux(by[step], pieces.rotate_left(PIECE_BITS << step), pieces))
        pieces = after
    return pieces
