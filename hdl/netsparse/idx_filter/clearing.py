"""Clears the Idx Filter, so that all bits are zero."""

from amaranth.hdl import Module, Signal
from amaranth.lib import enum, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.netsparse.idx_filter.params import (
    LINE_BYTES,
    LINE_IDX_BITS,
    LINE_IDXS,
    OPEN_ZEROS,
    FilterCacheParams,
)


class Phase(enum.Enum, shape=2):
    """Names the steps of clearing."""

    CLEAR = 0  #: lines are emptied and zeros are written; after a reset only lines are emptied
    OPEN = 1
    CLOSE = 2  #: requests taken in the last cycle arrive
    DRAIN = 3  #: it waits until the banks are idle


class FilterClearing(Component):
    """After ``control.clear`` waits for ``idle``, empties the banks and writes zeros to all lines.

    ``busy`` is high from the next cycle until the last zero is in the memory; no requests may be
    taken meanwhile. A ``clear`` that comes while ``busy``, which is also high after a reset, is
    carried out when the current one has ended, without ``busy`` falling in between. A line holds
    512 columns, so ceil(columns / 512) addresses leave through ``zeros``, at most
    :data:`OPEN_ZEROS` of them without an answer (``written``). ``invalidate`` is high while the
    banks empty set ``row``, and the units' own caches empty block ``row``, each modulo its number
    of sets or blocks.

    ``busy`` lasts until the banks' requests have ended, and then max(rows, lines) + the memory's
    latency + 8 cycles, if the memory takes a write a cycle; the number of rows is that of sets or
    of blocks, whichever is larger. After a reset it lasts as many cycles as there are rows, because
    the memories' contents survive a reset. ``broken`` is high from a failed write (``write_error``)
    until the next clearing begins.
    """

    def __init__(self, params: FilterCacheParams) -> None:
        super().__init__(
            params,
            control=In(params.control),
            idle=In(1),
            busy=Out(1),
            broken=Out(1),
            invalidate=Out(1),
            row=Out(params.clear_bits),
            zeros=Out(stream.Signature(params.address_bits)),
            written=In(1),
            write_error=In(1),
        )

    def build(self, m: Module) -> None:
        phase = Signal(Phase)
        busy = Signal(init=1)
        emptying = Signal(init=1)
        more = Signal()  # there are more lines to clear
        left = Signal(self.params.line_bits + 1, reset_less=True)
        address = Signal(self.params.address_bits, reset_less=True)
        unanswered = Signal(ceil_log2(OPEN_ZEROS) + 1)
        full = Signal()
        # The last line may have only some columns, so the number of lines is rounded up.
        lines = (self.control.columns + LINE_IDXS - 1) >> LINE_IDX_BITS
        lines = lines[: len(left)]
        sent = Signal()
        again = Signal()  # ``clear`` came while busy
        with m.If(self.control.clear & busy):
            m.d.sync += again.eq(1)
        m.d.comb += [
            self.busy.eq(busy),
            full.eq(unanswered[-1]),
            self.zeros.valid.eq(more & ~full),
            self.zeros.payload.eq(address),
            sent.eq(self.zeros.valid & self.zeros.ready),
            self.invalidate.eq((phase == Phase.CLEAR) & emptying),
        ]
        with m.If(self.write_error):
            m.d.sync += self.broken.eq(1)
        with m.If(sent):
            m.d.sync += [
                address.eq(address + LINE_BYTES),
                left.eq(left - 1),
                more.eq(left != 1),
            ]
        with m.Switch(phase):
            with m.Case(Phase.OPEN):
                with m.If(self.control.clear):
                    m.d.sync += [phase.eq(Phase.CLOSE), busy.eq(1)]
                m.d.sync += unanswered.eq(0)
            with m.Case(Phase.CLOSE):
                m.d.sync += [
                    phase.eq(Phase.DRAIN),
                    left.eq(lines),
                    address.eq(self.control.base),
                ]
            with m.Case(Phase.DRAIN), m.If(self.idle):
                m.d.sync += [
                    phase.eq(Phase.CLEAR),
                    emptying.eq(1),
                    more.eq(left != 0),
                    self.broken.eq(0),
                ]
            with m.Case(Phase.CLEAR):
                m.d.sync += unanswered.eq(unanswered + sent - self.written)
                with m.If(self.invalidate):
                    m.d.sync += [
                        self.row.eq(self.row + 1),
                        emptying.eq(~self.row.all()),
                    ]
                with m.If(~emptying & ~more & (unanswered == 0)):
                    m.d.sync += [phase.eq(Phase.OPEN), busy.eq(0), again.eq(0)]
                    with m.If(again | self.control.clear):
                        m.d.sync += [phase.eq(Phase.CLOSE), busy.eq(1)]
