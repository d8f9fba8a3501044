"""Runs the completer on a block and a root complex that others wrote: cocotbext-pcie."""

import random

import cocotb
from cocotbext.axi import AxiLiteBus, AxiLiteRam

from hdl.pcie.completer import Completer
from hdl.pcie.completer_params import CompleterParams
from sim.harness.verilator import params_in_simulator
from sim.surroundings.pcie_host import HostModel
from tests.simulated import simulated

SIZES = [CompleterParams(bar=2), CompleterParams(data_bits=256)]
BYTES = 4096  #: of the BAR

test_completer_on_model = simulated(Completer, SIZES, __name__)


async def plugged_in(dut):
    """Return registers behind the BAR, and the window through which the host sees it."""
    dut.tick.value = 0
    bar = params_in_simulator(CompleterParams).bar
    model = HostModel(dut, "cq", "cc", bars=[(bar, BYTES)])
    registers = AxiLiteRam(AxiLiteBus.from_prefix(dut, "axil"), dut.clk, dut.rst, size=BYTES)
    result = await model.begin()
    return registers, result.bar_window[bar]


@cocotb.test(timeout_time=200, timeout_unit="us")
async def every_byte_of_registers(dut):
    """Reads and writes of 1 to 8 bytes from any byte on, in at most two dwords, and of no byte."""
    registers, window = await plugged_in(dut)
    content = bytearray(random.randbytes(BYTES))
    registers.write(0, bytes(content))
    for _ in range(60):
        start = random.randrange(BYTES - 8)
        size = random.randrange(1, 9 - start % 4)
        if random.random() < 0.5:
            payload = random.randbytes(size)
            content[start : start + size] = payload
            await window.write(start, payload)
        assert await window.read(start, size) == content[start : start + size]
    assert registers.read(0, BYTES) == content
