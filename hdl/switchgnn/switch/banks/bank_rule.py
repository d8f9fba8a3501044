"""Defines the effect of a command on an aggregator."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.switch.banks.aggregator_params import BankOperation, TableError
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import COUNT_BITS


class BankRule(Component):
    """Computes the next state of an aggregator, as logic (:mod:`sim.switchgnn.golden.switch_rule`).

    ``before`` is the aggregator of the ``operation``, without its sums. With ``write`` it becomes
    ``after``, and with ``added`` the payload is added to its sums, or replaces them if they are not
    of the ``same`` turn.

    - ADD: the first contribution of a turn, known by its ``tag``, replaces the sums, all others are
      added to them, modulo 2^32 (hosts keep to in-degrees that never wrap). The last one makes the
      aggregator complete, and its sum must leave. Without ``added``, ``error`` says why not, and
      the aggregator does not change.
    - FETCH: a complete sum of the turn ``tag`` must leave again, unless it waits to leave, or
      leaves by a link to another switch, which repeats it itself (:class:`PartialSender`).
    - READ: the aggregator was taken from the list of ``port``. Its sum ``leaves`` if it is complete
      and of that port. A complete sum of another port is put into that port's list; a sum that is
      ``recent``, and cannot be read yet, goes back into its list.
    - LOAD: the aggregator gets its ``descriptor`` and the ``tag``, and is no longer complete. If it
      waits in a list, it stays there. If the switch does not have the descriptor's port, the
      aggregator is not used.
    - ``clear``: the aggregator is not used and waits in no list.

    ``outside`` says that the aggregator is not in the command's region: ADD, FETCH and LOAD then
    have no effect, and ``error`` is OUTSIDE. ``push`` says that the aggregator enters the list of
    ``before.port``, because it becomes queued, or is put into a list again.

    Latency: none. The write of this cycle selects the ``before`` of the next one; therefore
    ``write`` does not depend on ``before``, and ``added`` and ``same`` depend on few of its bits.
    """

    latency = 0

    def __init__(self, params: GnnSwitchParams) -> None:
        command = params.bank_command
        super().__init__(
            params,
            clear=In(1),
            operation=In(BankOperation),
            outside=In(1),
            tag=In(command["tag"].shape),
            port=In(params.port_bits),
            descriptor=In(params.descriptor),
            recent=In(1),
            before=In(params.state),
            after=Out(params.state),
            same=Out(1),
            write=Out(1),
            added=Out(1),
            error=Out(TableError),
            push=Out(1),
            leaves=Out(1),
        )

    def build(self, m: Module) -> None:
        before, after = self.before, self.after
        is_add, is_fetch, is_read, is_load = (
            self.operation == operation
            for operation in (
                BankOperation.ADD,
                BankOperation.FETCH,
                BankOperation.READ,
                BankOperation.LOAD,
            )
        )
        same = self.same  # the aggregator has the command's turn
        finished = Signal()  # it has all contributions of that turn
        own = Signal()  # it is in the list of its own port
        last = Signal()  # the contribution is the last one
        completes = Signal()  # the last contribution is added
        fetched = Signal()
        stays = Signal()  # it goes back into the list of its port
        inside = (is_add | is_fetch | is_load) & ~self.outside
        is_fetched = is_fetch & ~self.outside & finished & ~before.queued
        if self.params.links:  # the sum is not for another switch
            first = self.params.first_link
            is_fetched &= before.port < first if first else Const(0)
        m.d.comb += [
            same.eq(before.tag == self.tag),
            finished.eq(before.complete & same),
            own.eq(before.port == self.port),
            last.eq(Mux(same, before.remaining == 1, before.expected == 1)),
            self.added.eq(is_add & ~self.outside & before.used & ~finished),
            completes.eq(self.added & last),
            fetched.eq(is_fetched),
            self.leaves.eq(is_read & before.complete & own & ~self.recent),
            stays.eq(is_read & before.complete & (~own | self.recent)),
            self.write.eq(self.clear | is_read | inside),
            self.push.eq((completes & ~before.queued) | fetched | stays),
            after.queued.eq(~self.clear & Mux(is_read, stays, before.queued | completes | fetched)),
            after.complete.eq(~self.clear & ~is_load & Mux(self.added, last, before.complete)),
        ]
        self.count(m, same, is_load)
        m.d.comb += self.error.eq(TableError.NONE)
        with m.If((is_add | is_fetch | is_load) & self.outside):
            m.d.comb += self.error.eq(TableError.OUTSIDE)
        with m.Elif(is_add & ~before.used):
            m.d.comb += self.error.eq(TableError.UNUSED)
        with m.Elif(is_add & finished):
            m.d.comb += self.error.eq(TableError.COMPLETE)

    def count(self, m: Module, same: Value, is_load: Value) -> None:
        """Compute the aggregator's turn, and the number of contributions that its sum lacks."""
        before, after = self.before, self.after
        m.d.comb += [
            after.used.eq(before.used),
            after.expected.eq(before.expected),
            after.remaining.eq(before.remaining),
            after.tag.eq(before.tag),
            after.port.eq(before.port),
        ]
        with m.If(self.clear):
            m.d.comb += [
                after.used.eq(0),
                after.expected.eq(0),
                after.remaining.eq(0),
                after.tag.eq(0),
                after.port.eq(0),
            ]
        with m.Elif(is_load):
            m.d.comb += [
                after.used.eq(self.has_port() & (self.descriptor.expected != 0)),
                after.expected.eq(self.descriptor.expected),
                after.remaining.eq(0),
                after.tag.eq(self.tag),
                after.port.eq(Mux(self.has_port(), self.descriptor.port, 0)),
            ]
        with m.Elif(self.added):
            # Both numbers are decremented while the tags are compared.
            fewer = Signal(COUNT_BITS)
            first = Signal(COUNT_BITS)
            m.d.comb += [
                fewer.eq(before.remaining - 1),
                first.eq(before.expected - 1),
                after.remaining.eq(Mux(same, fewer, first)),
                after.tag.eq(self.tag),
            ]

    def has_port(self) -> Value:
        """Return whether the switch has the descriptor's port."""
        params = self.params
        if params.ports == 1 << params.port_bits:
            return Const(1)
        return self.descriptor.port < params.ports
