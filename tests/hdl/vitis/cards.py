"""Puts simulated cards behind stand-ins for ``pyxrt`` and ``pynq``, with kernels that are real."""

import sys

from cocotb.task import resume
from cocotb.triggers import ClockCycles, First, RisingEdge
from cocotbext.axi.sparse_memory import SparseMemory

from sim.host.memory_port import KINDS
from sim.host.quiet import quiet
from tests.gen.software import pynq, pyxrt

SIZE = 1 << 40
MOST_CYCLES = 20_000  #: after which no interrupt is waited for any more


class Card:
    """A card with one kernel: its memory is behind all of the kernel's managers.

    Ports of the kernel begin with ``prefix``; ``registers`` reach its s_axi_control.
    """

    def __init__(self, dut, managers, registers, prefix=""):
        self.memory, self.registers = SparseMemory(SIZE), registers
        self.waits = []  # for its interrupt: whether it came
        if (line := getattr(dut, f"{prefix}irq", None)) is not None:

            @resume
            async def wait_interrupt(_):
                if not line.value:
                    await First(RisingEdge(line), ClockCycles(dut.clk, MOST_CYCLES))
                self.waits.append(bool(line.value))
                return self.waits[-1]

            registers.wait_interrupt = wait_interrupt
        for name in managers:
            self.reach(dut, f"{prefix}m_axi_{name}")

    def reach(self, dut, port):
        """Connect the memory to a port."""
        kind, bus = KINDS[hasattr(dut, f"{port}_araddr"), hasattr(dut, f"{port}_awaddr")]
        quiet(dut, port)
        kind(bus.from_prefix(dut, port), dut.clk, dut.rst, size=SIZE, mem=self.memory)

    def read(self, address, size):
        return bytes(self.memory[address : address + size])

    def write(self, address, data):
        self.memory[address : address + len(data)] = data


def put_in(monkeypatch, xrt, cards, name):
    """Let ``xrt``, a module of a host package, find these cards, whose kernel has this name."""
    pyxrt.cards.update(enumerate(cards))
    monkeypatch.setitem(sys.modules, "pyxrt", pyxrt)
    monkeypatch.setitem(sys.modules, "pynq", pynq)
    monkeypatch.setattr(pynq.Device, "devices", cards)
    for card in cards:
        card.kernel = name

    def registers(card, uuid, kernel):
        assert (uuid, kernel) == (pyxrt.uuid().to_string(), name)
        opened = cards[int(card)].registers
        opened.close = lambda: None
        return opened

    monkeypatch.setattr(xrt, "Registers", registers)
