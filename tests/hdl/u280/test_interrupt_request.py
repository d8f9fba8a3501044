import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.u280.interrupt_request import InterruptRequest
from sim.harness.streams import start, started
from sim.harness.verilator import simulate


def test_interrupt_request():
    simulate(InterruptRequest(), __name__)


class Core:
    """PCI Express as its guides have it: one message for each rise, acknowledged a while later.

    ``messages`` counts those that went out; the acknowledgement comes ``lag()`` cycles behind.
    """

    def __init__(self, dut, wait, lag):
        self.dut, self.wait, self.lag, self.messages = dut, wait, lag, 0
        cocotb.start_soon(self.run())

    async def run(self):
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            while not dut.request.value:
                await edge
            for _ in range(self.wait()):
                await edge
                assert dut.request.value, "a request was taken back before it was sent"
            self.messages += 1
            for _ in range(self.lag()):
                await edge
            dut.ack.value = 1
            await edge
            dut.ack.value = 0
            while dut.request.value:
                await edge


async def begin(dut, wait, lag=lambda: 0):
    dut.level.value, dut.ack.value = 0, 0
    core = await started(Core(dut, wait, lag))
    return core


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(high=range(1, 12), wait=[1, 2, 5, 9])
async def a_level_is_a_message(dut, high, wait):
    core = await begin(dut, lambda: wait)
    for count in range(1, 4):
        dut.level.value = 1
        await ClockCycles(dut.clk, high)
        dut.level.value = 0
        if high > wait + 4:  # it is acknowledged
            await ClockCycles(dut.clk, 2)
            assert not dut.request.value
        await ClockCycles(dut.clk, wait + 6)
        assert not dut.request.value
        assert core.messages == count


@cocotb.test(timeout_time=500, timeout_unit="us")
async def what_rises_again_is_reported(dut):
    """However short the level is low, and whenever, a message follows the rise."""
    core = await begin(dut, lambda: random.randrange(1, 12), lambda: random.randrange(8))
    edge = RisingEdge(dut.clk)
    for _ in range(300):
        dut.level.value = 0
        await ClockCycles(dut.clk, random.choice([1, 1, 2, 30]))
        dut.level.value = 1
        heard = core.messages
        for _ in range(60):
            if core.messages > heard:
                break
            await edge
        assert core.messages >= heard + 1
        if random.random() < 0.5:
            await ClockCycles(dut.clk, random.randrange(40))


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(last=["level", "ack"])
async def falls_as_soon_as_it_may(dut, last):
    """It falls a cycle after the end of the level or the acknowledgement, whichever is later."""
    dut.level.value, dut.ack.value = 1, 0
    await start(dut)
    ends = {"level": (0, 0), "ack": (1, 0)}  # in a cycle, and from the next one on
    for name in sorted(ends, key=lambda name: name == last):
        await ClockCycles(dut.clk, 3)
        assert dut.request.value
        signal = getattr(dut, name)
        for value in ends[name]:
            signal.value = value
            await RisingEdge(dut.clk)
    assert not dut.request.value
