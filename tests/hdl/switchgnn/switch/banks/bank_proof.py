"""States what is proven of a bank: its rule, apart regions, and that sums wait in one place."""

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from hdl.common.arithmetic import count_ones, delay, low_bits
from hdl.common.component import Component
from hdl.switchgnn.switch.banks.aggregator_params import BankOperation
from hdl.switchgnn.switch.banks.bank import Bank
from hdl.switchgnn.switch.banks.ready_lists import push_layout
from hdl.switchgnn.switch.banks.sum_memory import SumMemory
from hdl.switchgnn.switch.params import GnnSwitchParams
from tests.formal.claims import check, claim, granted, reach
from tests.hdl.switchgnn.switch.banks.bank_reference import BankReference
from tests.hdl.switchgnn.switch.banks.ready_lists_proof import follow_lists, list_inputs, list_peeks

BEHIND = Bank.latency


LOW_BITS = 2  #: of each sum are compared; simulations compare them all, an adder is an adder


def low(sums):
    """Return the bits of all sums that are compared."""
    return Cat(value[:LOW_BITS] for value in sums)


def in_region(command: Any, slot: int) -> Value:
    """Whether an aggregator is in the region of a command that has one."""
    operation, region = command.operation, command.region
    has_one = (operation != BankOperation.NONE) & (operation != BankOperation.READ)
    return has_one & (region.base <= slot) & (slot < region.base + region.count)


class BankProof(Component):
    """A :class:`Bank` with free commands that keep to what it expects, and what they should do.

    The reference does a command a step; it is compared in the cycle of the command's ``added``,
    and the memories hold its aggregators in every cycle. Resets may come at any time; then all
    aggregators are unknown until they are cleared.
    """

    peeks = {
        "sums": "dut.sums.entries.memory[*]",
        "states": "dut.states.entries.memory[*]",
        "clearing": "dut.cleared",
        "pushed": "dut.lists.push",
        "popped": "dut.lists.pop",
        "requested": "dut.lists.port",
        "head": "dut.lists.head",
        **list_peeks("dut.lists"),
    }

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            command=In(params.bank_command),
            payload=In(params.sums),
            sums=In(data.ArrayLayout(params.sums, params.slots)),
            states=In(data.ArrayLayout(params.state, params.slots)),
            clearing=In(params.slot_bits),
            pushed=In(push_layout(params)),
            popped=In(1),
            requested=In(params.port_bits),
            head=In(params.slot_bits),
            **list_inputs(params),
        )

    def build(self, m: Module) -> None:
        params, command = self.params, self.command
        m.submodules.dut = dut = granted(Bank(params))
        m.d.comb += [dut.command.eq(command), dut.payload.eq(self.payload)]
        lists = SimpleNamespace(
            push=self.pushed,
            pop=self.popped,
            port=self.requested,
            ready=dut.ready,
            soon=dut.soon,
            head=self.head,
        )
        follow_lists(m, params, lists, self, check)
        is_read = Signal()
        slot = Signal(params.slot_bits)  # that the command is for
        inside = low_bits(command.region.base + command.index, params.slot_bits)
        m.d.comb += [
            is_read.eq(command.operation == BankOperation.READ),
            slot.eq(Mux(dut.busy, self.clearing, Mux(is_read, self.head, inside))),
        ]
        entries = self.follow_rule(m, dut, slot)
        self.keep_regions_apart(m, dut, slot)
        # Reads take slots off their lists before they are done with the aggregator.
        reads, slots = [is_read], [slot]
        for _ in range(BEHIND):
            reads.append(delay(m, reads[-1], 1, f"read_{len(reads)}", reset_less=False))
            slots.append(delay(m, slots[-1], 1, f"slot_{len(slots)}"))
        for k, entry in enumerate(entries):
            under_way = [reads[age] & (slots[age] == k) for age in range(1, BEHIND + 1)]
            places = count_ones([self.listed[k], *under_way])
            claim(m, "waits_in_one_place_if_queued", places == entry.queued)
            with m.If(entry.complete):
                check(m, "complete_if_used", entry.used)
            check(m, "leaves_by_a_port", entry.port < params.ports)
            check(m, "used_if_it_expects_some", ~entry.used | (entry.expected != 0))

    def follow_rule(self, m: Module, dut: Bank, slot) -> list:
        """Model the aggregators; what the bank says and its memories are compared with them."""
        params = self.params
        m.submodules.reference = reference = BankReference(params)
        entries = [Signal(params.entry, name=f"entry_{k}") for k in range(params.slots)]
        cleared = Signal(params.slots)
        at = delay(m, slot, BEHIND, "at")
        clears = [dut.busy]
        for age in range(1, BEHIND + 1):
            clears.append(delay(m, clears[-1], 1, f"clear_{age}", reset_less=False))
        command = Signal(params.bank_command)
        requested = delay(m, self.command, BEHIND, "command")
        operation = delay(m, self.command.operation, BEHIND, "operation", reset_less=False)
        m.d.comb += [
            command.eq(requested),
            command.operation.eq(operation),
            reference.command.eq(command),
            reference.payload.eq(delay(m, self.payload, BEHIND - Bank.lead, "payload")),
            reference.before.eq(Array(entry.as_value() for entry in entries)[at]),
        ]
        for age in (1, 2):
            same_slot = delay(m, at, age, f"at_{age}") == at
            added = delay(m, reference.added, age, f"added_{age}", reset_less=False)
            with m.If(same_slot & added):
                m.d.comb += reference.recent.eq(1)
        for k, entry in enumerate(entries):
            with m.If((at == k) & clears[BEHIND]):
                m.d.sync += [entry.eq(0), entry.sums.eq(self.sums[k]), cleared[k].eq(1)]
            with m.Elif((at == k) & (operation != BankOperation.NONE)):
                m.d.sync += entry.eq(reference.after)
            with m.If(cleared[k]):
                for name in params.state.members:
                    check(m, f"memory_holds_{name}", self.states[k][name] == entry[name])
            held = delay(m, low(entry.sums), SumMemory.lag, f"held_{k}")
            with m.If(cleared[k] & delay(m, cleared[k], SumMemory.lag, f"cleared_{k}")):
                check(m, "memory_holds_sums", low(self.sums[k]) == held)
        self.follow_clearing(m, dut, slot, clears, cleared)
        result = delay(m, dut.result, BEHIND - Bank.read_latency, "result")
        valid = delay(m, dut.result_valid, BEHIND - Bank.read_latency, "valid", reset_less=False)
        claim(m, "added_by_rule", dut.added == reference.added)
        claim(m, "error_by_rule", dut.error == reference.error)
        claim(m, "leaves_by_rule", valid == reference.leaves)
        with m.If(valid):
            right = (result.port == command.port) & (result.slot == at)
            claim(m, "result_of_its_aggregator", right & (result.tag == reference.before.tag))
            claim(m, "result_has_the_sums", low(result.sums) == low(reference.before.sums))
        reach(m, "sum_of_two_leaves", valid & (reference.before.expected == 2))
        is_read = operation == BankOperation.READ
        reach(m, "waits_for_another_port", is_read & reference.after.queued)
        reach(m, "is_read_too_early", is_read & reference.recent & reference.before.complete)
        reach(m, "was_loaded_anew", is_read & ~reference.before.complete)
        return entries

    def follow_clearing(self, m: Module, dut: Bank, slot, clears: list, cleared) -> None:
        """Check that all aggregators are cleared before the bank takes commands."""
        slots = [slot]
        for age in range(1, BEHIND + 1):
            slots.append(delay(m, slots[-1], 1, f"clearing_{age}"))
        for k in range(self.params.slots):
            ages = range(1, BEHIND + 1)
            on_the_path = count_ones([clears[age] & (slots[age] == k) for age in ages]) != 0
            to_come = dut.busy & (self.clearing <= k)
            claim(m, "all_are_cleared", cleared[k] | on_the_path | to_come)
        quiet = ~dut.busy | (count_ones(list(self.listed)) == 0)
        check(m, "nothing_waits_while_clearing", quiet)

    def keep_regions_apart(self, m: Module, dut: Bank, slot) -> None:
        """Check that memories change only as a command of their region asks."""
        # From a command to the cycle behind that in which it is written; sums are written later.
        cycles = Bank.ruling + 2
        command: Any = delay(m, self.command, cycles, "written")
        adding: Any = delay(m, command, SumMemory.lag, "added")
        clears = delay(m, dut.busy, cycles, "written_clear")
        at = delay(m, slot, cycles, "written_at")
        running = Signal()  # there is a cycle before this one
        m.d.sync += running.eq(1)
        for k in range(self.params.slots):
            sums = delay(m, self.sums[k], 1, f"sums_{k}")
            state = delay(m, self.states[k], 1, f"state_{k}")
            summed = self.sums[k].as_value() != sums.as_value()
            changed = self.states[k].as_value() != state.as_value()
            read = (command.operation == BankOperation.READ) & (at == k)
            with m.If(running & summed):
                claim(m, "sums_change_in_their_region", in_region(adding, k))
            with m.If(running & changed):
                claim(m, "states_change_in_their_region", in_region(command, k) | read | clears)
