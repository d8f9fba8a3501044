"""Defines what a command does to an aggregator."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.switch.aggregator_params import BankOperation, TableError
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import COUNT_BITS


class BankRule(Component):
    """Decides what becomes of an aggregator, as logic: the rule of `sim/switchgnn/golden`.

    ``before`` is the aggregator that ``operation`` is for, apart from its sums. With ``write`` it
    becomes ``after``, and with ``added`` the payload comes to its sums, or in their place if they
    are not ``same``.

    - ADD: the first contribution of a turn, known by its ``tag``, replaces the sums, all others
      are added to them, modulo 2^32 (hosts keep to in-degrees that never wrap). The last one makes
      the aggregator complete, and it is to leave. Without ``added``, ``error`` says why not, and
      the aggregator stays as it is.
    - FETCH: a complete sum of the turn ``tag`` is to leave again, unless it waits to, or leaves by
      a link to another switch, which repeats it itself (:class:`PartialSender`).
    - READ: the aggregator was taken from the list of ``port``. Its sum ``leaves`` if it is
      complete and of that port. A complete one of another port goes on waiting in that one's list;
      so does one that is ``recent``, whose sums cannot be read yet.
    - LOAD: it gets its ``descriptor`` and the ``tag``, and is complete no more. One that waits in a
      list stays there. If the switch has no such port, the aggregator is not used.
    - ``clear``: it is not used and waits nowhere.

    ``outside`` says that the aggregator is not of the command's region: of ADD, FETCH and LOAD
    nothing happens then, and ``error`` is OUTSIDE. ``push`` says that the aggregator enters the
    list of ``before.port``; that is so if it becomes queued, or goes on waiting elsewhere.

    Latency: none. What is written chooses what the next cycle's ``before`` is, so that ``write``
    does not depend on ``before``, and ``added`` and ``same`` on little of it.
    """

    latency = 0

    def __init__(self, params: GnnSwitchParams) -> None:
        command = params.bank_command
        super().__init__(
            params,
            {
                "clear": In(1),
                "operation": In(BankOperation),
                "outside": In(1),
                "tag": In(command["tag"].shape),
                "port": In(params.port_bits),
                "descriptor": In(params.descriptor),
                "recent": In(1),
                "before": In(params.state),
                "after": Out(params.state),
                "same": Out(1),
                "write": Out(1),
                "added": Out(1),
                "error": Out(TableError),
                "push": Out(1),
                "leaves": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
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
        same = self.same  # the aggregator is of the command's turn
        finished = Signal()  # it has all contributions of that turn
        mine = Signal()  # it is in the list of its own port
        last = Signal()  # the contribution is the last one
        completes = Signal()  # it is added
        fetched = Signal()
        stays = Signal()  # in the list of its port
        inside = (is_add | is_fetch | is_load) & ~self.outside
        is_fetched = is_fetch & ~self.outside & finished & ~before.queued
        if self.params.links:  # it is not for another switch
            first = self.params.first_link
            is_fetched &= before.port < first if first else Const(0)
        m.d.comb += [
            same.eq(before.tag == self.tag),
            finished.eq(before.complete & same),
            mine.eq(before.port == self.port),
            last.eq(Mux(same, before.remaining == 1, before.expected == 1)),
            self.added.eq(is_add & ~self.outside & before.used & ~finished),
            completes.eq(self.added & last),
            fetched.eq(is_fetched),
            self.leaves.eq(is_read & before.complete & mine & ~self.recent),
            stays.eq(is_read & before.complete & (~mine | self.recent)),
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
        return m

    def count(self, m: Module, same: Value, is_load: Value) -> None:
        """Say whose the aggregator is, and how many contributions its sum misses."""
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
            # Both are counted down while the tags are compared.
            fewer = Signal(COUNT_BITS)
            first = Signal(COUNT_BITS)
            m.d.comb += [
                fewer.eq(before.remaining - 1),
                first.eq(before.expected - 1),
                after.remaining.eq(Mux(same, fewer, first)),
                after.tag.eq(self.tag),
            ]

    def has_port(self) -> Value:
        """State whether the switch has the descriptor's port."""
        params = self.params
        if params.ports == 1 << params.port_bits:
            return Const(1)
        return self.descriptor.port < params.ports
