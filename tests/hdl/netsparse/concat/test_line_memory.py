import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams
from hdl.netsparse.concat.line_memory import GROUP_BYTES, GROUPS, PIECE_BYTES, PIECES, LineMemory
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate


def test_line_memory():
    simulate(LineMemory(ConcatenatorParams(payload=True, nodes=4, pool=64)), __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def each_group_has_a_line_of_its_own(dut):
    """It is compared with bytes in lines; without a step, what is read does not change."""
    params = params_in_simulator(ConcatenatorParams)
    memory = [[None] * LINE_BYTES for _ in range(params.lines)]
    lines = LineMemory(params).lines.shape()
    for port in (dut.write, dut.lines, dut.pieces, dut.step, dut.line):
        port.value = 0
    await start(dut)
    before = shown = [None] * LINE_BYTES  # read a step ago, and two
    for _ in range(6000):
        write = random.choice([0, random.getrandbits(PIECES), (1 << PIECES) - 1])
        chosen = [random.randrange(params.lines) for _ in range(GROUPS)]
        octets, line = random.randbytes(LINE_BYTES), random.randrange(params.lines)
        step = random.random() < 0.8
        dut.write.value, dut.lines.value = write, pack(lines, chosen)
        dut.pieces.value = int.from_bytes(octets, "little")
        dut.step.value, dut.line.value = step, line
        await RisingEdge(dut.clk)
        seen = int(dut.high.value) << 8 * LINE_BYTES // 2 | int(dut.low.value)
        for byte, expected in zip(seen.to_bytes(LINE_BYTES, "little"), shown, strict=True):
            assert expected in (None, byte)
        if step:
            before, shown = list(memory[line]), before
        for k, byte in enumerate(octets):
            if write >> k // PIECE_BYTES & 1:
                memory[chosen[k // GROUP_BYTES]][k] = byte
