"""Tests jobs that come and go: refusals, restarts, and slots cleared while others work."""

import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.params import Verdict as Counted
from hdl.p4sgd.switch.registers import IDENTITY, VERSION
from hdl.p4sgd.switch.switch import Switch
from hdl.switch.params import Refusal
from sim.golden.reduction.allreduce import Verdict
from sim.host.switch.job_switch import CommandRefused
from sim.host.switch.traffic import bits_of
from tests.hdl.p4sgd.switch.bench import Arrival, Schedule, begin, reduction, refusal
from tests.simulated import simulated

TURNS = 4  #: cycles of which clearing takes one at least, whatever comes

SIZES = [
    SwitchParams(ports=8, slots=1024, jobs=5, ingress_depth=64),
    SwitchParams(ports=32, slots=128, jobs=32, ingress_depth=4),
]

test_jobs = simulated(Switch, SIZES, __name__, short=SIZES[:1])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reports_what_it_is(dut):
    bench = await begin(dut)
    params = bench.params
    golden = {
        "identity": IDENTITY,
        "version": VERSION,
        "ports": params.ports,
        "jobs": params.jobs,
        "slots": params.slots,
    }
    assert {name: await bench.host.read(name) for name in golden} == golden


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def starts_what_the_golden_model_starts(dut):
    bench = await begin(dut)
    params, seen = bench.params, set()
    jobs, slots = params.jobs, params.slots
    for _ in range(400):
        if random.random() < 0.3:
            job = random.randrange(jobs)
            bench.model.stop_job(job)
            await bench.host.stop_job(job)
        job = random.choice((*range(jobs), jobs, jobs + 32, 0xFFFF))
        low = random.randrange(params.ports)
        ports = random.choice((1 << low, 3 << low, 0, 1 << random.randrange(32), 1 << params.ports))
        ports &= 0xFFFFFFFF
        if bench.model.active and random.random() < 0.2:
            ports = random.choice([*bench.model.active.values()]).ports
        base = random.choice((0, slots - 1, slots, 0xFFFF, random.randrange(slots)))
        count = random.choice((0, 1, 2, 8, slots - base if base < slots else 1, slots, 1 << 16))
        if bench.model.active and random.random() < 0.2:
            other = random.choice([*bench.model.active.values()])
            base, count = other.base, other.count
        reason = bench.model.start_job(job, ports=ports, epoch=0, base=base, count=count)
        golden = None if reason is None else reason.name
        assert await refusal(bench, job, ports, 0, base, count) == golden
        seen.add(golden)
        active = sum(1 << number for number in bench.model.active)
        assert await bench.host.read("active_jobs") == active
    possible = {None, *(r.name for r in Refusal)} - {"NONE", "BUSY"}
    if params.ports == 32:
        possible.remove("NO_SUCH_PORT")
    assert seen == possible


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def adjacent_slots_and_ports_do_not_overlap(dut):
    bench = await begin(dut)
    last = bench.params.slots - 1
    await bench.start_job(0, ports=0b0010, epoch=0, base=1, slots=10)
    for job, (ports, base, slots, reason) in enumerate(
        (
            (0b0001, 0, 1, None),
            (0b0100, 11, last - 11, None),
            (0b1000, last, 1, None),
            (0b10000, 10, 1, "SLOTS_TAKEN"),
        ),
        1,
    ):
        assert await refusal(bench, job, ports, 0, base, slots) == reason
    # Its own ports and slots are no obstacle.
    assert await refusal(bench, 0, 0b0010, 1, 1, 10) is None
    assert await refusal(bench, 0, 0b0010, 1, 0, 10) == "SLOTS_TAKEN"
    assert await refusal(bench, 0, 0b0110, 1, 1, 10) == "PORTS_TAKEN"
    # A job that was refused to start anew goes on.
    assert await bench.host.read("active_jobs") == 0b1111


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def refuses_commands_while_it_clears(dut):
    bench = await begin(dut)
    slots = bench.params.slots
    for command in ("start_job", "stop_job"):
        await bench.begin_job(2, ports=3, epoch=0, base=0, slots=slots)
        await bench.host.write(**{command: 1})
        assert await bench.host.read("refused")
        assert Refusal(await bench.host.read("reason")) is Refusal.BUSY
        await bench.idle()
        assert await bench.host.read("active_jobs") == 0b100
    with pytest.raises(CommandRefused, match="NO_SUCH_JOB"):
        await bench.host.stop_job(bench.params.jobs)
    assert await bench.host.read("active_jobs") == 0b100
    await bench.host.stop_job(2)
    assert await bench.host.read("active_jobs") == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_port_that_is_not_there_has_no_counters(dut):
    """It has not those of the port with the same lower bits, and the host is told."""
    bench = await begin(dut)
    ports = (1 << bench.params.ports) - 1
    await bench.start_job(0, ports=ports, epoch=5, base=0, slots=8)
    await bench.exchange(reduction(bench, 0, 0, 0))
    for port in range(32):
        exists = port < bench.params.ports
        await bench.host.write(counter_port=port, counter_verdict=Counted.ADDED.value)
        assert await bench.host.read("counter_exists") == exists
        assert await bench.host.read("counter_value") == exists
        assert await bench.host.read("answers_sent") == 2 * exists


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_restart_clears_the_job_and_no_other(dut):
    bench = await begin(dut)
    await bench.start_job(1, ports=0b0011, epoch=5, base=8, slots=8)
    await bench.start_job(2, ports=0b1100, epoch=5, base=16, slots=8)
    for use in range(3):
        for job, base in ((1, 8), (2, 16)):
            for seq in (base, base + 7):
                await bench.exchange(reduction(bench, job, seq, use))
    old = list(reduction(bench, 1, 8, 3))
    await bench.start_job(1, ports=0b0011, epoch=6, base=8, slots=8)
    await bench.exchange(old)
    assert bench.model.counters[0, Verdict.WRONG_RUN] == 2
    for seq in (8, 15):
        await bench.exchange(reduction(bench, 1, seq, 0))
    for seq in (16, 23):
        await bench.exchange(reduction(bench, 2, seq, 3))
    # A packet of the other job's slots changes nothing.
    await bench.exchange(
        Arrival(port, bench.frame(port, job, seq, use).to_bytes())
        for port, job, seq, use in ((0, 1, 16, 4), (2, 2, 15, 1), (0, 2, 16, 4), (2, 1, 15, 1))
    )
    assert bench.model.counters[0, Verdict.WRONG_SLOT] == 1
    assert bench.model.counters[0, Verdict.WRONG_JOB] == 1
    for job, seq, use in ((1, 15, 1), (2, 16, 4)):
        await bench.exchange(reduction(bench, job, seq, use))
    await bench.check_verdicts()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def clearing_ends_under_full_load(dut):
    bench = await begin(dut)
    params, slots = bench.params, bench.params.slots // 2  # of the upper half
    ports = 0b11
    await bench.start_job(0, ports=ports, epoch=0, base=0, slots=4)
    await bench.exchange(reduction(bench, 0, 0, 0))
    await bench.start_job(1, ports=0b11000, epoch=0, base=slots, slots=slots)
    await bench.exchange(reduction(bench, 1, slots, 0))
    await bench.host.clear_counters()
    # Two packets a cycle all the time, all answered: acknowledgements of the use before.
    schedule, cycles = Schedule(), TURNS * slots + 1500
    for port in bits_of(ports):
        data = bench.frame(port, 0, 1, 254, is_agg=False).to_bytes()
        for k in range(cycles):
            schedule.add(Arrival(port, data), k)
    load = cocotb.start_soon(bench.play(schedule, after=200))
    await ClockCycles(dut.clk, 20)
    bench.model.start_job(1, ports=0b11000, epoch=1, base=slots, count=slots)
    await bench.begin_job(1, ports=0b11000, epoch=1, base=slots, slots=slots)
    await ClockCycles(dut.clk, TURNS * slots - 100)
    assert await bench.host.read("busy")
    await ClockCycles(dut.clk, 200)
    assert not await bench.host.read("busy")
    assert await bench.host.read("active_jobs") == 0b11
    await load
    # Every cycle of the load was a packet or a slot.
    packets, elapsed = await bench.host.read("packets"), await bench.host.read("cycles")
    assert elapsed - packets == slots
    counts = await bench.host.port_counters()
    assert sum(row["overflows"] for row in counts.values()) == 2 * cycles - packets
    assert sum(row["answers_sent"] for row in counts.values()) == packets
    # Ports have equal shares, also of what clearing leaves.
    assert abs(counts[0]["answers_sent"] - counts[1]["answers_sent"]) <= params.ingress_depth
    for port in bits_of(ports):
        assert len(bench.seen[port]) == counts[port]["answers_sent"]
    # The other ones, in what was cleared.
    for seq in (slots, 2 * slots - 1):
        await bench.exchange(reduction(bench, 1, seq, 0))
    await bench.exchange(reduction(bench, 0, 0, 1))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def packets_of_the_run_before_do_not_reach_cleared_slots(dut):
    bench = await begin(dut)
    slots, ports = 16, 0b0110
    for epoch in range(12):
        await bench.start_job(1, ports=ports, epoch=epoch, base=32, slots=slots)
        # Of this run, in all slots, all the time, while the next one starts.
        schedule = Schedule()
        for k in range(350):
            seq = 32 + random.randrange(slots)
            for port in bits_of(ports):
                frame = bench.frame(port, 1, seq, random.choice((0, 1)), (1 << 20,) * 8)
                schedule.add(Arrival(port, frame.to_bytes()), k)
        load = cocotb.start_soon(bench.play(schedule, after=200))
        await ClockCycles(dut.clk, random.randrange(30))
        await bench.start_job(1, ports=ports, epoch=epoch + 100, base=32, slots=slots)
        await load
        for seq in range(32, 32 + slots):
            await bench.exchange(reduction(bench, 1, seq, 0))
    counts = await bench.host.verdicts()
    for port in bits_of(ports):
        assert counts[port]["WRONG_RUN"] > 0
        assert counts[port]["WRONG_JOB"] > 0
