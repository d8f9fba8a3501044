from itertools import product

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.u280.mac_link import MacLink
from sim.harness.streams import start, strobe
from sim.harness.verilator import simulate


def test_mac_link():
    simulate(MacLink(), __name__)


@cocotb.test(timeout_time=5, timeout_unit="us")
async def obeys_faults(dut):
    """It obeys IEEE 802.3, 46.3.4, the reconciliation sublayer's rule; no data before both hear."""
    names = ("aligned", "received", "local_fault", "remote_fault")
    for name in names:
        getattr(dut, name).value = 0
    await start(dut)
    for values in product((0, 1), repeat=4):
        for name, value in zip(names, values, strict=True):
            getattr(dut, name).value = value
        await ClockCycles(dut.clk, MacLink.latency + 1)
        aligned, received, local, remote = values
        hears = bool(aligned and not local)
        assert dut.send_rfi.value == (not hears)
        assert dut.send_idle.value == (hears and bool(remote))
        assert dut.enable.value == (hears and not remote)
        assert dut.linked.value == (hears and not remote and bool(received))
        await strobe(dut.rst, dut.clk)
        await RisingEdge(dut.clk)
        assert dut.send_rfi.value
        assert not any(getattr(dut, name).value for name in ("send_idle", "enable", "linked"))
