"""Measures the switch's latency and throughput, by the cycle and by its own counters."""

import random

import cocotb
from cocotb.triggers import ClockCycles

from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.switch import Switch
from sim.harness.verilator import params_in_simulator
from sim.host.switch.traffic import choose_payload
from tests.hdl.p4sgd.switch.bench import Arrival, begin
from tests.simulated import simulated

SIZES = [
    SwitchParams(),
    SwitchParams(ports=2, slots=2, jobs=1, ingress_depth=512),
    SwitchParams(ports=32, slots=128, jobs=32, ingress_depth=512),
]
ROUNDS = 200  # of all ports; no more than wait at a port

test_switch_timing = simulated(Switch, SIZES, __name__, short=SIZES[:2])


async def begin_with_a_job(dut, slots=2):
    bench = await begin(dut)
    everyone = (1 << bench.params.ports) - 1
    base = bench.params.slots - slots
    await bench.start_job(0, ports=everyone, epoch=7, base=base, slots=slots)
    return bench, base


def everybody(bench, seq, use, is_agg):
    """Return a frame of each port, the last of which completes something."""
    return [
        Arrival(
            port,
            bench.frame(port, 0, seq, use, choose_payload(random, 8), is_agg=is_agg).to_bytes(),
        )
        for port in range(bench.params.ports)
    ]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_idle_switch_answers_after_its_latency(dut):
    bench, base = await begin_with_a_job(dut)
    assert bench.latency == (8 if bench.params.slots < 1 << 16 else 10)
    for port in range(bench.params.ports):
        # An answer to this port alone: the acknowledgement of the use before.
        data = bench.frame(port, 0, base, 254, is_agg=False).to_bytes()
        schedule, expected = bench.answers([Arrival(port, data)])
        await bench.play(schedule)
        assert [cycle for cycle, _ in bench.seen[port]] == [bench.latency]
        bench.compare(expected)
    # An answer to all ports, made by each of them in turn.
    for use in range(bench.params.ports):
        for is_agg in (True, False):
            frames = everybody(bench, base, use, is_agg)
            *frames, last = frames[use + 1 :] + frames[: use + 1]
            await bench.exchange(frames)
            schedule, expected = bench.answers([last])
            await bench.play(schedule)
            for port in range(bench.params.ports):
                assert [cycle for cycle, _ in bench.seen[port]] == [bench.latency]
            bench.compare(expected)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_ports_at_once_take_turns(dut):
    bench, base = await begin_with_a_job(dut)
    ports = bench.params.ports
    first = 0  # whose turn it is: behind the port that was served last
    for active in (range(ports), range(ports), range(ports // 2), range(ports)):
        order = sorted(active, key=lambda port, first=first: (port - first) % ports)
        data = {p: bench.frame(p, 0, base, 254, is_agg=False).to_bytes() for p in order}
        schedule, expected, served = bench.answers_in_turns([[Arrival(p, data[p]) for p in order]])
        await bench.play(schedule)
        bench.compare(expected)
        cycles = [bench.seen[port][0][0] for port in order]
        assert cycles == list(range(bench.latency, bench.latency + served))
        first = order[-1] + 1


async def measure(bench, rounds):
    """Let all ports send in every cycle; answers come to the cycle, and none is lost."""
    await bench.host.clear_counters()
    schedule, expected, served = bench.answers_in_turns(rounds)
    await bench.play(schedule, after=served + 50)
    bench.compare(expected)
    counts = await bench.host.port_counters()
    for port, row in counts.items():
        golden = {
            "overflows": 0,
            "answers_sent": len(expected[port]),
            "answers_dropped": 0,
        }
        assert row == golden
    packets, cycles = await bench.host.read("packets"), await bench.host.read("cycles")
    assert (packets, cycles) == (served, served)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_packet_a_cycle_in_random_slots(dut):
    slots = min(1 << 14, params_in_simulator(SwitchParams).slots)
    bench, base = await begin_with_a_job(dut, slots)
    job = bench.model.active[0]
    uses, rounds = {}, []
    for _ in range(ROUNDS // 2):
        seq = random.randrange(base, base + job.count)
        uses[seq] = (uses.get(seq, -1) + 1) % 256
        rounds += [everybody(bench, seq, uses[seq], is_agg) for is_agg in (True, False)]
    await measure(bench, rounds)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_packet_a_cycle_in_one_slot(dut):
    bench, base = await begin_with_a_job(dut)
    rounds = [
        everybody(bench, base, use, is_agg) for use in range(ROUNDS // 2) for is_agg in (1, 0)
    ]
    await measure(bench, rounds)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_answer_a_cycle(dut):
    bench, base = await begin_with_a_job(dut)
    await bench.exchange(everybody(bench, base, 0, True))
    rounds = [everybody(bench, base, 0, True) for _ in range(ROUNDS)]
    await measure(bench, rounds)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def clearing_takes_a_cycle_a_slot(dut):
    bench = await begin(dut)
    slots = bench.params.slots
    everyone = (1 << bench.params.ports) - 1
    await bench.begin_job(0, ports=everyone, epoch=0, base=0, slots=slots)
    await ClockCycles(dut.clk, slots // 2)
    if slots > 1000:
        assert await bench.host.read("busy")
        assert await bench.host.read("active_jobs") == 0
    await ClockCycles(dut.clk, slots - slots // 2 + bench.params.jobs + 4)
    assert not await bench.host.read("busy")
    assert await bench.host.read("active_jobs") == 1
