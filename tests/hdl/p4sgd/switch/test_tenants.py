"""Compares a switch that jobs hold in turn with its golden model: frames of all at any time."""

import random

import cocotb
from cocotb.triggers import ClockCycles

from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.tenancy_head import Reason, TenancyKind
from sim.golden import tenancy_frames
from sim.golden.reduction.allreduce import Verdict
from sim.golden.reduction.frames import BYTES
from sim.golden.tenancy import Command, Refused, Verb
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.switch.bench import ANSWERED, OPEN, REGISTERED, Arrival, TenantBench

PARAMS = TenantSwitchParams(ports=4, slots=16, jobs=4, ingress_depth=32, egress_depth=16)


def test_tenants():
    simulate(Switch(PARAMS), __name__)


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
        tenant = bench.model.tenants[number]
        if tenant.holds and random.random() < 0.25:
            await bench.release(number, force=True)
            outcomes.add("by force")
        elif tenant.holds:
            outcomes.add((await bench.release(number)).verb)
        else:
            outcomes.add((await bench.acquire(number)).verb)
            if bench.model.tenants[number].holds and random.random() < 0.3:
                outcomes.add((await bench.release(number)).verb)
                assert number not in bench.model.holders
        before = bench.model.holders
        await bench.exchange(bench.some_frame() for _ in range(50))
        await bench.settle()
        outcomes |= {"drained" for k in before if k not in bench.model.holders}
    assert outcomes >= {"by force", "drained", *list(Verb)[-4:]}
    await bench.counters_agree()
    met = {verdict for _, verdict in bench.model.counters}
    assert {Refused.NOT_GRANTED, Refused.DRAINING, Verdict.WRONG_RUN, Verdict.WRONG_SLOT} <= met


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_refusal_names_the_owner(dut):
    bench = await begin(dut)
    ways = [
        (1, False, 1, Reason.SWITCH_TAKEN),  # by switch
        (4, True, 3, Reason.PORTS_TAKEN),  # by port
        (4, False, 2, Reason.SLOTS_TAKEN),  # by number: slots all the same
    ]
    for most, apart, number, reason in ways:
        await bench.share(most, apart)
        assert (await bench.acquire(0)).verb is Verb.GRANTED
        refused = await bench.acquire(number)
        assert (refused.reason.name, refused.owner) == (reason.name, 0)
        assert refused.owner_epoch == bench.last[0]
        old = bench.last[0]
        assert (await bench.order(Verb.ACQUIRE, 0, old)).verb is Verb.GRANTED, "repeated"
        assert (await bench.acquire(0)).reason.name == "HELD"
        bench.last[0] = old
        assert (await bench.order(Verb.RELEASE, 0, old - 1)).verb is Verb.RELEASED
        assert bench.model.tenants[0].holds, "of an earlier grant"
        assert (await bench.release(0, force=True)).verb is Verb.RELEASED
        assert (await bench.order(Verb.ACQUIRE, 0, old)).reason.name == "OLD"
        assert (await bench.release(0)).verb is Verb.RELEASED
    await bench.share(4, True)
    assert (await bench.acquire(3)).verb is Verb.GRANTED
    refused = await bench.acquire(1)
    assert (refused.reason.name, refused.owner) == ("PORTS_TAKEN", 3), "the parent's port"
    taken = {"ports": 0b0011, "parent": 1, "base": 0, "count": 1}
    assert (await bench.order(Verb.REGISTER, 0, 1 << 31, **taken)).reason.name == "BAD_PORTS"
    for verb in (Verb.REGISTER, Verb.ACQUIRE, Verb.RELEASE):
        for job in (bench.params.jobs, (1 << 16) - 1):
            assert (await bench.order(verb, job, 1, **taken)).reason.name == "NO_SUCH_JOB"
    assert (await bench.host.tenant_counters(0))["grants"] == len(ways)
    assert [(await bench.host.tenant_counters(k))["refusals"] for k in (1, 2, 3)] == [2, 1, 1]


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def ports_that_are_closed_take_no_commands(dut):
    """A command with one wrong bit is none, either: it is counted as a packet."""
    bench = await begin(dut)
    acquire = Command(verb=Verb.ACQUIRE, switch=0, job=0, epoch=1 << 31)
    for port in range(bench.params.ports):
        answer = await bench.order_by_frame(acquire, port)
        assert (answer is not None) == bool(OPEN >> port & 1)
    to = {"destination": bench.model.address, "source": bytes(6)}
    wire = tenancy_frames.to_bytes(acquire, **to)
    broken = [Arrival(1, wire, corrupt=True), Arrival(1, bytes([wire[0] ^ 1]) + wire[1:])]
    for at, value in [(12, 0), (14, 9), (15, 16), (15, 31), (15, 35), (15, 40), (44, 4), (59, 128)]:
        broken.append(Arrival(1, wire[:at] + bytes([value]) + wire[at + 1 :]))
    for at in (22, 28, 39):  # what only an answer says
        broken.append(Arrival(1, wire[:at] + b"\x01" + wire[at + 1 :]))
    broken += [Arrival(1, wire[:59]), Arrival(1, wire + bytes(1)), Arrival(1, wire + bytes(60))]
    await bench.exchange(broken)
    await bench.counters_agree()


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_port_has_one_command_at_a_time(dut):
    """Others that come meanwhile are lost and counted; each that is taken is answered."""
    bench = await begin(dut)
    job = bench.params.jobs  # none: the answer is the same at any time
    to = {"destination": bench.model.address, "source": bytes(6)}
    acquire = Command(verb=Verb.ACQUIRE, switch=7, job=job, epoch=1)
    wire = tenancy_frames.to_bytes(acquire, **to)
    schedule, _ = bench.answers([Arrival(k, wire) for k in range(bench.params.ports)] * 20)
    before = {port: await bench.host.control_counters(port) for port in range(bench.params.ports)}
    await bench.play(schedule, after=ANSWERED)
    answer = tenancy_frames.to_bytes(bench.model.command(acquire), source=bench.model.address)
    for port in range(bench.params.ports):
        after = await bench.host.control_counters(port)
        counts = {name: after[name] - before[port][name] for name in after}
        assert sum(counts.values()) == 20
        assert counts["commands"] == len(bench.seen[port])
        assert all(data == answer for _, data in bench.seen[port])
        is_open = OPEN >> port & 1
        assert bool(counts["lost_commands"]) == bool(counts["commands"]) == is_open
        assert bool(counts["closed_commands"]) != is_open


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_host_has_one_command_at_a_time(dut):
    """Another that comes meanwhile is ignored, and the host is told until the next one."""
    bench = await TenantBench(dut, params_in_simulator(TenantSwitchParams)).begin()
    host = bench.host

    def requested(verb, epoch, **fields):
        return Command(verb=verb, switch=0, job=1, epoch=epoch, **fields)

    nobody = await bench.order_by_registers(requested(Verb.ACQUIRE, 5))
    assert nobody.reason.name == "NOT_REGISTERED"
    broken = REGISTERED[1] | {"ports": 0}
    empty = await bench.order_by_registers(requested(Verb.REGISTER, 4, **broken))
    assert empty.reason.name == "BAD_PORTS"
    bench = await bench.register()
    epoch = bench.last[1] + 1
    assert bench.model.command(requested(Verb.ACQUIRE, epoch)).verb is Verb.GRANTED
    await host.write(job_number=1)
    await host.write(job_epoch=epoch)
    await host.write(acquire_job=1)
    await host.write(release_job=1)
    await bench.idle()
    assert await host.read("ignored")
    assert TenancyKind(await host.read("answered")) is TenancyKind.GRANTED
    await bench.state_agrees()
    await bench.order_by_registers(requested(Verb.RELEASE, epoch))
    assert not await host.read("ignored")
    await bench.settle()


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def cycles_of_a_grant_are_counted(dut):
    """Cycles in which it is held count, and those in which a use is under way."""
    bench = await begin(dut)
    await bench.share(1, False)
    await bench.acquire(0)
    fields = REGISTERED[0]
    idle = await bench.host.tenant_counters(0)
    assert idle["busy_cycles"] == 0
    for is_agg in (True, False):
        frames = [bench.frame(port, 0, fields["base"], 0, is_agg=is_agg) for port in (0, 1)]
        await bench.exchange([Arrival(k, frame.to_bytes()) for k, frame in enumerate(frames)])
        if is_agg:
            assert await bench.host.read("unfinished_jobs") == 1
    ended = await bench.host.tenant_counters(0)
    assert (ended["operations"], ended["bytes"]) == (1, 4 * BYTES)
    assert 0 < ended["busy_cycles"] < ended["granted_cycles"] - idle["granted_cycles"]
    await bench.release(0)
    after = await bench.host.tenant_counters(0)
    await ClockCycles(dut.clk, 500)
    assert await bench.host.tenant_counters(0) == after
