"""Accesses that a host makes on AXI4-Lite pass a completer of PCI Express in their order."""

import random

import cocotb
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteRam, AxiResp

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.pcie.completer import Completer
from hdl.pcie.completer_params import CompleterParams
from sim.harness.axi_master import CompiledMaster
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.network_switch.step.register_path import RegisterPath

PARAMS = CompleterParams()


class ThroughCompleter(Component):
    """Leads accesses at ``s_axil`` by CQ and CC to ``m_axil``."""

    def __init__(self, params=PARAMS):
        lite = AxiLiteSignature(address_bits=params.address_bits)
        super().__init__(params, {"s_axil": In(lite), "m_axil": Out(lite)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.path = path = RegisterPath(self.params)
        m.submodules.completer = completer = Completer(self.params)
        connect(m, flipped(self.s_axil), path.axil)
        connect(m, path.cq, completer.cq)
        connect(m, completer.cc, path.cc)
        connect(m, completer.axil, flipped(self.m_axil))
        return m


def test_register_path():
    simulate(ThroughCompleter(), __name__)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def reads_see_the_writes_before_them(dut):
    ram = AxiLiteRam(AxiLiteBus.from_prefix(dut, "m_axil"), dut.clk, dut.rst, size=64)
    await start(dut)
    master = CompiledMaster(dut, "s_axil")
    words = {}
    for _ in range(200):
        address = 4 * random.randrange(16)
        if random.random() < 0.5:
            words[address] = random.randbytes(4)
            assert (await master.write(address, words[address])).resp is AxiResp.OKAY
        else:
            answer = await master.read(address, 4)
            assert answer == (AxiResp.OKAY, words.get(address, bytes(4)))
        if random.random() < 0.3:
            await ClockCycles(dut.clk, random.randrange(8))
    await ClockCycles(dut.clk, 30)
    assert all(ram.read(address, 4) == word for address, word in words.items())
