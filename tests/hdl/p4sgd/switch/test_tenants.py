"""A switch that jobs hold in turn: frames of all of them at any time, against the golden model."""

import random

import cocotb
from cocotb.triggers import ClockCycles

from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.tenancy import TenantRefusal
from sim.golden.tenancy import EPOCHS, Refusal
from sim.harness.switch_driver import CommandRefused
from sim.harness.verilator import params_in_simulator, simulate
from sim.p4sgd.golden.allreduce import SwitchSlot, Verdict
from sim.p4sgd.golden.frames import BYTES, LANES
from sim.p4sgd.golden.tenant_switch import TenantSwitchModel, Ungranted
from sim.p4sgd.tenant_driver import TenantDriver
from tests.hdl.p4sgd.switch.bench import Arrival, Bench
from tests.hdl.p4sgd.switch.traffic import choose_packet, choose_payload

PARAMS = TenantSwitchParams(ports=4, slots=16, jobs=4, ingress_depth=32, egress_depth=16)
#: jobs overlap in ports and slots as registered; two of them only in the port to a parent
REGISTERED = {
    0: {"ports": 0b0011, "base": 0, "count": 4},
    1: {"ports": 0b1100, "base": 4, "count": 6},
    2: {"ports": 0b1111, "base": 2, "count": 4},
    3: {"ports": 0b0011, "parent": 3, "base": 12, "count": 4},
}
SETTLED = 40  #: cycles in which a job that has nothing under way is given up


def test_tenants():
    simulate(Switch(PARAMS), __name__)


class TenantBench(Bench):
    """A switch with all jobs registered, in hardware and in the model."""

    model_type, driver_type = TenantSwitchModel, TenantDriver

    async def register(self):
        for number, fields in REGISTERED.items():
            epoch = random.getrandbits(16)
            assert self.model.tenancy.register(number, epoch=epoch, **fields) is None
            fields = fields | {"slots": fields["count"]}
            del fields["count"]
            await self.host.register(number, epoch=epoch, **fields)
        return self

    async def share(self, most, apart):
        self.model.tenancy.most, self.model.tenancy.apart = most, apart
        await self.host.share(most=most, apart=apart)

    async def acquire(self, number):
        """Granted, or refused for the same reason with the same owner; whether it was granted."""
        epoch = self.later(number)
        reason, owner = self.model.acquire(number, epoch)
        if reason is None:
            await self.host.acquire(number, epoch)
            assert await self.host.read("granted_epoch") == epoch
            return True
        refused = await refusal(self.host.acquire(number, epoch))
        assert refused.reason.name == reason.name
        assert owner is None or refused.owner == owner
        return False

    def later(self, number):
        """An epoch for the job's next grant."""
        return (self.model.tenancy.tenants[number].epoch + random.choice((1, 1, 5))) % EPOCHS

    async def release(self, number):
        assert self.model.tenancy.release(number) is None
        await self.host.release(number)
        await self.settle()

    async def settle(self):
        """Jobs that drain are given up if nothing of them is under way, and not before."""
        await ClockCycles(self.dut.clk, SETTLED)
        for number, tenant in self.model.tenancy.holders.items():
            if tenant.draining and not self.model.unfinished(number):
                self.model.give_up(number)
        await self.state_agrees()

    async def state_agrees(self):
        holders = self.model.tenancy.holders
        expected = {
            "registered_jobs": sum(1 << k for k in self.model.tenancy.tenants),
            "active_jobs": sum(1 << k for k in holders),
            "draining_jobs": sum(1 << k for k, one in holders.items() if one.draining),
            "unfinished_jobs": sum(1 << k for k in holders if self.model.unfinished(k)),
        }
        assert {name: await self.host.read(name) for name in expected} == expected

    def some_frame(self):
        """Of any job, by any port, mostly one that carries on what the job has begun."""
        model, jobs = self.model, set(REGISTERED)
        holders = model.tenancy.holders.items()
        ended = {k for k, one in holders if one.draining and not model.unfinished(k)}
        number = random.choice(sorted(jobs - ended))  # in which cycle those are given up is open
        fields, job = REGISTERED[number], model.active.get(number)
        seq = fields["base"] + random.randrange(fields["count"])
        slot = job.slot(seq) if job else SwitchSlot.at_start(fields["ports"], LANES)
        is_agg, port, use = choose_packet(slot, fields["ports"])
        changes = {"epoch": model.tenancy.tenants[number].epoch}
        if random.random() < 0.1:
            port = random.randrange(self.params.ports)
        if random.random() < 0.05:
            changes |= random.choice(
                ({"epoch": changes["epoch"] ^ 1}, {"job": 4 + number}, {"bm": 15}, {"acked": True})
            )
        if random.random() < 0.05:
            seq = random.randrange(self.params.slots)
        payload = choose_payload(LANES)
        number = changes.pop("job", number)
        frame = self.frame(port, number, seq, use, payload, is_agg=is_agg, **changes)
        return Arrival(port, frame.to_bytes(), random.random() < 0.02)

    async def counters_agree(self):
        """Whatever is counted by port is counted by job, of those that name one."""
        await self.check_verdicts()
        model = self.model
        for number in range(self.params.jobs):
            golden = dict.fromkeys(await self.host.tenant_verdicts(number), 0)
            for (job, verdict), count in model.by_job.items():
                if job == number:
                    golden[verdict.name] = count
            assert await self.host.tenant_verdicts(number) == golden
            counts = await self.host.tenant(number)
            assert counts["operations"] == model.operations[number]
            assert counts["bytes"] == BYTES * sum(golden.values())


async def refusal(command):
    """Why the switch refuses a command."""
    try:
        await command
    except CommandRefused as refused:
        return refused
    raise AssertionError("the command was carried out")


async def begin(dut):
    bench = await TenantBench(dut, params_in_simulator(TenantSwitchParams)).begin()
    return await bench.register()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def jobs_hold_it_in_turn(dut):
    """Frames of jobs without a grant change nothing; of one that drains, no use begins."""
    bench = await begin(dut)
    outcomes = set()
    for k in range(120):
        if k % 15 == 0:
            await bench.share(*((1, False), (4, True), (2, False), (4, False))[k // 15 % 4])
        number = random.randrange(bench.params.jobs)
        tenant = bench.model.tenancy.tenants[number]
        if tenant.held and random.random() < 0.25:
            bench.model.give_up(number)
            await bench.host.stop_job(number)
            outcomes.add("by force")
        elif tenant.held and not tenant.draining:
            await bench.release(number)
            outcomes.add("drains" if tenant.held else "nothing to drain")
        elif not tenant.held:
            outcomes.add("granted" if await bench.acquire(number) else "refused")
            if tenant.held and random.random() < 0.3:
                await bench.release(number)
                assert not tenant.held
        drains = [one for one in bench.model.tenancy.holders.values() if one.draining]
        await bench.exchange(bench.some_frame() for _ in range(50))
        await bench.settle()
        outcomes |= {"drained" for one in drains if not one.held}
    assert outcomes >= {"by force", "drained", "drains", "granted", "refused"}
    await bench.counters_agree()
    met = {verdict for _, verdict in bench.model.counters}
    assert {Ungranted.NOT_GRANTED, Ungranted.DRAINING, Verdict.WRONG_RUN, Verdict.WRONG_SLOT} <= met


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_refusal_names_the_owner(dut):
    bench = await begin(dut)
    host = bench.host
    ways = [
        (1, False, 1, TenantRefusal.SWITCH_TAKEN),  # by switch
        (4, True, 3, TenantRefusal.PORTS_TAKEN),  # by port
        (4, False, 2, TenantRefusal.SLOTS_TAKEN),  # by number: slots all the same
    ]
    for most, apart, number, reason in ways:
        await bench.share(most, apart)
        assert await bench.acquire(0)
        refused = await refusal(host.acquire(number, bench.later(number)))
        assert (refused.reason, refused.owner) == (reason, 0)
        assert (await refusal(host.acquire(0, bench.later(0)))).reason is TenantRefusal.HELD
        old = bench.model.tenancy.tenants[0].epoch
        assert (await refusal(host.acquire(0, old))).reason is TenantRefusal.OLD
        bench.model.give_up(0)
        await host.stop_job(0)
        assert (await refusal(host.release(0))).reason is TenantRefusal.NOT_GRANTED
    await bench.share(4, True)
    assert await bench.acquire(3)
    refused = await refusal(host.acquire(1, bench.later(1)))
    assert (refused.reason, refused.owner) == (TenantRefusal.PORTS_TAKEN, 3), "the parent's port"
    taken = {"ports": 0b0011, "parent": 1, "epoch": 0, "base": 0, "slots": 1}
    assert (await refusal(host.register(0, **taken))).reason is TenantRefusal.BAD_PORTS
    assert (await refusal(host.acquire(bench.params.jobs, 1))).reason is TenantRefusal.NO_SUCH_JOB
    assert (await host.tenant(0))["grants"] == len(ways)
    assert [(await host.tenant(k))["refusals"] for k in (1, 2, 3)] == [2, 1, 1]
    assert {reason.name for reason in Refusal} <= {reason.name for reason in TenantRefusal}


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def cycles_of_a_grant_are_counted(dut):
    """Those that it is held, and those in which a use is under way."""
    bench = await begin(dut)
    await bench.share(1, False)
    await bench.acquire(0)
    fields = REGISTERED[0]
    idle = await bench.host.tenant(0)
    assert idle["busy_cycles"] == 0
    for is_agg in (True, False):
        frames = [bench.frame(port, 0, fields["base"], 0, is_agg=is_agg) for port in (0, 1)]
        await bench.exchange([Arrival(k, frame.to_bytes()) for k, frame in enumerate(frames)])
        if is_agg:
            assert await bench.host.read("unfinished_jobs") == 1
    ended = await bench.host.tenant(0)
    assert (ended["operations"], ended["bytes"]) == (1, 4 * BYTES)
    assert 0 < ended["busy_cycles"] < ended["granted_cycles"] - idle["granted_cycles"]
    await bench.release(0)
    after = await bench.host.tenant(0)
    await ClockCycles(dut.clk, 500)
    assert await bench.host.tenant(0) == after
