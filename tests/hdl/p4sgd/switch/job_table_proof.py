"""States what is proven of the job table: what it promises the aggregator, and apart jobs."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.job_control import State
from hdl.switch.job_table import JobTable
from hdl.switch.params import COMMAND
from hdl.switch.slot_clearing import TURNS
from tests.formal.claims import check, claim, granted, reach
from tests.formal.promises import RequestPromises

CLEARING = 3  #: cycles from the table to a slot that is cleared, seen from the aggregator


class JobTableProof(Component):
    """Has a :class:`JobTable` with free packets and commands: requests are as promised.

    Every request is of a slot that was last cleared for the packet's own job and ports: jobs never
    touch each other's slots. Assumed is what the table asks for: one port sends a packet, none
    in the cycle behind ``hold``, and operands hold still while it is ``busy`` and a cycle longer.
    """

    #: Inputs that are wired to what is inside instead.
    peeks = {"table": "dut.control.table", "state": "dut.control.state"}
    states = State  #: of the control of jobs
    command_layout = COMMAND

    def __init__(self, params: SwitchParams) -> None:
        super().__init__(
            params,
            command=In(self.command_layout),
            waiting=In(1),
            packet_valid=In(1),
            sender=In(params.ports),
            packet=In(params.packet),
            table=In(data.ArrayLayout(params.job, params.jobs)),
            state=In(self.states),
            **self.more_inputs(params),
        )

    def more_inputs(self, params) -> dict:
        """Return none but those of every job table."""
        return {}

    def give(self, m: Module, dut: JobTable) -> None:
        """Give the table any commands."""
        m.d.comb += dut.command.eq(self.command)

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.dut = dut = granted(JobTable(params))
        m.submodules.requested = requested = RequestPromises(params)
        self.give(m, dut)
        m.d.comb += [
            dut.waiting.eq(self.waiting),
            dut.packet_valid.eq(self.packet_valid),
            dut.sender.eq(self.sender),
            dut.packet.eq(self.packet),
            requested.slot.eq(delay(m, dut.slot, dut.latency, "slot")),
            requested.valid.eq(dut.valid),
            requested.clear.eq(dut.clear),
            requested.request.eq(dut.request),
            requested.announced.eq(delay(m, dut.ahead, 1, "ahead")),
        ]
        owners = Array(Signal(params.job_bits, name=f"owner_{k}") for k in range(params.slots))
        job = delay(m, self.command.job, CLEARING, "job")  # of the command that clears
        with m.If(dut.clear):
            m.d.sync += owners[requested.slot].eq(job[: params.job_bits])
        had = delay(m, self.packet_valid, dut.latency, "had", reset_less=False)
        claim(m, "requests_as_promised", requested.stored)
        claim(m, "valid_or_refused", had == (dut.valid ^ (dut.refused != params.verdict.NONE)))
        claim(m, "nothing_twice", ~(dut.valid & (dut.refused != params.verdict.NONE)))
        with m.If(dut.valid):
            claim(m, "slot_of_the_job", dut.request.header.job == owners[requested.slot])
        self.tables(m)
        self.slots(m, requested, owners)
        for k in range(params.jobs):
            own = dut.valid & (dut.request.header.job == k)
            others = [self.table[j].active for j in range(params.jobs) if j != k]
            reach(m, f"packet_of_job_{k}_beside_others", own & Cat(others).all())
        self.happenings(m, dut, requested)

    def happenings(self, m: Module, dut: JobTable, requested: RequestPromises) -> None:
        """Reach the first and last slot, a start under load, and one of a job that runs."""
        slots, clearing = self.params.slots, self.state == State.PREPARE
        first = Signal()  # a packet of slot 0 has gone on
        runs = Signal()  # the job that is being started was active
        with m.If(dut.valid & (requested.slot == 0)):
            m.d.sync += first.eq(1)
        with m.If(~clearing):
            index = self.command.job[: self.params.job_bits]
            m.d.sync += runs.eq(Array(job.active for job in self.table)[index])
        reach(m, "first_and_last_slot", dut.valid & (requested.slot == slots - 1) & first)
        reach(m, "holds_ports_that_wait", dut.hold & self.waiting)
        reach(m, "starts_one_that_runs", clearing & runs)
        reach(m, "all_slots_of_one_job", clearing & (self.command.count == slots))

    def tables(self, m: Module) -> None:
        """Claim of the table at any time that jobs are apart, even one that is being started."""
        params, command = self.params, self.command
        index = command.job[: params.job_bits]
        end = command.base + command.count
        clearing = self.state == State.PREPARE
        for k in range(params.jobs):
            job = self.table[k]
            with m.If(job.active):
                claim(m, "job_has_ports_and_slots", (job.ports != 0) & (job.base < job.end))
                claim(m, "slots_exist", job.end <= params.slots)
                for other in (self.table[j] for j in range(k)):
                    with m.If(other.active):
                        claim(m, "ports_apart", (job.ports & other.ports) == 0)
                        claim(m, "slots_apart", (job.end <= other.base) | (other.end <= job.base))
            with m.If(clearing & (index != k) & job.active):
                check(m, "start_keeps_ports_apart", (job.ports & command.ports) == 0)
                slots_apart = (job.end <= command.base) | (end <= job.base)
                check(m, "start_keeps_slots_apart", slots_apart)
            with m.If(clearing & (index == k)):
                check(m, "start_entered", ~job.active & (job.ports == command.ports))
                check(m, "slots_entered", (job.base == command.base) & (job.end == end))
        with m.If(clearing):
            check(m, "ports_exist", (command.ports != 0) & (command.ports >> params.ports == 0))
            check(m, "start_in_range", (command.job < params.jobs) & (end <= params.slots))
        self.clears_in_time(m, clearing)

    def clears_in_time(self, m: Module, clearing: Value) -> None:
        """Claim that a start ends under any load; induction need not look back further."""
        cycles = Signal(range(TURNS * self.params.slots + 1))
        m.d.sync += cycles.eq(Mux(clearing, cycles + 1, 0))
        claim(m, "cleared_in_time", ~clearing | (cycles < TURNS * self.params.slots))

    def slots(self, m: Module, requested: RequestPromises, owners) -> None:
        """Claim what slots of a job are, as they have arrived at the aggregator."""
        params = self.params
        table = delay(m, self.table, CLEARING, "table", reset_less=False)
        for slot in range(params.slots):
            for k in range(params.jobs):
                job = table[k]
                with m.If(job.active & (slot >= job.base) & (slot < job.end)):
                    check(m, "slot_cleared", requested.cleared[slot])
                    check(m, "slot_of_the_ports", requested.everyone[slot] == job.ports)
                    check(m, "slot_owned", owners[slot] == k)
