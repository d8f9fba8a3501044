"""Finds where mini-batches and epochs begin and end."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.engine.params import LENGTHS, EngineParams


class MiniBatches(Component):
    """Counts the micro-batches of a mini-batch and of an epoch (P4SGD, Algorithm 1).

    ``first``, ``last`` (of its mini-batch) and ``ends_epoch`` describe the next micro-batch;
    ``step`` moves on to the one after. An epoch's last mini-batch ends with the epoch.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            lengths=In(LENGTHS),
            start=In(1),
            step=In(1),
            first=Out(1),
            last=Out(1),
            ends_epoch=Out(1),
        )

    def build(self, m: Module) -> None:
        lengths = self.lengths
        in_batch = Signal.like(lengths.batch_micro_batches)
        in_epoch = Signal.like(lengths.epoch_micro_batches)
        m.d.comb += [
            self.ends_epoch.eq(in_epoch == lengths.epoch_micro_batches - 1),
            self.last.eq((in_batch == lengths.batch_micro_batches - 1) | self.ends_epoch),
        ]
        with m.If(self.start):
            m.d.sync += [in_batch.eq(0), in_epoch.eq(0), self.first.eq(1)]
        with m.Elif(self.step):
            m.d.sync += [
                in_batch.eq(in_batch + 1),
                in_epoch.eq(in_epoch + 1),
                self.first.eq(self.last),
            ]
            with m.If(self.last):
                m.d.sync += in_batch.eq(0)
            with m.If(self.ends_epoch):
                m.d.sync += in_epoch.eq(0)
