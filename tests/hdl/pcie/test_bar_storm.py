"""Registers are read and written back to back while the requester reads at full rate."""

import random

import cocotb
from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteRam

from hdl.common.component import Component
from hdl.pcie.completer import Completer
from hdl.pcie.completer_params import CompleterParams
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.requester import Requester, RequesterParams
from sim.golden.pcie_requester import Cause
from sim.harness.streams import cycle, never
from sim.harness.verilator import simulate
from tests.hdl.pcie.test_requester_on_model import MEMORY, Card

BYTES = 4096  #: of the BAR
READS, SIZE = 240, 512
ANSWER = 1000  #: cycles that a register's answer takes at most, behind up to three writes


class Both(Component):
    """A requester and a completer together, as a card has them."""

    def __init__(self, params):
        completer = Completer(CompleterParams()).signature.members
        super().__init__(
            params,
            {
                **Requester(params).signature.members,
                **{name: completer[name] for name in ("cq", "cc", "axil")},
            },
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.requester = requester = Requester(self.params)
        m.submodules.completer = completer = Completer(CompleterParams())
        for name, member in requester.signature.members.items():
            ours, inner = getattr(self, name), getattr(requester, name)
            if not member.is_port:
                pair = (inner, flipped(ours)) if name in OUT else (flipped(ours), inner)
                connect(m, *pair)
            elif member.flow.name == "In":
                m.d.comb += inner.eq(ours)
            else:
                m.d.comb += ours.eq(inner)
        connect(m, flipped(self.cq), completer.cq)
        connect(m, completer.cc, flipped(self.cc))
        connect(m, completer.axil, flipped(self.axil))
        m.d.comb += completer.tick.eq(self.tick)
        return m


OUT = ("beats", "rq")


def test_bar_storm():
    simulate(Both(RequesterParams(reads=ReadRequesterParams(tags=64))), __name__)


async def storm(window, content, answers, goes_on):
    """Write words that were never there before, four and eight bytes; read every fourth."""
    number = 0
    while goes_on:
        number += 1
        size = random.choice([4, 8])
        start = size * random.randrange(BYTES // size)
        payload = random.randbytes(size)
        content[start : start + size] = payload
        await window.write(start, payload)
        if number % 4 == 0:
            begin = cycle()
            assert await window.read(start, size) == payload
            answers.append(cycle() - begin)


@cocotb.test(timeout_time=300, timeout_unit="us")
async def reads_and_registers_at_once(dut):
    """Every write of a register is there, every read has its bytes; neither is much slower."""
    card = Card(dut, never, "cq", "cc", bars=[(0, BYTES)])
    registers = AxiLiteRam(AxiLiteBus.from_prefix(dut, "axil"), dut.clk, dut.rst, size=BYTES)
    found = await card.begin(2, 1)
    window, content, answers, goes_on = found.bar_window[0], bytearray(BYTES), [], [True]
    registers.write(0, bytes(BYTES))
    took = []
    for storms in (False, True):
        task = cocotb.start_soon(storm(window, content, answers, goes_on)) if storms else None
        begin = cycle()
        for _ in range(READS):
            card.ask(card.base + SIZE * random.randrange(MEMORY // SIZE), SIZE)
        assert await card.finish() == [Cause.NONE] * len(card.wanted)
        took.append(cycle() - begin)
        if task:
            goes_on.clear()
            await task
    await window.read(0, 4)  # behind all writes
    for _ in range(100):
        await RisingEdge(dut.clk)
    assert registers.read(0, BYTES) == content
    dut._log.info("cycles: %s, answers: %d, of %d at most", took, len(answers), max(answers))
    assert len(answers) >= 5
    assert max(answers) <= ANSWER
    assert took[1] <= 1.02 * took[0]
