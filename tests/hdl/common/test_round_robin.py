import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.round_robin import RoundRobin, RoundRobinParams, pick_in_turn
from sim.harness.in_simulator import component_in_simulator
from sim.harness.upset import start_upset
from sim.harness.verilator import params_in_simulator, simulate


class Picked(Component):
    """Shows what is picked at once, with the ports of a :class:`RoundRobin`."""

    def __init__(self, params):
        super().__init__(params, dict(RoundRobin(params).signature.members))

    def build(self, m):
        picked = pick_in_turn(m, self.requesting, self.take)
        m.d.comb += [self.grant.eq(picked), self.index.eq(index_of(picked))]


@pytest.mark.parametrize("count", [2, 5, 32])
def test_round_robin(count):
    simulate(RoundRobin(RoundRobinParams(count=count)), __name__)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_pick_in_turn(count):
    simulate(Picked(RoundRobinParams(count=count)), __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def the_next_one_that_requests(dut):
    count = params_in_simulator(RoundRobinParams).count
    at_once = isinstance(component_in_simulator(), Picked)  # only what is taken is told
    dut.requesting.value, dut.take.value = 0, 0
    await start_upset(dut)
    last = count - 1
    for step in range(2000):
        requesting = random.getrandbits(count) & random.choice((-1, random.getrandbits(count)))
        requesting = requesting if step else -1  # after the reset it is the lowest one's turn
        requesting &= (1 << count) - 1
        take = random.random() < 0.7
        dut.requesting.value, dut.take.value = requesting, take
        await RisingEdge(dut.clk)
        if not requesting or (at_once and not take):
            assert not dut.grant.value
            continue
        order = [(last + k) % count for k in range(1, count + 1)]
        chosen = next(k for k in order if requesting >> k & 1)
        assert int(dut.grant.value) == 1 << chosen
        assert int(dut.index.value) == chosen
        last = chosen if take else last
