import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi_guard import AxiGuard, AxiGuardParams
from sim.harness.verilator import simulate
from tests.hdl.common.crossing.clocks import start
from tests.rejects import rejects

test_rejects = rejects(
    AxiGuardParams, ({"address_bits": 8, "data_bits": 64, "lite": True}, "data_bits must be 32")
)


def test_axi_guard():
    simulate(AxiGuard(AxiGuardParams(address_bits=16, data_bits=32)), __name__)


async def begin(dut):
    (side,) = await start(dut, sync=4000)
    for name in ("i_awvalid", "i_wvalid", "i_arvalid", "o_bvalid", "o_rvalid", "cut"):
        getattr(dut, name).value = 0
    for name in ("o_awready", "o_wready", "o_arready"):
        getattr(dut, name).value = 1
    await side.edges(4)
    return side


async def cycles_until(dut, name):
    """Return the number of edges after which ``name`` is high, and lower it after the last."""
    cycles = 0
    while not getattr(dut, name).value:
        await RisingEdge(dut.clk)
        cycles += 1
    return cycles


@cocotb.test(timeout_time=10, timeout_unit="us")
async def takes_its_latency(dut):
    side = await begin(dut)
    for channel in ("ar", "aw", "w"):
        getattr(dut, f"i_{channel}valid").value = 1
        await side.edges(1)  # it moves
        getattr(dut, f"i_{channel}valid").value = 0
        assert await cycles_until(dut, f"o_{channel}valid") == AxiGuard.latency


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(cut=range(-1, 8))
async def a_cut_at_any_beat_ends_the_write(dut, cut):
    """The cut comes before, with or after each of its beats; those after it have no strobe."""
    side = await begin(dut)
    dut.i_awlen.value, dut.i_awvalid.value = 3, 1
    dut.i_wstrb.value = 0xF
    strobes, taken = [], 0
    for cycle in range(-2, 30):
        dut.cut.value = cut <= cycle < cut + 5
        dut.i_wvalid.value = cycle <= cut
        await RisingEdge(dut.clk)
        if dut.i_awvalid.value and dut.i_awready.value:
            dut.i_awvalid.value = 0
        taken += bool(dut.i_wvalid.value & dut.i_wready.value)
        if dut.o_wvalid.value:
            strobes.append(int(dut.o_wstrb.value))
            assert bool(dut.o_wlast.value) == (len(strobes) == 4)
    assert len(strobes) == 4
    assert strobes == [0xF] * taken + [0] * (4 - taken)
    dut.i_arvalid.value = 1
    await side.edges(8)
    assert not dut.i_arready.value  # as a response is due
    dut.o_bvalid.value = 1
    await side.edges(1)
    dut.o_bvalid.value = 0
    await side.edges(3)
    assert dut.i_arready.value
