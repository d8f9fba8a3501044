import random
from itertools import product

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Response
from hdl.u280.line_splitter import LineSplitter, LineSplitterParams
from sim.harness.streams import STALLS, never, start
from sim.harness.verilator import params_in_simulator
from tests.hdl.u280.axi_bench import give, master, memory, take
from tests.simulated import simulated

PARAMS = LineSplitterParams(address_bits=16)
BURSTS = LineSplitterParams(address_bits=16, length_bits=3)

test_line_splitter = simulated(LineSplitter, [PARAMS, BURSTS], __name__, ids=["lines", "bursts"])


def several():
    """Whether a burst of the component under test may have several lines."""
    return params_in_simulator(LineSplitterParams).length_bits > 0


async def begin(dut, stalls):
    await start(dut)
    lines = master(dut, "lines", stalls.value[0], max_burst_len=1)
    ram = memory(dut, "halves", stalls.value[1], 1 << 16)
    await RisingEdge(dut.clk)
    return lines, ram


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def lines_are_halves_in_order(dut, stalls):
    lines_master, ram = await begin(dut, stalls)
    lines = {64 * k: random.randbytes(64) for k in [0, 1023, *random.sample(range(1, 1023), 22)]}
    writes = [lines_master.init_write(address, line, awid=0) for address, line in lines.items()]
    for write in writes:
        await write.wait()
    assert all(ram.read(address, 64) == line for address, line in lines.items())
    reads = [(line, lines_master.init_read(address, 64, arid=0)) for address, line in lines.items()]
    for line, read in reads:
        await read.wait()
        assert bytes(read.data.data) == line


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def bursts_of_lines_are_twice_as_many_halves(dut, stalls):
    """Bursts of all lengths are read as written, with RLAST and WLAST where AXI has them."""
    if not several():
        return
    await start(dut)
    lines_master = master(dut, "lines", stalls.value[0], max_burst_len=8)
    ram = memory(dut, "halves", stalls.value[1], 1 << 16)
    await RisingEdge(dut.clk)
    blocks = [(1024 * k, random.randbytes(64 * (1 + k % 8))) for k in range(24)]
    writes = [lines_master.init_write(at, block, awid=0) for at, block in blocks]
    for write in writes:
        await write.wait()
    assert all(ram.read(at, len(block)) == block for at, block in blocks)
    reads = [(block, lines_master.init_read(at, len(block), arid=0)) for at, block in blocks]
    for block, read in reads:
        await read.wait()
        assert bytes(read.data.data) == block


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_burst_that_ends_within_a_line_fails_there(dut):
    """If RLAST comes with a lower half, that line answers SLVERR; the next has its own halves."""
    if not several():
        return
    await start(dut)
    lines = []
    cocotb.start_soon(take(dut, "lines_r", ["resp", "data", "last"], never, lines))
    for data, last in ((1, 0), (2, 0), (3, 1), (4, 0), (5, 1)):
        await give(dut, "halves_r", resp=Response.OKAY.value, data=data, last=last)
    while len(lines) < 3:
        await RisingEdge(dut.clk)
    good, bad, after = lines
    assert good == (Response.OKAY.value, 1 | 2 << 256, 0)
    assert (bad[0], bad[2]) == (Response.SLVERR.value, 1)
    assert after == (Response.OKAY.value, 4 | 5 << 256, 1)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_lower_half_waits_for_nobody(dut):
    """The line waits, with the upper half."""
    dut.lines_rready.value = 0
    await start(dut)
    for _ in range(3):
        await give(dut, "halves_r", resp=Response.OKAY.value, data=1, last=0)
        upper = cocotb.start_soon(give(dut, "halves_r", resp=0, data=2, last=1))
        for _ in range(4):
            await RisingEdge(dut.clk)
            assert not dut.halves_rready.value
        assert dut.lines_rvalid.value
        dut.lines_rready.value = 1
        await upper
        dut.lines_rready.value = 0


@cocotb.test(timeout_time=50, timeout_unit="us")
async def strobes_of_a_line(dut):
    """Strobes select each byte alone, and some across the middle."""
    await start(dut)
    ram = memory(dut, "halves", never, 1 << 16)
    dut.lines_bready.value = 1
    line = bytearray(random.randbytes(64))
    ram.write(128, bytes(line))
    for strobes in [*(1 << at for at in range(64)), 0b1111 << 30]:
        new = random.randbytes(64)
        for at in range(64):
            line[at] = new[at] if strobes >> at & 1 else line[at]
        await give(dut, "lines_aw", addr=128, len=0)
        await give(dut, "lines_w", data=int.from_bytes(new, "little"), strb=strobes, last=1)
        while not dut.lines_bvalid.value:
            await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)  # the answer has gone
        assert ram.read(128, 64) == line


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def the_worse_answer_is_the_line_s(dut, stalls):
    await start(dut)
    source, sink = stalls
    found = {"r": [], "b": []}
    for channel, beats in found.items():
        cocotb.start_soon(take(dut, f"lines_{channel}", ["resp"], sink, beats))
    pairs = list(product(Response, repeat=2))
    random.shuffle(pairs)
    for pair in pairs:
        for kind, last in zip(pair, (0, 1), strict=True):
            await give(dut, "halves_r", resp=kind.value, last=last)
            while source():
                await RisingEdge(dut.clk)
        await give(dut, "halves_b", resp=pair[0].value)
    while min(map(len, found.values())) < len(pairs):
        await RisingEdge(dut.clk)
    assert found["r"] == [(max(kind.value for kind in pair),) for pair in pairs]
    assert found["b"] == [(pair[0].value,) for pair in pairs]


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def a_burst_of_another_length_is_a_line_that_failed(dut, stalls):
    """It fails up to RLAST, so that later lines have their own halves."""
    if several():
        return
    await start(dut)
    _, sink = stalls
    lines, expected = [], []
    cocotb.start_soon(take(dut, "lines_r", ["resp", "data", "last"], sink, lines))
    for number, beats in enumerate([2, 1, 2, 3, 2, 5, 1, 1, 2]):
        for k in range(beats):
            await give(
                dut, "halves_r", resp=Response.OKAY.value, data=2 * number + k, last=k == beats - 1
            )
        expected.append((2 * number | (2 * number + 1) << 256) if beats == 2 else None)
    while len(lines) < len(expected):
        await RisingEdge(dut.clk)
    for (response, data, last), line in zip(lines, expected, strict=True):
        assert last
        assert response == (Response.OKAY if line is not None else Response.SLVERR).value
        assert line in (None, data)
