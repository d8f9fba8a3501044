"""Lets banks wait for ports: answers never share a port, and each is taken in time."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.allreduce.multicast_turns import MulticastTurns
from hdl.allreduce.switch_params import AllReduceSwitchParams
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

SIZES = [AllReduceSwitchParams(ports=4, banks=4, slots=16), AllReduceSwitchParams(ports=3, banks=2)]
LONGEST = 5  #: beats of an answer

test_multicast_turns = simulated(MulticastTurns, SIZES, __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(wide=[0.0, 0.1, 0.5, 1.0])
async def answers_are_taken_in_time_and_share_no_port(dut, wide):
    """An answer to all ports waits at most as long as each other bank sends twice."""
    params = params_in_simulator(AllReduceSwitchParams)
    banks, everyone = range(params.banks), (1 << params.ports) - 1
    waiting, since = [0 for _ in banks], [0 for _ in banks]
    sending = [(0, 0) for _ in banks]  # ports, beats behind that of this cycle
    top = 0  # the bank that goes first
    await start(dut)
    for cycle in range(3000):
        for k in banks:
            if not waiting[k]:
                narrow = 1 << random.randrange(params.ports)
                waiting[k], since[k] = everyone if random.random() < wide else narrow, cycle
        if cycle % 300 == 299:  # a reset while banks wait
            top, since = 0, [cycle for _ in banks]
            dut.rst.value = 1
            await RisingEdge(dut.clk)
            dut.rst.value = 0
        dut.waiting.value = sum(ports << k * params.ports for k, ports in enumerate(waiting))
        held = [ports if left else 0 for ports, left in sending]
        dut.held.value = sum(ports << k * params.ports for k, ports in enumerate(held))
        dut.free.value = sum((not left) << k for k, (_, left) in enumerate(sending))
        await RisingEdge(dut.clk)
        take = int(dut.take.value)
        expected, before = 0, 0  # ports that banks wait for which go before
        for k in (*banks[top:], *banks[:top]):
            free = not sending[k][1] and not any(waiting[k] & ports for ports in held)
            expected |= bool(waiting[k] and free and not waiting[k] & before) << k
            before |= waiting[k]
        assert take == expected
        if not waiting[top] or take >> top & 1:
            top = (top + 1) % len(banks)
        busy = 0
        for ports in held:
            busy |= ports
        for k in banks:
            if take >> k & 1:
                assert waiting[k]
                assert not sending[k][1]
                assert not waiting[k] & busy
                busy |= waiting[k]
                sending[k], waiting[k] = (waiting[k], random.randrange(LONGEST)), 0
            else:
                sending[k] = sending[k][0], max(0, sending[k][1] - 1)
                assert cycle - since[k] <= 2 * LONGEST * params.banks
