"""Tests ports that do not take their answers, or send more than the switch can serve."""

import random

import cocotb
from cocotb.triggers import ClockCycles

from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.switch import Switch
from sim.harness.verilator import simulate
from tests.hdl.p4sgd.switch.bench import Arrival, Schedule, begin, reduction

PARAMS = SwitchParams(ports=6, slots=64, jobs=2, ingress_depth=8, egress_depth=16)
DEAD = 2


def test_back_pressure():
    simulate(Switch(PARAMS), __name__)


async def begin_with_two_jobs(dut):
    bench = await begin(dut)
    await bench.start_job(0, ports=0b000111, epoch=1, base=0, slots=32)
    await bench.start_job(1, ports=0b111000, epoch=2, base=32, slots=32)
    return bench


def two_jobs(bench, uses):
    """Return whole AllReduces of both jobs, packet by packet in turn."""
    for use in uses:
        frames = [list(reduction(bench, job, base, use)) for job, base in ((0, 5), (1, 40))]
        for pair in zip(*frames, strict=True):
            yield from pair


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_dead_port_blocks_no_other(dut):
    bench = await begin_with_two_jobs(dut)
    bench.ready[DEAD].value = 0
    schedule, expected = bench.answers(two_jobs(bench, range(20)))
    await bench.play(schedule)
    lost = expected.pop(DEAD)
    assert len(lost) == 40
    assert bench.seen[DEAD] == []
    bench.compare({port: expected[port] for port in range(6)} | {DEAD: []})
    capacity = PARAMS.egress_fifo.capacity
    counts = await bench.host.port_counters()
    for port, row in counts.items():
        dead = port == DEAD
        assert row["answers_dropped"] == (len(lost) - capacity if dead else 0)
        assert row["answers_sent"] == (0 if dead else len(expected[port]))
        assert row["overflows"] == 0
    # What fitted comes out whole and in order, and the port is alive again.
    bench.ready[DEAD].value = 1
    await bench.play(Schedule(), after=capacity + 4)
    assert [data for _, data in bench.seen[DEAD]] == [data for _, data in lost[:capacity]]
    await bench.exchange(two_jobs(bench, range(20, 25)))
    await bench.check_verdicts()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def slow_ports_get_every_answer_once(dut):
    bench = await begin_with_two_jobs(dut)
    for use in range(100):
        schedule, expected = bench.answers(two_jobs(bench, [use]))
        await bench.play(schedule, after=40, ready=lambda port: random.random() < 0.4)
        for port in range(PARAMS.ports):
            result = [data for _, data in bench.seen[port]]
            assert result == [data for _, data in expected[port]]
    counts = await bench.host.port_counters()
    assert all(row["answers_dropped"] == 0 for row in counts.values())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_port_that_sends_too_much_loses_only_its_own(dut):
    bench = await begin_with_two_jobs(dut)
    await bench.exchange(two_jobs(bench, [0]))
    await bench.host.clear_counters()
    # Ports 0 and 1 send all the time; the others every 16th cycle, and lose nothing.
    count = 400
    schedule, sent = Schedule(), dict.fromkeys(range(PARAMS.ports), 0)
    for port in range(PARAMS.ports):
        job = 0 if port < 3 else 1
        frame = bench.frame(port, job, 5 if job == 0 else 40, 0, (1,) * 8)
        for k in range(0, count, 1 if port < 2 else 16):
            schedule.add(Arrival(port, frame.to_bytes()), k)
            sent[port] += 1
    await bench.play(schedule, after=60)
    counts, verdicts = await bench.host.port_counters(), await bench.host.verdicts()
    for port, row in counts.items():
        taken = verdicts[port]["REPEATED_PARTIAL"]
        assert sum(verdicts[port].values()) == taken
        assert taken + row["overflows"] == sent[port]
        assert row["answers_sent"] == len(bench.seen[port]) == taken
        assert (row["overflows"] > 0) == (port < 2)
    # Not a cycle was idle, and who asks for more than a share gets the same as the other.
    packets, cycles = await bench.host.read("packets"), await bench.host.read("cycles")
    assert packets == cycles
    shares = [verdicts[port]["REPEATED_PARTIAL"] for port in (0, 1)]
    assert abs(shares[0] - shares[1]) <= 1
    await bench.exchange(two_jobs(bench, [1]))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_empties_the_queues(dut):
    bench = await begin_with_two_jobs(dut)
    for ready in bench.ready:
        ready.value = 0
    schedule, _ = bench.answers(two_jobs(bench, range(3)))
    await bench.play(schedule)
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    for ready in bench.ready:
        ready.value = 1
    bench.waiting.clear()
    await bench.play(Schedule(), after=300)
    assert not any(bench.seen.values())
    assert await bench.host.read("active_jobs") == 0
    bench.model.counters.clear()
    await bench.check_verdicts()
    counts = await bench.host.port_counters()
    assert not any(count for row in counts.values() for count in row.values())
