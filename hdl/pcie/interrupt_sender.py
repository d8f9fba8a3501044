"""Requests MSI-X interrupts from the block, one at a time."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.params import Params, whole
from hdl.common.round_robin import choose_in_turn

BLOCK_VECTORS = 8  #: vectors in the block's own table for a function
PATIENCE = 12_500_000  #: cycles of 50 ms at 250 MHz, the default time-out of PCI Express


class InterruptSenderParams(Params, suffix="{vectors}"):
    """Sets how many vectors are used, and how long one may take."""

    vectors: int = whole(1, BLOCK_VECTORS, default=1)  #: number of vectors
    #: cycles without a sent interrupt, after which it is late
    patience: int = whole(2, 1 << 31, default=PATIENCE, tag="_{}")


class InterruptSender(Component):
    """Sends an interrupt for each pulse of a bit of ``demands``, by the block's own vector table.

    The block holds the table and the pending bits of eight vectors (PG213, "MSI-X Interrupt
    Internal Interface"). ``vector`` is ``cfg_interrupt_msi_int`` and ``send`` is
    ``cfg_interrupt_msix_int``; both are high for a cycle, and the next request waits for ``sent``
    or ``failed`` (``cfg_interrupt_msi_sent``, ``_fail``). A vector that has failed is requested
    again. The block applies the mask of each vector; while the host has MSI-X switched off
    (``enable`` is low), vectors wait. ``clear`` drops those that wait.

    PG213 sets no time in which the block must answer; it may need that of a link that stalls or is
    trained again. When no interrupt was ``sent`` for ``params.patience`` cycles although one was
    due, because the block does not answer or always fails, ``late`` pulses once and ``silent`` is
    high until one is sent, or none is due. The block allows no second request before its answer, so
    vectors wait meanwhile; an answer that comes late is taken like any other, and they are sent.

    Waiting vectors are requested in round-robin order; several pulses of a vector while it waits
    give one interrupt. Latency: :attr:`latency` to ``send``. An interrupt may pass writes of RQ
    inside the block, so whoever announces a write by an interrupt first waits until the write is
    visible (:class:`hdl.pcie.write_fence.WriteFence`).
    """

    latency = 2

    def __init__(self, params: InterruptSenderParams) -> None:
        super().__init__(
            params,
            demands=In(params.vectors),
            enable=In(1),
            clear=In(1),
            vector=Out(BLOCK_VECTORS),
            send=Out(1),
            sent=In(1),
            failed=In(1),
            late=Out(1),
            silent=Out(1),
        )

    def build(self, m: Module) -> None:
        waiting = Signal(self.params.vectors)
        requested = Signal(self.params.vectors)  # the block has a request, and has not answered
        chosen = Signal(self.params.vectors)
        goes = self.enable & ~requested.any()
        again = requested & self.failed.replicate(len(requested))
        m.d.comb += chosen.eq(choose_in_turn(m, waiting, goes) & goes.replicate(len(chosen)))
        m.d.sync += [
            waiting.eq((waiting & ~chosen) | self.demands | again),
            self.vector.eq(chosen),
            self.send.eq(chosen.any()),
        ]
        with m.If(self.clear):
            m.d.sync += [waiting.eq(0), requested.eq(0)]
        with m.Elif(goes):
            m.d.sync += requested.eq(chosen)
        with m.Elif(self.sent | self.failed):
            m.d.sync += requested.eq(0)
        self.watch(m, requested.any() | (waiting.any() & self.enable))

    def watch(self, m: Module, busy: Value) -> None:
        """Report that none was sent for too long while the block is ``busy`` or has to be."""
        patience = Signal(range(-1, self.params.patience), init=self.params.patience - 1)
        overdue = Signal()  # the count has gone down to -1, which its highest bit shows
        m.d.comb += overdue.eq(busy & patience[-1] & ~self.sent & ~self.clear)
        m.d.sync += [self.late.eq(overdue & ~self.silent), self.silent.eq(overdue)]
        with m.If(~busy | self.sent | self.clear):
            m.d.sync += patience.eq(self.params.patience - 1)
        with m.Elif(~patience[-1]):
            m.d.sync += patience.eq((patience - 1)[: len(patience)])
