"""Says what a command makes of an aggregator in other words than the hardware's, for the proof."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.switch.banks.aggregator_params import BankOperation, TableError
from hdl.switchgnn.switch.params import GnnSwitchParams


class BankReference(Component):
    """Computes ``after``, the aggregator after a command."""

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            command=In(params.bank_command),
            payload=In(params.sums),
            before=In(params.entry),
            recent=In(1),  # the sums were changed by one of the last two commands
            after=Out(params.entry),
            added=Out(1),
            error=Out(TableError),
            leaves=Out(1),
        )

    def build(self, m: Module) -> None:
        command, before, after = self.command, self.before, self.after
        of_turn = before.tag == command.tag
        outside = Signal()
        m.d.comb += [outside.eq(command.index >= command.region.count), after.eq(before)]
        with m.Switch(command.operation):
            with m.Case(BankOperation.ADD):
                with m.If(outside):
                    m.d.comb += self.error.eq(TableError.OUTSIDE)
                with m.Elif(~before.used):
                    m.d.comb += self.error.eq(TableError.UNUSED)
                with m.Elif(before.complete & of_turn):
                    m.d.comb += self.error.eq(TableError.COMPLETE)
                with m.Else():
                    self.add(m, of_turn)
            with m.Case(BankOperation.FETCH):
                with m.If(outside):
                    m.d.comb += self.error.eq(TableError.OUTSIDE)
                with m.Elif(before.complete & of_turn):
                    m.d.comb += after.queued.eq(1)
            with m.Case(BankOperation.READ):
                with m.If(~before.complete):
                    m.d.comb += after.queued.eq(0)
                with m.Elif((before.port == command.port) & ~self.recent):
                    m.d.comb += [after.queued.eq(0), self.leaves.eq(1)]
            with m.Case(BankOperation.LOAD):
                with m.If(outside):
                    m.d.comb += self.error.eq(TableError.OUTSIDE)
                with m.Else():
                    self.load(m)

    def add(self, m: Module, of_turn) -> None:
        """Add a contribution, or begin with it."""
        before, after = self.before, self.after
        m.d.comb += [self.added.eq(1), after.tag.eq(self.command.tag)]
        with m.If(of_turn):
            m.d.comb += after.remaining.eq((before.remaining - 1)[:16])
            for lane, value in enumerate(self.payload):
                m.d.comb += after.sums[lane].eq((before.sums[lane] + value)[:32].as_signed())
        with m.Else():
            m.d.comb += [
                after.remaining.eq((before.expected - 1)[:16]),
                after.sums.eq(self.payload),
            ]
        m.d.comb += after.complete.eq(after.remaining == 0)
        with m.If(after.remaining == 0):
            m.d.comb += after.queued.eq(1)

    def load(self, m: Module) -> None:
        """Take a descriptor; one for a port that does not exist is as if it expected nothing."""
        provided, after = self.command.descriptor, self.after
        m.d.comb += [
            after.used.eq(provided.expected != 0),
            after.expected.eq(provided.expected),
            after.remaining.eq(0),
            after.tag.eq(self.command.tag),
            after.port.eq(provided.port),
            after.complete.eq(0),
        ]
        with m.If(provided.port >= self.params.ports):
            m.d.comb += [after.used.eq(0), after.port.eq(0)]
