import random

import cocotb
from cocotb.triggers import FallingEdge

from hdl.netsparse.concat.concatenator_params import LINE_BYTES, SPARE_QUEUES, ConcatenatorParams
from hdl.netsparse.concat.exhaustion import SETTLING, Exhaustion
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from tests.simulated import simulated

PARAMS = ConcatenatorParams(
    payload=False, nodes=100, mtu=800, most_property_bytes=64, pool=40, destinations=12
)
test_exhaustion = simulated(Exhaustion, [PARAMS], __name__)


async def begin(dut):
    bench = await Bench(dut).begin()
    await FallingEdge(dut.clk)
    return bench.params


@cocotb.test(timeout_time=50, timeout_unit="us")
async def queues_count_at_once(dut):
    params = await begin(dut)
    packets, forces = 0, 0
    for _ in range(1000):
        force = packets > params.queues - SPARE_QUEUES
        assert bool(dut.force.value) == force
        forces += force
        opens = packets < params.queues and random.random() < 0.6
        closes = packets > 1 and random.random() < 0.2
        expires = packets > 1 and random.random() < (0.5 if force else 0.1)
        dut.opens.value, dut.closes.value, dut.expires_now.value = opens, closes, expires
        packets += opens - closes - expires
        await FallingEdge(dut.clk)
    assert 100 < forces < 900


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(used=[LINE_BYTES, LINE_BYTES + 1])
async def lines_count_when_they_are_marked(dut, used):
    params = await begin(dut)
    allowed = params.lines - params.reserve
    dut.takes.value = 1
    for _ in range(allowed):
        await FallingEdge(dut.clk)
        assert not dut.force.value
    dut.takes.value = 0
    for _ in range(5):
        await FallingEdge(dut.clk)
        assert not dut.force.value
    # One too many.
    dut.takes.value = 1
    await FallingEdge(dut.clk)
    dut.takes.value = 0
    await FallingEdge(dut.clk)
    assert not dut.force.value
    await FallingEdge(dut.clk)
    for _ in range(3):
        assert dut.force.value
        await FallingEdge(dut.clk)
    # Two more come, and packets are marked, one of a line and one of one or two lines: then
    # there is a line too many, or none.
    dut.forced.value = dut.takes.value = 1
    await FallingEdge(dut.clk)
    dut.forced.value = 0
    dut.enters.value = 1
    dut.entering.value = pack(params.mark, {"used": LINE_BYTES})
    quiet = 0
    while not dut.force.value and quiet < 3 * SETTLING:
        quiet += 1
        await FallingEdge(dut.clk)
        dut.takes.value = dut.enters.value = 0
        if quiet == 1:
            dut.enters.value = 1
            dut.entering.value = pack(params.mark, {"used": used})
    if used > LINE_BYTES:
        assert quiet == 3 * SETTLING
    else:
        assert SETTLING <= quiet <= SETTLING + 2


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_packet_has_as_many_lines_as_its_bytes_fill(dut):
    """Once it is marked, as many may be taken again."""
    params = await begin(dut)

    async def take():
        dut.takes.value = 1
        await FallingEdge(dut.clk)
        dut.takes.value = 0
        for _ in range(2):
            await FallingEdge(dut.clk)

    for _ in range(params.lines - params.reserve):
        await take()
    bits = [LINE_BYTES + (1 << k) for k in range(7)]
    for used in (1, *bits, 2 * LINE_BYTES - 1, 2 * LINE_BYTES, 4 * LINE_BYTES, params.room):
        assert not dut.force.value
        await take()
        assert dut.force.value
        dut.forced.value = dut.enters.value = 1
        dut.entering.value = pack(params.mark, {"used": used})
        await FallingEdge(dut.clk)
        dut.forced.value = dut.enters.value = 0
        for _ in range(2 * SETTLING):
            await FallingEdge(dut.clk)
        for _ in range(-(-used // LINE_BYTES) - 1):
            assert not dut.force.value
            await take()
