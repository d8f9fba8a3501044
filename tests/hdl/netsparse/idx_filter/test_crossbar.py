import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.netsparse.idx_filter.crossbar import Crossbar, CrossbarParams
from sim.harness.streams import STALLS, Sink, Source, never, often, start
from sim.harness.verilator import params_in_simulator, simulate


@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (2, 2), (3, 4)])
def test_crossbar(inputs, outputs):
    simulate(Crossbar(CrossbarParams(inputs=inputs, outputs=outputs, width=20)), __name__)


MASK = (1 << 20) - 1


def beat_of(k, to, number):
    """Where it comes from, where it goes and its number; odd ones inverted."""
    return (k << 16 | to << 12 | number >> 1) ^ (number & 1) * MASK


def parts_of(beat):
    """Where it comes from, and its number."""
    inverted = beat >> 19
    kept = beat ^ inverted * MASK
    return kept >> 16, (kept & 0xFFF) << 1 | inverted


class Bench:
    async def begin(self, dut, stalls, choose, count=300):
        """Each beat says where it comes from, where it goes and its number."""
        params = params_in_simulator(CrossbarParams)
        source_stall, sink_stall = stalls
        await start(dut)
        self.sinks = [Sink(dut, f"o_{k}", stall=sink_stall) for k in range(params.outputs)]
        self.sources = [Source(dut, f"i_{k}", stall=source_stall) for k in range(params.inputs)]
        self.sent = [[choose(k) for _ in range(count)] for k in range(params.inputs)]
        for k, (source, outputs) in enumerate(zip(self.sources, self.sent, strict=True)):
            for number, to in enumerate(outputs):
                source.append({"to": to, "beat": beat_of(k, to, number)})
        while sum(len(sink.beats) for sink in self.sinks) < count * params.inputs:
            await RisingEdge(dut.clk)
            valid = [getattr(dut, f"o_{k}_valid").value for k in range(params.outputs)]
            assert dut.empty.value != any(valid)
        for _ in range(3):
            await RisingEdge(dut.clk)
        assert dut.empty.value
        return self


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def every_beat_arrives_in_order(dut, stalls):
    outputs = params_in_simulator(CrossbarParams).outputs
    bench = await Bench().begin(dut, stalls, lambda _: random.randrange(outputs))
    for to, sink in enumerate(bench.sinks):
        for k, sent in enumerate(bench.sent):
            numbers = [number for number, one in enumerate(sent) if one == to]
            expected = [beat_of(k, to, number) for number in numbers]
            assert [beat for beat in sink.beats if parts_of(beat)[0] == k] == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def nobody_is_in_the_way(dut):
    bench = await Bench().begin(dut, STALLS[0], lambda k: k)
    for source, sink in zip(bench.sources, bench.sinks, strict=False):
        first = source.cycles[0]
        assert source.cycles == list(range(first, first + 300))
        assert sink.cycles == [at + Crossbar.latency for at in source.cycles]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(sink_stall=[never, often])
async def inputs_take_turns(dut, sink_stall):
    bench = await Bench().begin(dut, (never, sink_stall), lambda k: 0, count=100)
    origins = [parts_of(beat)[0] for beat in bench.sinks[0].beats]
    count = len(bench.sources)
    assert origins == list(range(count)) * 100
    cycles = bench.sinks[0].cycles
    if sink_stall is never:
        assert cycles == list(range(cycles[0], cycles[0] + 100 * count))
