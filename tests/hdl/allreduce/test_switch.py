"""Compares a switch with its golden model: frames one by one, and at all ports at once."""

import random
from collections import Counter
from copy import deepcopy

import cocotb

from hdl.allreduce.switch import AllReduceSwitch
from hdl.allreduce.switch_params import IN_FIRST, AllReduceSwitchParams
from sim.golden.reduction.wide_frames import WideFrame
from sim.harness.streams import STALLS, edges
from tests.hdl.allreduce.switch_bench import ORDER, SwitchBench, mutated
from tests.simulated import simulated

SMALL = {"jobs": 3, "slots": 16, "ingress_depth": 512, "egress_depth": 64}
SIZES = [
    AllReduceSwitchParams(ports=4, banks=2, **SMALL),
    AllReduceSwitchParams(ports=5, banks=4, **SMALL),
]
OUTLIVES_RESET = "the memories keep what was written"

test_switch = simulated(AllReduceSwitch, SIZES, __name__, registers=ORDER)


async def begin(dut, stalls=STALLS[0]):
    bench = await SwitchBench(dut, stalls).begin()
    await bench.start_job(0, ports=0b0101, epoch=7, base=3, slots=6)
    await bench.start_job(2, ports=0b1010, epoch=random.getrandbits(16), base=9, slots=7)
    return bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def equals_the_golden_model_frame_by_frame(dut):
    bench = await begin(dut)
    expected, turns = [[] for _ in bench.sinks], Counter()  # the port that a bank took from last
    for _ in range(400):
        port, frame = bench.drawn()
        data, corrupt = mutated(frame) if random.random() < 0.25 else (frame.to_bytes(), False)
        if random.random() < 0.1:
            port = random.randrange(len(bench.sources))
        bench.send(port, data, corrupt)
        await edges(dut.clk, 2 * (-(-len(data) // 64)) + 40)
        sooner = 0
        if (bank := bench.bank_of(data, corrupt)) is not None:
            sooner, turns[bank] = turns[bank] == port, port
        for to, answer in bench.model.take(port, data, corrupt=corrupt):
            count = len(WideFrame.from_bytes(answer).numbers)
            pending = count == 0 and len(WideFrame.from_bytes(data).numbers) > IN_FIRST
            cycles = bench.component.cycles(count) + pending - sooner
            expected[to].append((answer, bench.sources[port].cycles[-1] + cycles))
    for sink, answers in zip(bench.sinks, expected, strict=True):
        assert [packet.octets for packet in sink.packets] == [data for data, _ in answers]
        assert [packet.cycles[0] for packet in sink.packets] == [cycle for _, cycle in answers]
        for packet in sink.packets:  # one beat after the other
            assert packet.cycles == list(range(packet.cycles[0], packet.cycles[-1] + 1))
    await bench.check_counters()


def drawn_traffic(bench):
    """Return frames, lost, repeated, in another order and spoilt, for each port."""
    frames, model = [[] for _ in bench.sources], deepcopy(bench.model)
    for _ in range(150):  # each is for the state after those before it, if none were lost
        port, frame = bench.drawn(longest=64, model=model)
        model.take(port, frame.to_bytes())
        item = mutated(frame) if random.random() < 0.1 else (frame.to_bytes(), False)
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
    for _ in range(6):
        bench.forget()
        frames = drawn_traffic(bench)
        for port, some in enumerate(frames):
            for data, corrupt in some:
                bench.send(port, data, corrupt)
        while any(source.missing for source in bench.sources):
            await edges(dut.clk, 50)
        await edges(dut.clk, 600)
        bench.compare(bench.in_order(frames))
    await bench.check_counters()
