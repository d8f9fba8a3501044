"""Compares one command after the other with the golden tenants, while uses begin and end."""

import random
from dataclasses import dataclass, field, replace

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.tenancy import SHARING, TENANT_ANSWER
from hdl.switch.tenancy_head import COMMAND_KINDS
from hdl.switch.tenant_control import TenantControl
from sim.golden.tenancy import (
    Command,
    Reason,
    Sizes,
    State,
    Unit,
    Verb,
    at_start,
    drained,
    tenancy_rule,
)
from sim.harness.payloads import pack, unpack
from sim.harness.streams import started
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switch.tenant_commands import TAKEN, legal, packed, shown

PARAMS = TenantSwitchParams(ports=5, jobs=5, slots=1 << 16, lanes=1)
PATIENCE = 4  #: cycles: under full load every fourth is taken for clearing


def test_tenant_control():
    uses = [f"uses.uses_{k}" for k in range(PARAMS.jobs)]
    simulate(TenantControl(PARAMS), __name__, registers=[name.split(".")[1] for name in uses])


@dataclass
class Requested:
    """A command under way, with what may come of it, as draining grants may end meanwhile."""

    command: Command
    outcomes: list
    age: int = 0
    held: int = 0  #: slots for which a cycle was taken
    since: int = 0  #: cycles since the last of them
    refused: int = 0
    ends: bool = False  #: it is of a grant
    cleared: list = field(default_factory=list)


class Bench:
    """Keeps the golden tenants, and checks the hardware's cycles against their promised bounds."""

    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator(TenantSwitchParams)
        self.control = TenantControl(self.params)
        self.layout = self.control.signature.members["table"].shape
        self.sizes = Sizes(ports=self.params.ports, slots=self.params.slots, jobs=self.params.jobs)
        self.tenants = at_start(self.sizes)
        self.uses = [0] * self.params.jobs  # under way
        self.idle = [0] * self.params.jobs  # cycles that a job drains with none under way
        self.age = [0] * self.params.jobs  # cycles that it drains
        self.requested = None
        self.last = None
        self.seen = set()
        self.first = [  # commands
            *(legal(ports=1 << (parent == 0), parent=parent) for parent in range(256)),
            *(legal(ports=1 | 1 << k) for k in range(32)),
            *(legal(count=1 | 1 << k) for k in range(32)),
            *(legal(job=1 << k) for k in range(16)),
            replace(legal(job=3), verb=Verb.RELEASE, epoch=1, force=True),
            replace(legal(job=3), verb=Verb.ACQUIRE, epoch=1),
            legal(job=3, base=self.params.slots - 1),
            replace(legal(job=3), verb=Verb.ACQUIRE),
        ]  # the last one first

    def some_command(self):
        """Draw a command that mostly works, or nearly does; often one that was given before."""
        if self.first:
            return self.first.pop()
        if self.last and random.random() < 0.1:
            return self.last
        job = random.randrange(self.params.jobs if random.random() < 0.95 else 8)
        job |= (random.random() < 0.06) << random.randrange(3, 16)
        ports = random.getrandbits(self.params.ports) & random.getrandbits(5)
        if random.random() < 0.5:
            ports = 1 << random.randrange(self.params.ports)  # apart from most others
        ports |= (random.random() < 0.02) << random.choice((31, random.randrange(5, 32)))
        parent = None
        if random.random() < 0.5:
            parent = random.randrange(self.params.ports if random.random() < 0.9 else 256)
        last = self.params.slots - 16
        base = random.choice((0, 0, 0x7FF8, 0x7FF8, last, 1 << random.randrange(5, 16)))
        base += random.randrange(16)
        ends = (self.params.slots - base, self.params.slots + 1 - base) if base >= last else ()
        count = random.choice((0, 1, 2, 5, 9, 14, *ends))
        count |= (random.random() < 0.05) << random.randrange(17, 32)
        verb = random.choice((Verb.REGISTER, Verb.ACQUIRE, Verb.ACQUIRE, Verb.RELEASE))
        self.last = Command(
            verb=verb,
            switch=0,
            job=job,
            epoch=self.some_epoch(job, verb),
            force=random.random() < 0.4,
            ports=ports,
            parent=parent,
            base=base,
            count=count,
        )
        return self.last

    def some_epoch(self, job, verb):
        """Draw an epoch, mostly near one that the job has had, and often one recent enough to
        count.
        """
        tenant = self.tenants[job] if job < self.params.jobs else None
        if tenant is None or random.random() < 0.05:
            return random.choice((0, random.getrandbits(20), random.getrandbits(32)))
        if random.random() < 0.6:
            return (tenant.closed + (verb is not Verb.REGISTER)) & 0xFFFFFFFF
        known = random.choice((tenant.closed, tenant.epoch))
        step = random.choice((0, 0, 1, 1, 2, -1, 1 << random.randrange(16)))
        return max(0, known + step) & 0xFFFFFFFF

    def some_progress(self):
        """Let uses of a job that holds the switch begin or end; after a release few begin."""
        job, kind = random.randrange(self.params.jobs), random.random()
        tenant = self.tenants[job]
        may = tenant is not None and tenant.holds
        late = self.age[job] > 3  # a packet that was judged before is ruled on by now
        began = may and kind < 0.35 and not late and self.uses[job] < self.params.slots
        ended = may and (kind > 0.6 or kind < 0.05) and self.uses[job] > 0
        return {"job": job, "began": int(bool(began)), "ended": int(bool(ended))}

    def count_many(self):
        """From now on a job has another number of uses under way."""
        job = random.randrange(self.params.jobs)
        tenant = self.tenants[job]
        drains = self.age[job] > 0  # then it may be given up by now
        if tenant and tenant.holds and (self.uses[job] or not drains):
            count = random.choice((1, 2, 1 << random.randrange(17), 1 << random.randrange(8, 17)))
            getattr(self.dut.uses, f"uses_{job}").value = self.uses[job] = count

    def check(self, waiting):
        """Compare what the ports show in this cycle."""
        table = unpack(self.layout, int(self.dut.table.value))
        for number, entry in enumerate(table):
            self.end_drain(number, entry)
        if self.requested is None:
            assert not self.dut.hold.value
            assert not self.dut.refused.value
            assert not self.dut.answered.value
        else:
            self.proceed(waiting, table)
        for number, entry in enumerate(table):
            if self.requested is None or number != self.requested.command.job:
                assert entry == shown(self.params, self.tenants[number]), number
            if not entry["active"]:
                self.uses[number] = 0
        unfinished = sum((uses > 0) << k for k, uses in enumerate(self.uses))
        assert int(self.dut.unfinished.value) == unfinished
        item = random.randrange(self.params.jobs)
        if table[item]["active"]:
            assert int(getattr(self.dut.uses, f"uses_{item}").value) == self.uses[item]

    def end_drain(self, number, entry):
        """A job that has drained for long enough is given up when it has no use under way."""
        if entry["draining"]:
            assert self.age[number] <= PARAMS.settling or not self.idle[number]
            self.age[number] += 1
            self.idle[number] = 0 if self.uses[number] else self.idle[number] + 1
            return
        age, self.age[number] = self.age[number], 0
        self.idle[number] = 0
        if not age:
            return
        assert not entry["active"]
        if self.uses[number] or age <= PARAMS.settling:
            assert self.is_forced(number)
        elif self.tenants[number].state is State.DRAINING:
            self.tenants = drained(self.tenants, number)
            self.may_become()

    def is_forced(self, number):
        """Whether a job is released by force now."""
        command = self.requested and self.requested.command
        return command and command.job == number and command.force

    def is_granted(self, command):
        """Whether the number of a command, or one below, is that of a grant."""
        tenant = self.tenants[command.job] if command.job < self.params.jobs else None
        granted = tenant is not None and tenant.state is State.GRANTED
        return granted and tenant.epoch <= command.epoch

    def may_become(self):
        """Whether one of the possible outcomes of the command is what the tenants show now."""
        if self.requested is not None:
            command = self.requested.command
            outcomes = [tenancy_rule(self.sizes, self.tenants, command, f) for f in (False, True)]
            self.requested.outcomes += outcomes if command.verb is Verb.RELEASE else outcomes[:1]

    def proceed(self, waiting, table):
        """Play a cycle of a command: it is answered in time, or slots are cleared one by one."""
        dut, requested = self.dut, self.requested
        requested.age += 1
        requested.refused |= int(dut.refused.value)
        if dut.clear.value:
            requested.cleared.append((int(dut.slot.value), int(dut.ports.value)))
        if dut.hold.value:
            assert not waiting or not requested.held or requested.since >= PATIENCE - 1
            requested.since, requested.held = 0, requested.held + 1
        else:
            requested.since += 1
            assert requested.since <= PATIENCE or not requested.held or dut.answered.value
        if dut.answered.value:
            self.requested = None
            self.answers(requested, table)

    def answers(self, requested, table):
        """The answer is the golden one, of the tenants as they were when it was decided."""
        command, answer = requested.command, unpack(TENANT_ANSWER, int(self.dut.answer.value))
        reported = (
            answer["kind"].name,
            answer["reason"].name,
            answer["owner"],
            answer["owner_epoch"],
        )
        for outcome in requested.outcomes:
            golden = outcome.answer
            owner = golden.owner, golden.owner_epoch
            if reported == (golden.verb.name, golden.reason.name, *owner):
                break
        else:
            raise AssertionError(f"{reported} is none of {requested.outcomes}")
        self.seen.add(reported[:2])
        assert requested.refused == (golden.reason in TAKEN) << command.job
        if outcome.cleared is None:
            assert not requested.cleared
        else:
            item = outcome.tenants[command.job]
            assert requested.cleared == [(slot, item.ports) for slot in item.slots]
        late = requested.age - self.control.latency
        ends = (0, self.control.ending) if command.verb is Verb.RELEASE else (0,)
        assert late in ends or requested.cleared
        if reported[0] == "DRAINING" or (
            reported[0] == "RELEASED" and command.force and requested.ends
        ):
            assert late == self.control.ending
        self.tenants = tuple(
            after if job == command.job else before
            for job, (before, after) in enumerate(zip(self.tenants, outcome.tenants, strict=True))
        )
        for job, entry in enumerate(table):
            if job == command.job and not entry["active"]:  # it may have drained meanwhile
                self.tenants = drained(self.tenants, job)

    def share(self):
        """Others may hold the switch from the next command on."""
        most, apart = random.choice((0, 1, 2, 3, 5, 32, 63)), random.random() < 0.5
        self.dut.sharing.value = pack(SHARING, {"most": most, "apart": int(apart)})
        self.sizes = replace(self.sizes, most=most, unit=Unit.PORT if apart else Unit.SWITCH)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def grants_as_the_golden_model_does(dut):
    dut.commands_valid.value = dut.waiting.value = dut.progress.value = dut.sharing.value = 0
    bench = await started(Bench(dut))
    offered = None
    for k in range(60000):
        if offered is None and random.random() < 0.3:
            if bench.requested is None:
                bench.share()
            offered = bench.some_command()
            dut.commands_payload.value = packed(offered)
        progress, waiting = bench.some_progress(), int(random.random() < (k // 100 % 3) / 2)
        dut.commands_valid.value, dut.waiting.value = int(offered is not None), waiting
        dut.progress.value = pack(bench.params.progress, progress)
        await RisingEdge(dut.clk)
        bench.check(waiting)
        assert bool(dut.commands_ready.value) == (
            bench.requested is None and not dut.answered.value
        )
        bench.uses[progress["job"]] += progress["began"] - progress["ended"]
        if offered is not None and dut.commands_ready.value:
            bench.requested, offered = Requested(offered, []), None
            bench.may_become()
            bench.requested.ends = bench.is_granted(bench.requested.command)
        if random.random() < 0.06:
            bench.count_many()
    verbs = {verb.name for verb in Verb} - {kind.name for kind in COMMAND_KINDS}
    assert {verb for verb, _ in bench.seen} == verbs
    assert {reason for _, reason in bench.seen} == {reason.name for reason in Reason}
