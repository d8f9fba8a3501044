"""Executes a command a cycle on a bank of aggregators, and lists sums that wait to leave."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, low_bits
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switch.update_memory import UpdateMemory
from hdl.switchgnn.switch.banks.aggregator_params import BankOperation, TableError, read_bit
from hdl.switchgnn.switch.banks.bank_rule import BankRule
from hdl.switchgnn.switch.banks.ready_lists import ReadyLists
from hdl.switchgnn.switch.banks.sum_memory import SumMemory
from hdl.switchgnn.switch.params import GnnSwitchParams


class Bank(Component):
    """Executes a command on one of its aggregators in every cycle, by the :class:`BankRule`.

    The aggregator of a ``command`` is number ``index`` of its region; that of a READ is the first
    one in the list of its port, which must be ``ready``. An ``index`` beyond the region changes
    nothing, whatever the command. ``payload`` comes :attr:`lead` cycles after its ADD; in all other
    cycles it is undefined.

    A READ's ``result`` comes :attr:`read_latency` cycles later, with ``result_valid``, unless the
    aggregator was loaded again meanwhile, or is now complete for another port, in whose list it
    waits from then on. An aggregator with an addition in the last two cycles is put back into its
    list. Sums come directly from their memory, so the receiver must register them. ``added`` and
    ``error`` say :attr:`latency` cycles after every command whether an ADD's contribution was
    added, or why not; OUTSIDE is also given for FETCH and LOAD. A sum that becomes complete is in
    its list, and can be read, :attr:`ready_latency` cycles after its last ADD if that list was
    empty.

    Throughput: one command a cycle, even for the same aggregator in a row; for one list a READ
    every ``ReadyLists.recovery`` cycles. ``soon`` says ``ReadyLists.ahead`` cycles in advance that
    a list will be ready, if it is not read until then. Never stalls. Sums that wait stay in their
    aggregators, so that nothing is lost even if all become complete at once.

    With ``params.slr_stages`` it has only the lower lanes; ``far`` has the commands for the memory
    of the upper lanes, which is in another die (:class:`FarLanes`).

    Contents of a memory survive a reset, so all aggregators are cleared after it, one a cycle;
    meanwhile ``busy`` is high, and commands must be NONE.
    """

    ruling = 1 + UpdateMemory.lead  #: cycles from a command to the rule's decision about it
    lead = ruling + SumMemory.lag
    read_latency = lead
    latency = ruling + 1
    ready_latency = latency + 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            command=In(params.bank_command),
            payload=In(params.bank_sums),
            ready=Out(params.ports),
            soon=Out(params.ports),
            result_valid=Out(1),
            result=Out(params.bank_result),
            added=Out(1),
            error=Out(TableError),
            busy=Out(1),
            **({"far": Out(params.sum_command)} if params.slr_stages else {}),
        )

    def build(self, m: Module) -> None:
        params, command = self.params, self.command
        m.submodules.lists = lists = ReadyLists(params)
        m.submodules.rule = rule = BankRule(params)
        # Sums are stored separately from the rest of their aggregator, so that only an ADD writes
        # them, and the payload needs no gate in front of the adders.
        m.submodules.sums = sums = SumMemory(params)
        m.submodules.states = states = UpdateMemory(params.state_memory)
        is_read = read_bit(command.operation)
        outside = command.index >= command.region.count
        clearing = self.clear(m)
        address = Signal(params.slot_bits, reset_less=True)
        inside = low_bits(command.region.base + command.index, params.slot_bits)
        m.d.sync += address.eq(Mux(self.busy, clearing, Mux(is_read, lists.head, inside)))
        m.d.comb += [
            lists.pop.eq(is_read),
            lists.port.eq(command.port),
            self.ready.eq(lists.ready),
            self.soon.eq(lists.soon),
            sums.address.eq(delay(m, address, UpdateMemory.lead - SumMemory.lead, "sums_address")),
            states.address.eq(address),
            rule.clear.eq(delay(m, self.busy, self.ruling, "clear", reset_less=False)),
            rule.operation.eq(
                delay(m, command.operation, self.ruling, "operation", reset_less=False)
            ),
            rule.outside.eq(delay(m, outside, self.ruling, "outside")),
            rule.tag.eq(delay(m, command.tag, self.ruling, "tag")),
            rule.port.eq(delay(m, command.port, self.ruling, "port")),
            rule.descriptor.eq(delay(m, command.descriptor, self.ruling, "descriptor")),
        ]
        before = states.before
        slot = delay(m, address, UpdateMemory.lead, "slot")
        leaving = {"port": rule.port, "slot": slot, "tag": before.tag}
        m.d.comb += [
            rule.before.eq(before),
            rule.recent.eq(sums.recent),
            sums.payload.eq(self.payload),
            sums.keep.eq(rule.same),
            sums.write.eq(rule.added),
            *(
                getattr(sums, name).eq(delay(m, command.region[name], self.ruling, name))
                for name in params.maximum
            ),
            states.after.eq(rule.after),
            states.write.eq(rule.write),
            self.result_valid.eq(
                delay(m, rule.leaves, SumMemory.lag, "result_valid", reset_less=False)
            ),
            *(
                self.result[name].eq(delay(m, value, SumMemory.lag, f"result_{name}"))
                for name, value in leaving.items()
            ),
            self.result.sums.eq(sums.stored),
            lists.push.valid.eq(delay(m, rule.push, 1, "push", reset_less=False)),
            lists.push.slot.eq(delay(m, slot, 1, "push_slot")),
            lists.push.port.eq(delay(m, before.port, 1, "push_port")),
        ]
        m.d.sync += [self.added.eq(rule.added), self.error.eq(rule.error)]
        if params.slr_stages:
            reported = params.sum_command.members
            m.d.comb += [self.far[name].eq(getattr(sums, name)) for name in reported]
        self.state_expectations(m)

    def clear(self, m: Module) -> Signal:
        """Count through all aggregators after a reset; return which one is cleared now."""
        cleared = Signal(self.params.slot_bits)  # number of aggregators that were cleared
        busy = Signal(init=1)
        m.d.comb += self.busy.eq(busy)
        with m.If(busy):
            m.d.sync += [cleared.eq(cleared + 1), busy.eq(cleared != self.params.slots - 1)]
        return cleared

    def state_expectations(self, m: Module) -> None:
        """State the commands that are allowed."""
        command, region = self.command, self.command.region
        is_none = command.operation == BankOperation.NONE
        is_read = command.operation == BankOperation.READ
        expect(
            m,
            self,
            waits_until_all_is_cleared=lambda: is_none | ~self.busy,
            does_what_there_is=lambda: Value.cast(command.operation) <= BankOperation.READ.value,
            reads_what_is_ready=lambda: ~is_read | (self.ready >> command.port)[0],
            regions_are_in_the_bank=lambda: (
                is_none | is_read | (region.base + region.count <= self.params.slots)
            ),
        )
