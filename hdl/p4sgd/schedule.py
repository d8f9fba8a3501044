"""The order of micro-batches: mini-batches, epochs, and the end of the run."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.params import EngineParams


class Schedule(Component):
    """Counts the micro-batches of Algorithm 1: P4SGD, section 3.2.

    ``current`` describes the next micro-batch and ``step`` moves on to the one after; ``active``
    is high from ``start`` until the final micro-batch has been stepped over. An epoch's last
    mini-batch ends with the epoch, and of its last micro-batch only ``tail_samples`` exist.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {
                "settings": In(params.settings),
                "start": In(1),
                "step": In(1),
                "active": Out(1),
                "current": Out(params.micro_batch),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        settings, current = self.settings, self.current
        in_batch = Signal.like(settings.batch_micro_batches)
        in_epoch = Signal.like(settings.epoch_micro_batches)
        epoch = Signal.like(settings.epochs)
        first = Signal()  # in_batch is zero

        ends_epoch = in_epoch == settings.epoch_micro_batches - 1
        all_present = (1 << self.params.banks) - 1
        tail_present = (~(all_present << settings.tail_samples))[: self.params.banks]
        m.d.comb += [
            current.first.eq(first),
            current.last.eq((in_batch == settings.batch_micro_batches - 1) | ends_epoch),
            current.final.eq(ends_epoch & (epoch == settings.epochs - 1)),
            current.present.eq(all_present),
        ]
        with m.If(ends_epoch):
            m.d.comb += current.present.eq(tail_present)

        with m.If(self.start):
            m.d.sync += [self.active.eq(1), first.eq(1)]
            m.d.sync += [in_batch.eq(0), in_epoch.eq(0), epoch.eq(0)]
        with m.Elif(self.step):
            m.d.sync += [in_batch.eq(in_batch + 1), in_epoch.eq(in_epoch + 1)]
            m.d.sync += first.eq(current.last)
            with m.If(current.last):
                m.d.sync += in_batch.eq(0)
            with m.If(ends_epoch):
                m.d.sync += [in_epoch.eq(0), epoch.eq(epoch + 1)]
            with m.If(current.final):
                m.d.sync += self.active.eq(0)
        return m
