import random

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.line_pool import LinePool
from sim.harness.bench import Bench
from tests.simulated import simulated

PARAMS = ConcatenatorParams(
    payload=False, nodes=4, mtu=300, most_property_bytes=64, pool=23, destinations=8
)
test_line_pool = simulated(LinePool, [PARAMS], __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(greed=[0.3, 0.5, 0.9])
async def packets_of_lines(dut, greed):
    """Lines are taken, linked to packets, followed and returned, never two at a time."""
    params = (await Bench(dut).begin()).params
    packets, read = [], []  # lines of each; lines of the one that is read, from the last
    follower = {}  # as it was linked
    leader = None
    taken, most = set(), 0
    for _ in range(1500):
        await FallingEdge(dut.clk)
        assert int(dut.free.value) <= min(params.pr_lines, params.lines - len(taken))
        if leader in follower:
            assert int(dut.follower.value) == follower[leader]
        takes = random.random() < greed and int(dut.free.value) > 0
        line = int(dut.line.value)
        packet = random.choice(packets) if packets and random.random() < 0.7 else None
        dut.takes.value, dut.links.value = takes, packet is not None
        dut.behind.value = packet[-1] if packet else random.randrange(params.lines)
        if not read and packets and random.random() < 0.5:
            whole = random.choice(packets)
            if whole is not packet:
                packets.remove(whole)
                read = whole
        returns = bool(read) and random.random() < 0.5
        returned = read.pop(0) if returns else random.randrange(params.lines)
        dut.returns.value, dut.returned.value = returns, returned
        step = random.random() < 0.7
        dut.step.value = step
        requested = read[0] if read else random.randrange(params.lines)
        dut.leader.value = requested
        if step:
            leader = requested if requested in taken else None
        await RisingEdge(dut.clk)
        if takes:
            assert line not in taken
            assert line < params.lines
            taken.add(line)
            follower.pop(line, None)
            if packet is None:
                packets.append([line])
            else:
                # What is read in the cycle of its link may be either.
                leader = None if leader == packet[-1] else leader
                follower[packet[-1]] = line
                packet.append(line)
        if returns:
            taken.discard(returned)
            follower.pop(returned, None)
            leader = None if leader == returned else leader
        most = max(most, len(taken))
    assert greed < 0.9 or most == params.lines


@cocotb.test(timeout_time=20, timeout_unit="us")
async def a_line_a_cycle(dut):
    """All lines are given out at one a cycle, and once all have returned, again."""
    params = (await Bench(dut).begin()).params
    await ClockCycles(dut.clk, params.lines + 5)
    for _ in range(3):
        await FallingEdge(dut.clk)
        assert int(dut.free.value) == params.pr_lines
        taken = []
        dut.takes.value = 1
        for left in range(params.lines, 0, -1):
            assert int(dut.free.value) == min(left, params.pr_lines)
            taken.append(int(dut.line.value))
            await FallingEdge(dut.clk)
        assert int(dut.free.value) == 0
        assert sorted(taken) == list(range(params.lines))
        dut.takes.value, dut.returns.value = 0, 1
        random.shuffle(taken)
        for line in taken:
            dut.returned.value = line
            await FallingEdge(dut.clk)
        dut.returns.value = 0
        for _ in range(4):
            await FallingEdge(dut.clk)
