"""Orders micro-batches into mini-batches and epochs, and ends the run."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.engine.mini_batches import MiniBatches
from hdl.p4sgd.engine.params import LENGTHS, SCHEDULE, EngineParams

#: Describes the position of a micro-batch in the run.
MICRO_BATCH = data.StructLayout(
    {
        "first": 1,  # it is the first of its mini-batch
        "last": 1,  # it is the last of its mini-batch
        "final": 1,  # it is the last of the run
    }
)


class Schedule(Component):
    """Counts the micro-batches of Algorithm 1 (P4SGD, section 3.2).

    ``current`` describes the next micro-batch and ``step`` moves on to the one after; ``active``
    is high from ``start`` until the final micro-batch has been stepped over. An epoch's last
    mini-batch ends with the epoch (``ends_epoch``).
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            settings=In(SCHEDULE),
            start=In(1),
            step=In(1),
            active=Out(1),
            current=Out(MICRO_BATCH),
            ends_epoch=Out(1),
        )

    def build(self, m: Module) -> None:
        settings, current = self.settings, self.current
        m.submodules.mini_batches = mini_batches = MiniBatches(self.params)
        epoch = Signal.like(settings.epochs)
        m.d.comb += [
            mini_batches.start.eq(self.start),
            mini_batches.step.eq(self.step),
            *(mini_batches.lengths[name].eq(settings[name]) for name, _ in LENGTHS),
            self.ends_epoch.eq(mini_batches.ends_epoch),
            current.first.eq(mini_batches.first),
            current.last.eq(mini_batches.last),
            current.final.eq(mini_batches.ends_epoch & (epoch == settings.epochs - 1)),
        ]
        with m.If(self.start):
            m.d.sync += [self.active.eq(1), epoch.eq(0)]
        with m.Elif(self.step):
            with m.If(mini_batches.ends_epoch):
                m.d.sync += epoch.eq(epoch + 1)
            with m.If(current.final):
                m.d.sync += self.active.eq(0)
