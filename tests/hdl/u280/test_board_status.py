import random

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from hdl.u280.board_status import BoardStatus
from hdl.u280.mac import EVENTS
from hdl.u280.registers import IDENTITY, VERSION, BoardRegistersParams, board_registers
from sim.streams import start
from sim.verilator import simulate
from tests.hdl.common.register_pace import registers_at_any_pace

PARAMS = BoardRegistersParams(cages=2, hbm=True)
MAP = board_registers(PARAMS)


def test_board_status():
    simulate(BoardStatus(PARAMS), __name__)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def shows_what_the_board_does(dut):
    await start(dut)
    axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axil"), dut.clk, dut.rst)

    async def read(name, words=1):
        data = await axil.read(MAP.address(name), 4 * words)
        return int.from_bytes(data.data, "little")

    dut.links_0.value, dut.links_1.value, dut.memory_ready.value = 0, 1, 1
    dut.temperature_0.value, dut.temperature_1.value = 45, 101
    assert await read("board") == IDENTITY
    assert await read("board_version") == VERSION
    assert await read("state") == 0b110
    assert await read("temperature") == 45 | 101 << 7
    totals = {f"{name}_{k}": 0 for k in range(2) for name in EVENTS}
    for _ in range(50):
        for k in range(2):
            for index, name in enumerate(EVENTS):
                more = random.choice([0, 0, 1, 255])
                getattr(dut, f"counts_{k}_{index}").value = more
                totals[f"{name}_{k}"] += more
        await RisingEdge(dut.clk)
    for k in range(2):
        for index in range(len(EVENTS)):
            getattr(dut, f"counts_{k}_{index}").value = 0
    for name, total in totals.items():
        assert await read(name, 2) == total
    await axil.write(MAP.address("board_clear"), b"\1\0\0\0")
    for _ in range(4):
        await RisingEdge(dut.clk)
    assert [await read(name, 2) for name in totals] == [0] * len(totals)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def passes_the_interrupt_when_it_may(dut):
    await start(dut)
    axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axil"), dut.clk, dut.rst)
    for enabled, request in ((0, 1), (1, 1), (1, 0)):
        dut.request.value = request
        await axil.write(MAP.address("interrupt"), bytes([enabled, 0, 0, 0]))
        for _ in range(4):
            await RisingEdge(dut.clk)
        assert dut.irq.value == (enabled and request)
        answer = await axil.read(MAP.address("interrupt"), 4)
        assert answer.data[0] == enabled | request << 1


@cocotb.test(timeout_time=50, timeout_unit="us")
async def registers_keep_up(dut):
    await start(dut)
    await registers_at_any_pace(dut, MAP, "axil")


@cocotb.test(timeout_time=50, timeout_unit="us")
async def refuses_what_is_not_there(dut):
    await start(dut)
    axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axil"), dut.clk, dut.rst)
    addresses = range(0, 1 << len(dut.axil_araddr), 4)
    writable = {MAP.address(name) for name in ("board_clear", "interrupt")}
    for address in (MAP.address("board"), 4 * MAP.words, *random.sample(addresses, 60)):
        if address >= 4 * MAP.words:
            assert (await axil.read(address, 4)).resp == AxiResp.SLVERR
        if address not in writable:
            assert (await axil.write(address, random.randbytes(4))).resp == AxiResp.SLVERR
