import random
from collections import Counter

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from hdl.u280.board_status import BoardStatus
from hdl.u280.cage_status import CageStatusParams
from hdl.u280.mac_signals import CUTS, DEMANDS, HAPPENINGS, LEVELS, SETTINGS, STATUS
from hdl.u280.registers import (
    COUNT_BITS,
    IDENTITY,
    RARE_BITS,
    VERSION,
    BoardRegistersParams,
    board_registers,
)
from sim.harness.register_driver import RegisterDriver
from sim.harness.streams import start
from sim.harness.verilator import simulate
from tests.hdl.common.register_pace import registers_at_any_pace

PARAMS = BoardRegistersParams(cages=2, hbm=True, flow="kinds", msix=True)
CAGE = CageStatusParams(flow="kinds")
MAP = board_registers(PARAMS)
STEPS = 400


def test_board_status():
    simulate(BoardStatus(PARAMS), __name__, registers=[*CAGE.sums.members])


def bits(layout, value):
    return layout.const(value).as_value().value


async def shows_whether_memory_is_ready(dut, board):
    """It shows both answers, whatever else is shown."""
    for ready in (1, 0):
        dut.memory_ready.value = ready
        assert await board.read("memory_ready") == ready


@cocotb.test(timeout_time=50, timeout_unit="us")
async def shows_what_the_board_does(dut):
    await start(dut)
    board = RegisterDriver(dut, "axil", MAP)
    assert await board.read("board") == IDENTITY
    assert await board.read("board_version") == VERSION
    for degrees in ([45, 82], [82, 45]):  # of each bit, both values
        dut.temperature_0.value, dut.temperature_1.value = degrees
        assert [await board.read(f"degrees_{k}") for k in range(2)] == degrees
    ones = (1 << STATUS.size) - 1
    shown = [random.getrandbits(STATUS.size) for _ in range(2)]
    for flip in (0, ones):
        both = [STATUS.from_bits(value ^ flip) for value in shown]
        for k, levels in enumerate(both):
            getattr(dut, f"levels_{k}").value = bits(LEVELS, {"status": levels})
        await shows_whether_memory_is_ready(dut, board)
        assert await board.read("links") == both[0].linked | both[1].linked << 1
        for k, levels in enumerate(both):
            for name in STATUS.members:
                assert await board.read(f"{name}_{k}") == levels[name]
    totals = Counter({f"{name}_{k}": 0 for k in range(2) for name in CAGE.sums.members})
    before = [0, 0]
    for step in range(STEPS + 10):
        for k in range(2):
            for index, name in enumerate(CAGE.events):
                more = random.choice([0, 0, 1, 255]) if step < STEPS else 0
                getattr(dut, f"counts_{k}_{index}").value = more
                totals[f"{name}_{k}"] += more
            cuts = {"transmit": random.choice([0, 1, 900]), "receive": random.choice([0, 1, 2])}
            getattr(dut, f"cuts_{k}").value = bits(CUTS, cuts) if step < STEPS else 0
            happens = random.getrandbits(HAPPENINGS.size) if step < STEPS else 0
            levels = {"happenings": HAPPENINGS.from_bits(happens)}
            getattr(dut, f"levels_{k}").value = bits(LEVELS, levels)
            for index, name in enumerate(HAPPENINGS.members):
                totals[f"{name}_{k}"] += (happens & ~before[k]) >> index & 1
            before[k] = happens
            if step < STEPS:
                totals[f"cut_transmit_{k}"] += cuts["transmit"]
                totals[f"cut_receive_{k}"] += cuts["receive"]
        await RisingEdge(dut.clk)
    wrapped = {name: n % (1 << CAGE.sums.members[name[:-2]]) for name, n in totals.items()}
    assert {name: await board.read(name) for name in totals} == wrapped
    await board.write(clear_losses=1)
    for name in totals:
        assert await board.read(name) == 0


@cocotb.test(timeout_time=100, timeout_unit="us")
async def sums_carry_over_every_bit(dut):
    """This holds for both cages and all events at a time; a full one begins anew."""
    await start(dut)
    await ClockCycles(dut.clk, 2)  # sums are cleared behind a reset
    board = RegisterDriver(dut, "axil", MAP)
    widths = CAGE.sums.members
    happenings = (1 << HAPPENINGS.size) - 1
    for bit in range(max(widths.values()) + 1):
        for k in range(2):
            for name, width in widths.items():
                getattr(getattr(dut, f"cage_{k}"), name).value = (1 << min(bit, width)) - 1
                if name in CAGE.events:
                    getattr(dut, f"counts_{k}_{CAGE.events.index(name)}").value = 1
            levels = {"happenings": HAPPENINGS.from_bits(happenings)}
            getattr(dut, f"levels_{k}").value = bits(LEVELS, levels)
            getattr(dut, f"cuts_{k}").value = bits(CUTS, {"transmit": 1, "receive": 1})
        await RisingEdge(dut.clk)
        for k in range(2):
            for index in range(len(CAGE.events)):
                getattr(dut, f"counts_{k}_{index}").value = 0
            getattr(dut, f"cuts_{k}").value = 0
            getattr(dut, f"levels_{k}").value = 0
        await ClockCycles(dut.clk, 3)
        for k in range(2):
            for name, width in widths.items():
                total = (1 << min(bit, width)) % (1 << width)
                assert int(getattr(getattr(dut, f"cage_{k}"), name).value) == total
    anything = [{name: random.getrandbits(width) for name, width in widths.items()} for _ in "01"]
    degrees = random.getrandbits(7)
    for flip in (0, -1):
        dut.temperature_0.value = dut.temperature_1.value = (degrees ^ flip) % (1 << 7)
        for k, totals in enumerate(anything):
            for name, total in totals.items():
                shown = (total ^ flip) % (1 << widths[name])
                getattr(getattr(dut, f"cage_{k}"), name).value = shown
        await shows_whether_memory_is_ready(dut, board)
        for k, totals in enumerate(anything):
            for name, total in totals.items():
                assert await board.read(f"{name}_{k}") == (total ^ flip) % (1 << widths[name])


@cocotb.test(timeout_time=50, timeout_unit="us")
async def reports_a_mac_what_the_host_needs(dut):
    await start(dut)
    board = RegisterDriver(dut, "axil", MAP)
    settings = [bits(SETTINGS, {"rsfec": 1})] * 2
    demands = [int(getattr(dut, f"demands_{k}").value) for k in range(2)]

    def reported(name):
        return [int(getattr(dut, f"{name}_{k}").value) for k in range(2)]

    assert reported("settings") == settings
    for k in range(2):
        for rsfec, loopback in ((0, 2), (1, 1), (0, 0), (1, 0)):
            await board.write(**{f"rsfec_{k}": rsfec, f"loopback_{k}": loopback})
            settings[k] = bits(SETTINGS, {"rsfec": rsfec, "loopback": loopback})
            assert reported("settings") == settings
        commands = {"whole": "reset", "transmit": "reset_transmit", "receive": "reset_receive"}
        for name in 2 * list(commands):
            await board.write(**{f"{commands[name]}_{k}": 1})
            await RisingEdge(dut.clk)
            demands[k] ^= bits(DEMANDS, {name: 1})
            assert reported("demands") == demands
    # A reset of the host's bus takes its settings back, and asks for nothing.
    await board.write(rsfec_0=0, reset_1=1)
    await RisingEdge(dut.clk)
    demands = reported("demands")
    await start(dut)
    assert reported("demands") == demands
    assert reported("settings") == [bits(SETTINGS, {"rsfec": 1})] * 2


@cocotb.test(timeout_time=50, timeout_unit="us")
async def passes_the_interrupt_when_it_may(dut):
    await start(dut)
    axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axil"), dut.clk, dut.rst)
    for enabled, request in ((0, 1), (1, 1), (1, 0)):
        dut.request.value = request
        await axil.write(MAP.address("interrupt"), bytes([enabled, 0, 0, 0]))
        await ClockCycles(dut.clk, 4)
        assert dut.irq.value == (enabled and request)
        answer = await axil.read(MAP.address("interrupt"), 4)
        assert answer.data[0] == enabled | request << 1


@cocotb.test(timeout_time=50, timeout_unit="us")
async def counts_interrupts_that_are_late(dut):
    await start(dut)
    board = RegisterDriver(dut, "axil", MAP)
    for silent in (1, 0):
        dut.irq_silent.value = silent
        assert await board.read("interrupt_silent") == silent
    dut.irq_late.value = 1
    await ClockCycles(dut.clk, (1 << RARE_BITS) + 99)
    dut.irq_late.value = 0
    assert await board.read("interrupts_late") == 99
    await board.write(clear_losses=1)
    assert await board.read("interrupts_late") == 0


@cocotb.test(timeout_time=50, timeout_unit="us")
async def registers_keep_up(dut):
    await start(dut)
    await registers_at_any_pace(dut, MAP, "axil")


@cocotb.test(timeout_time=50, timeout_unit="us")
async def refuses_what_is_not_there(dut):
    await start(dut)
    axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axil"), dut.clk, dut.rst)
    addresses = range(0, 1 << len(dut.axil_araddr), 4)
    writable = {place for place, register in MAP.placed if not register.read_only}
    for address in (MAP.address("board"), 4 * MAP.words, *random.sample(addresses, 60)):
        if address >= 4 * MAP.words:
            assert (await axil.read(address, 4)).resp == AxiResp.SLVERR
        if address not in writable:
            assert (await axil.write(address, random.randbytes(4))).resp == AxiResp.SLVERR


@pytest.mark.parametrize(
    ("flow", "name"), [("none", ""), ("kinds", "reads"), ("priorities", "priority_7")]
)
def test_sums_have_the_width_of_their_registers(flow, name):
    sums = CageStatusParams(flow=flow).sums
    assert sums["dropped"].width == COUNT_BITS
    assert sums["watchdog"].width == RARE_BITS
    paused = [each for each in sums.members if each.startswith("paused_")]
    assert paused[-1:] == ([f"paused_{name}"] if name == "priority_7" else paused[-1:])
    assert bool(paused) == bool(name)
