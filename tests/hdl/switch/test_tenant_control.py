"""Every command of a host at any time against the golden tenants, while uses begin and end."""

import random
from dataclasses import dataclass, field

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.tenancy import TENANT_COMMAND, TenantRefusal
from hdl.switch.tenant_control import SETTLING, TenantControl
from sim.golden.tenancy import Tenancy
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate

PARAMS = TenantSwitchParams(ports=5, jobs=5, slots=1 << 16, lanes=1)
COMMANDS = ("start", "stop", "register", "release")
LEAST = 5  #: cycles that a job drains, so that a packet that was judged before is ruled on
PATIENCE = 4  #: cycles: under full load every fourth is taken for clearing


def test_tenant_control():
    uses = [f"uses_{k}" for k in range(PARAMS.jobs)]
    simulate(TenantControl(PARAMS), __name__, registers=uses)


@dataclass
class Acquire:
    """An acquire under way, and what may come of it: jobs may be given up meanwhile."""

    job: int
    operands: dict
    obstacles: list
    age: int = 0
    held: int = 0  #: slots for which a cycle was taken
    since: int = 0  #: cycles since the last of them
    refused: int = 0
    interrupted: bool = False
    cleared: list = field(default_factory=list)

    @property
    def epoch(self):
        return self.operands["epoch"]


class Bench:
    """The golden tenants, and what of the hardware's cycles is promised as bounds."""

    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator(TenantSwitchParams)
        self.layout = TenantControl(self.params).signature.members["table"].shape
        self.golden = Tenancy(self.params.ports, self.params.slots, self.params.jobs)
        self.uses = [0] * self.params.jobs  # under way
        self.idle = [0] * self.params.jobs  # cycles that a job drains with none under way
        self.age = [0] * self.params.jobs  # cycles that it drains
        self.reason = "NONE"
        self.longest = 0  # of idle
        self.pending = None  # the acquire that is carried out
        self.seen = set()

    def some_command(self):
        """Mostly a command that works, or nearly does; while one is carried out it holds still."""
        if self.pending:
            flags = {name: int(random.random() < 0.02) for name in COMMANDS}
            return self.pending.operands | flags
        command = unpack(TENANT_COMMAND, random.getrandbits(TENANT_COMMAND.size))
        command |= dict.fromkeys(COMMANDS, 0)
        if random.random() < 0.3:
            command[random.choice(COMMANDS)] = 1
        if random.random() < 0.03:
            command |= {name: random.getrandbits(1) for name in COMMANDS}
        command["job"] = random.randrange(self.params.jobs) | (random.random() < 0.02) << 10
        command["ports"] = random.getrandbits(self.params.ports) & random.getrandbits(5)
        command["ports"] |= (random.random() < 0.02) << random.randrange(5, 32)
        if random.random() < 0.5:
            command["has_parent"] = 0
        elif random.random() < 0.9:
            command["parent"] = random.randrange(self.params.ports)
        last = self.params.slots - 16
        base = random.choice((0, 0, 0x7FF8, 0x7FF8, last, 1 << random.randrange(5, 16)))
        base += random.randrange(16)
        ends = (self.params.slots - base, self.params.slots + 1 - base) if base >= last else ()
        count = random.choice((0, 1, 2, 5, 9, 14, *ends))
        command |= {"base": base, "count": count}
        tenant = self.golden.tenants.get(command["job"])
        if tenant and random.random() < 0.7:
            later = random.choice((0, 1, 1, 1, 2, (1 << 15) - 1, 1 << 15, (1 << 15) + 1))
            command["epoch"] = (tenant.epoch + later) % (1 << 16)
        command |= {"most": random.choice((0, 1, 2, 3, 5, 63)), "apart": random.getrandbits(1)}
        return command

    def some_progress(self):
        """A use of a job that holds the switch begins, or ends; just after a release they begin."""
        job, kind = random.randrange(self.params.jobs), random.random()
        tenant = self.golden.tenants.get(job)
        may = tenant and tenant.held
        late = self.age[job] > 3  # a packet that was judged before is ruled on by now
        began = may and kind < 0.3 and not late and self.uses[job] < self.params.slots
        ended = may and kind > 0.6 and self.uses[job] > 0
        return {"job": job, "began": int(bool(began)), "ended": int(bool(ended))}

    def count_many(self):
        """From now on a job has another number of uses under way."""
        job = random.randrange(self.params.jobs)
        tenant = self.golden.holders.get(job)
        if tenant and (self.uses[job] or not tenant.draining):  # it may have been given up by now
            count = random.choice((1, 2, 1 << random.randrange(17), 1 << random.randrange(8, 17)))
            getattr(self.dut, f"uses_{job}").value = self.uses[job] = count

    def check(self, waiting):
        """Compare what the ports show now."""
        dut = self.dut
        table = unpack(self.layout, int(dut.table.value))
        for number, entry in enumerate(table):
            self.end_drain(number, entry)
        self.proceed(waiting)
        for number, entry in enumerate(table):
            tenant = self.golden.tenants.get(number)
            if tenant is None:
                assert not entry["registered"]
                assert not entry["active"]
                continue
            end = tenant.base + tenant.count
            assert entry["registered"]
            assert (entry["ports"], entry["base"], entry["end"]) == (tenant.ports, tenant.base, end)
            assert entry["parent"] == tenant.everyone ^ tenant.ports
            assert (entry["active"], entry["draining"]) == (tenant.held, tenant.draining)
            assert entry["epoch"] == tenant.epoch
        assert TenantRefusal(int(dut.reason.value)).name == self.reason
        assert bool(dut.busy.value) == bool(self.pending)
        unfinished = sum((uses > 0) << k for k, uses in enumerate(self.uses))
        assert int(dut.unfinished.value) == unfinished
        self.seen.add(self.reason)

    def end_drain(self, number, entry):
        """A job that drains is given up soon after its last use, and never before."""
        tenant = self.golden.tenants.get(number)
        if tenant is None or not tenant.draining:
            self.age[number] = self.idle[number] = 0
            return
        self.age[number] += 1
        if entry["active"]:
            self.idle[number] = 0 if self.uses[number] else self.idle[number] + 1
            self.longest = max(self.longest, self.idle[number])
            return
        assert self.uses[number] == 0
        assert self.age[number] > LEAST
        self.golden.give_up(number)
        if self.pending:
            self.pending.obstacles.append(
                self.golden.obstacle(self.pending.job, self.pending.epoch)
            )

    def proceed(self, waiting):
        """A cycle of an acquire: refused in time, or its slots are cleared one by one."""
        dut, pending = self.dut, self.pending
        refused = int(dut.refused.value)
        if not pending:
            assert not dut.hold.value
            assert not refused
            return
        pending.age += 1
        pending.refused |= refused
        if dut.clear.value:
            pending.cleared.append((int(dut.slot.value), int(dut.ports.value)))
        if dut.busy.value:
            self.clears(pending, waiting)
        elif pending.refused:
            self.pending = None
            assert pending.refused == 1 << pending.job
            assert not pending.cleared
            assert pending.age <= self.params.jobs + 2
            reason, owner = TenantRefusal(int(dut.reason.value)).name, int(dut.owner.value)
            if not pending.interrupted:
                self.reason = reason
                self.explains(pending, reason, owner)
        else:
            self.pending = None
            assert self.golden.acquire(pending.job, pending.epoch) == (None, None)
            assert None in [refusal for refusal, _ in pending.obstacles]
            tenant = self.golden.tenants[pending.job]
            assert pending.cleared == [(slot, tenant.ports) for slot in tenant.places]

    def explains(self, pending, reason, owner):
        """The refusal is right; if a job was given up meanwhile, it may be seen or not."""
        (refusal, who), *later = pending.obstacles
        if later:
            assert reason.endswith("_TAKEN")
        else:
            assert reason == refusal.name
            assert who in (owner, None)

    def clears(self, pending, waiting):
        """Slots are cleared in cycles that no packet wants, or every fourth."""
        count = self.golden.tenants[pending.job].count
        if self.dut.hold.value:
            assert not waiting or not pending.held or pending.since >= PATIENCE - 1
            pending.since, pending.held = 0, pending.held + 1
            return
        pending.since += 1
        if pending.held and pending.held < count:
            assert waiting
            assert pending.since < PATIENCE
        elif not pending.held:
            assert pending.age <= self.params.jobs + 2 + PATIENCE

    def obey(self, command):
        """What the command does, from the next cycle on."""
        asked = [name for name in COMMANDS if command[name]]
        if self.pending:
            self.pending.interrupted = bool(asked)  # in the cycle before
            self.reason = "BUSY" if asked else self.reason
            return
        if not asked:
            return
        golden, job = self.golden, command["job"]
        golden.most, golden.apart = command["most"], bool(command["apart"])
        if asked[0] == "start":
            refusal, _ = obstacle = golden.obstacle(job, command["epoch"])
            if refusal is None or refusal.name.endswith("_TAKEN"):
                operands = command | dict.fromkeys(COMMANDS, 0)
                self.pending = Acquire(job, operands, obstacles=[obstacle])
                refusal = None
        elif asked[0] == "stop":
            refusal = golden.give_up(job)
            if refusal is None:
                self.uses[job] = 0
        elif asked[0] == "register":
            fields = {name: command[name] for name in ("ports", "epoch", "base", "count")}
            parent = command["parent"] if command["has_parent"] else None
            refusal = golden.register(job, parent=parent, **fields)
        else:
            refusal = golden.release(job)
        self.reason = refusal.name if refusal else "NONE"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def grants_as_the_golden_model_does(dut):
    dut.command.value = dut.waiting.value = dut.progress.value = 0
    bench = Bench(dut)
    await start(dut)
    for k in range(30000):
        command, progress = bench.some_command(), bench.some_progress()
        waiting = int(random.random() < (k // 100 % 3) / 2)
        dut.command.value, dut.waiting.value = pack(TENANT_COMMAND, command), waiting
        dut.progress.value = pack(bench.params.progress, progress)
        await RisingEdge(dut.clk)
        bench.check(waiting)
        bench.uses[progress["job"]] += progress["began"] - progress["ended"]
        bench.obey(command)
        if random.random() < 0.06:
            bench.count_many()
    assert bench.seen == {refusal.name for refusal in TenantRefusal}
    assert bench.longest <= SETTLING + 1
