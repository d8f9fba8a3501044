"""An engine behind registers trains as another does; its answers are as much later as is stated."""

from dataclasses import replace

import cocotb
import numpy as np

from hdl.network_switch.switch import NetworkSwitch
from sim.harness.axi_streams import beats_of
from sim.harness.streams import edges
from sim.harness.verilator import component_in_simulator, simulate
from sim.network_switch import systems
from tests.hdl.network_switch.bench import TINY, begin, cycles_to

STAGES = 5
NEAR = replace(TINY, ports=2, has_allreduce=False, has_switchgnn=False, has_netsparse=False)
FAR = replace(NEAR, slr_stages=STAGES)


def test_far_engine():
    simulate(NetworkSwitch(FAR), __name__)


def test_latency_is_that_of_two_ways_more():
    near, far = (NetworkSwitch(params).latencies for params in (NEAR, FAR))
    assert far["p4sgd"] == near["p4sgd"] + 2 * (STAGES + 1)
    assert far["forwarded"] == near["forwarded"]


@cocotb.test(timeout_time=400, timeout_unit="us")
async def hosts_train_on_bad_links(dut):
    network = await begin(dut, loss=0.1)
    check = await systems.trains(network, np.random.default_rng(cocotb.RANDOM_SEED))
    await network.run(60_000)
    await check()
    assert network.lost["p4sgd"]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_answer_leaves_in_time(dut):
    network = await begin(dut)
    await systems.trains(network, np.random.default_rng(1))
    first, second = (next(iter(network.parts[k][0].due(0))) for k in range(2))
    network.sources[0].extend([*beats_of(first)])
    await edges(dut.clk, 60)
    cycles = await cycles_to(network, 1, second, range(2))
    assert set(cycles) == {component_in_simulator().latencies["p4sgd"]}
