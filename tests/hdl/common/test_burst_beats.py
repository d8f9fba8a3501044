from functools import partial

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.burst_beats import BurstBeats, BurstBeatsParams
from sim.harness.bench import Bench
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.read_bench import expected_beats, random_burst
from tests.hdl.contracts import contracts
from tests.rejects import rejects
from tests.simulated import simulated

test_burst_beats = simulated(
    BurstBeats,
    [
        BurstBeatsParams(address_bits=23, data_bits=256, id_bits=4),
        BurstBeatsParams(address_bits=12, data_bits=16, id_bits=0),
    ],
    __name__,
)


test_rejects = rejects(
    partial(BurstBeatsParams, data_bits=256, id_bits=1),
    ({"address_bits": 5}, "address_bits must be a whole number from 6 to 64: 5"),
)


async def takes_a_burst_when_there_is_none(dut):
    while True:
        await RisingEdge(dut.clk)
        assert dut.beats_valid.value or dut.bursts_ready.value


def draw(count):
    params = params_in_simulator(BurstBeatsParams)
    bursts = [random_burst(params) for _ in range(count)]
    bursts[-1]["addr"] = 0
    return bursts, [beat for burst in bursts for beat in expected_beats(params, burst)]


def pace(sent, left, latency):
    assert left == list(range(sent[0] + latency, sent[0] + latency + len(left)))


def bench(dut):
    cocotb.start_soon(takes_a_burst_when_there_is_none(dut))
    return Bench(dut)


keeps_order, takes_its_latency, a_reset_empties_it = contracts(
    __name__, draw, pace=pace, bench=bench, count=40
)
