"""Compares a switch with its golden model: frames one by one, and at all ports at once."""

import random
from copy import deepcopy
from dataclasses import replace

import cocotb
import numpy as np

from gen.designs.catalogue import find_design
from hdl.allreduce.switch import AllReduceSwitch
from hdl.allreduce.switch_params import AllReduceSwitchParams
from sim.golden.reduction.frames import IS_AGG
from sim.harness.streams import STALLS, always, edges, never
from tests.hdl.allreduce.switch_bench import ORDER, SwitchBench, mutated
from tests.rejects import rejects
from tests.simulated import simulated

SMALL = {"jobs": 3, "slots": 16, "ingress_depth": 512, "egress_depth": 64}
SIZES = [
    AllReduceSwitchParams(ports=4, banks=2, **SMALL),
    AllReduceSwitchParams(ports=5, banks=4, **SMALL),
    AllReduceSwitchParams(ports=4, banks=2, most_numbers=2048, **(SMALL | {"egress_depth": 512})),
]
OUTLIVES_RESET = "the memories keep what was written"

test_switch = simulated(AllReduceSwitch, SIZES, __name__, registers=ORDER)

LONG = {"most_numbers": 2048}
test_refused_sizes = rejects(
    AllReduceSwitchParams,
    ({"slots": 8, "banks": 8}, "slots must be from 16 to 16384, 2 to 2048 of each bank: 8"),
    (LONG | {"egress_depth": 129}, "egress_depth must be above 129, the beats .*: 129"),
    (LONG | {"ingress_depth": 128}, "ingress_depth must be at least 132, to hold .*: 128"),
)


def test_queues_of_every_preset_hold_what_all_hosts_send_at_once():
    design = find_design("allreduce-switch")
    for params in map(design.params_of, design.presets):
        assert (
            params.ingress_depth >= params.lossless_depth > (params.ports - 1) * params.frames.beats
        )


def test_answers_of_every_preset_leave_within_12_cycles():
    design = find_design("allreduce-switch")
    assert max(AllReduceSwitch(design.params_of(name)).latency for name in design.presets) <= 12


async def begin(dut, stalls=STALLS[0]):
    bench = await SwitchBench(dut, stalls).begin()
    await bench.start_job(0, ports=0b0101, epoch=7, base=3, slots=6)
    await bench.start_job(2, ports=0b1010, epoch=random.getrandbits(16), base=9, slots=7)
    return bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def equals_the_golden_model_frame_by_frame(dut):
    bench = await begin(dut)
    expected = [[] for _ in bench.sinks]
    for _ in range(400):
        port, frame = bench.drawn()
        data, corrupt = (
            mutated(frame, bench.most) if random.random() < 0.25 else (frame.to_bytes(), False)
        )
        if random.random() < 0.1:
            port = random.randrange(len(bench.sources))
        bench.send(port, data, corrupt)
        await edges(dut.clk, 2 * (-(-len(data) // 64)) + 40)
        for to, answer in bench.model.take(port, data, corrupt=corrupt):
            expected[to].append((answer, bench.sources[port].cycles[-1] + bench.component.latency))
    for sink, answers in zip(bench.sinks, expected, strict=True):
        assert [packet.octets for packet in sink.packets] == [data for data, _ in answers]
        assert [packet.cycles[0] for packet in sink.packets] == [cycle for _, cycle in answers]
        for packet in sink.packets:  # one beat after the other
            assert packet.cycles == list(range(packet.cycles[0], packet.cycles[-1] + 1))
    await bench.check_counters()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_numbers_of_the_longest_frames_may_be_clamped(dut):
    """Those of sums that are complete at once in all banks that have a job are counted."""
    bench, frames = await begin(dut), []
    numbers = np.full(bench.most, (1 << 31) - 1)
    for first in (True, False):  # the second worker of each job completes its sum
        for job, seq, ports in ((0, 4, (0, 2)), (2, 9, (1, 3))):
            port = ports[not first]
            frame = bench.frame(port, job, seq, 0, flags=IS_AGG, numbers=numbers).to_bytes()
            bench.send(port, frame)
            frames.append((port, frame))
        await edges(dut.clk, 4 * bench.params.frames.beats + 100)
    for port, frame in frames:
        bench.model.take(port, frame)
    await bench.check_counters()
    assert bench.model.saturations == 2 * bench.most


def drawn_traffic(bench):
    """Return frames, lost, repeated, in another order and spoilt, for each port."""
    frames, model = [[] for _ in bench.sources], deepcopy(bench.model)
    for _ in range(150):  # each is for the state after those before it, if none were lost
        port, frame = bench.drawn(longest=64, model=model)
        model.take(port, frame.to_bytes())
        item = mutated(frame, bench.most) if random.random() < 0.1 else (frame.to_bytes(), False)
        frames[port] += [item] * random.choices((0, 1, 2), (15, 70, 15))[0]
    for some in frames:
        for k in range(len(some) - 1):
            if random.random() < 0.15:
                some[k : k + 2] = some[k + 1], some[k]
    return frames


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def equals_the_golden_model_at_all_ports_at_once(dut, stalls):
    """Frames come to all ports at once; those of a slot count in the order of its bank."""
    bench = await begin(dut, stalls)
    for k in range(6):
        bench.forget()
        if k % 2:  # the other job's slots stay as they are
            await bench.start_job(0, ports=0b0101, epoch=k, base=k, slots=9 - k)
        frames = drawn_traffic(bench)
        for port, some in enumerate(frames):
            for data, corrupt in some:
                bench.send(port, data, corrupt)
        while any(source.missing for source in bench.sources):
            await edges(dut.clk, 50)
        await edges(dut.clk, 600)
        bench.compare(bench.in_order(frames))
    await bench.check_counters()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_port_that_takes_nothing_loses_answers_and_blocks_no_other(dut):
    """Its queue holds whole answers only; all that another port is sent comes."""
    bench = await begin(dut)
    bench.sinks[0].stall = always
    expected, longest, capacity = [], bench.params.frames.beats, bench.params.egress_depth
    for use in range(12):
        for port in (0, 2):
            numbers = np.arange(use, use + bench.most)
            frame = bench.frame(port, 0, 3, use, flags=IS_AGG, numbers=numbers)
            bench.send(port, frame.to_bytes())
            expected += [data for to, data in bench.model.take(port, frame.to_bytes()) if to == 2]
            await edges(dut.clk, 5 * longest)
    assert [packet.octets for packet in bench.sinks[2].packets] == expected
    bench.sinks[0].stall = never
    await edges(dut.clk, capacity + 100)
    kept = [packet.octets for packet in bench.sinks[0].packets]
    assert kept == expected[: len(kept)]
    assert capacity // longest - 1 <= len(kept) <= capacity // longest + 1
    await bench.check_counters(dropped=len(expected) - len(kept))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_port_without_room_loses_whole_frames(dut):
    """Two ports send all they can to a bank, which takes half of that."""
    bench = await begin(dut)
    frame = bench.frame(0, 0, 3, 0, flags=IS_AGG, numbers=np.arange(1, 257))
    for port in (0, 2):
        for _ in range(80):
            bench.send(port, replace(frame, bm=1 << port).to_bytes())
    await edges(dut.clk, 3500)
    counts = await bench.host.port_counters()
    verdicts = await bench.host.verdicts()
    taken = {port: sum(verdicts[port].values()) for port in (0, 2)}
    for port in (0, 2):
        assert counts[port]["overflows"] == 80 - taken[port] > 0
    # The first frame has no answer of its own, but that to the first of the other port.
    assert sum(counts[port]["answers_sent"] for port in (0, 2)) == sum(taken.values())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_bank_takes_a_packet_a_cycle(dut):
    """Ports go round the banks, each at another bank, with frames of a beat; the first leads."""
    bench = await begin(dut)
    banks = bench.params.banks
    bench.forget()
    for k in range(banks):
        for n in range(200):
            bench.send(k, bench.frame(k, 1, k + n, 0).to_bytes())
    await edges(dut.clk, 300)
    for recorder in bench.taken:
        first = recorder.cycles[-199]
        assert recorder.cycles[-199:] == list(range(first, first + 199))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reports_commands(dut):
    """It tells which jobs are active, and why a command was refused."""
    bench = await begin(dut)
    assert await bench.host.read("active_jobs") == 0b101
    for job, ports, base, slots, reason in (
        (3, [0], 0, 1, "NO_SUCH_JOB"),
        (1, [0], 0, 1, "PORTS_TAKEN"),
        (0, [0], 15, 2, "BAD_SLOTS"),
        (0, [0], 8, 2, "SLOTS_TAKEN"),
    ):
        assert await refusal(bench, job, ports, base, slots) == reason
    await bench.stop_job(2)
    assert await bench.host.read("active_jobs") == 0b001


async def refusal(bench, job, ports, base, slots):
    """Return why the switch refuses a job."""
    place = {"job_ports": sum(1 << port for port in ports), "job_base": base, "job_slots": slots}
    await bench.host.write(**place, job_number=job)
    await bench.host.write(start_job=1)
    while await bench.host.read("busy"):
        pass
    return (await bench.host.read("reason")).name
