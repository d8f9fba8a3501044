import random
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.u280.mac import Mac, MacParams
from hdl.u280.mac_resets import MacResetsParams
from hdl.u280.mac_signals import EVENTS, LEVELS, SETTINGS
from hdl.u280.mac_transmit import MacTransmitParams
from sim.streams import never, often, rarely
from sim.verilator import simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.packet_bench import send, take, until
from tests.hdl.u280.test_kind_split import random_packet

LOOP = Path(__file__).with_name("cmac_loop.sv")


def test_both_kinds_through_a_loop():
    resets = MacResetsParams(settle=64, patience=200, pulse=50)
    params = MacParams(cage=0, split=True, packets=MacTransmitParams(beats=64), resets=resets)
    simulate(Mac(params), __name__, extra_sources=[LOOP])


def test_rejects():
    with pytest.raises(ValueError, match="cage must be 0 or 1: 2"):
        MacParams(cage=2)


def test_cages_have_macs_and_transceivers_of_their_own():
    configs = [dict(Mac(MacParams(cage=k)).cmac.config) for k in range(2)]
    assert [config["CMAC_CORE_SELECT"] for config in configs] == ["CMACE4_X0Y6", "CMACE4_X0Y7"]
    assert [config["GT_GROUP_SELECT"] for config in configs] == ["X0Y40~X0Y43", "X0Y44~X0Y47"]
    assert Mac(MacParams(cage=1)).clock == "mac_1"


def linked(dut):
    return LEVELS.from_bits(int(dut.levels.value)).status.linked


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=[(never, never), (often, rarely), (never, often)])
async def what_is_sent_comes_back_by_its_kind(dut, stalls):
    dut.transmit_tvalid.value = 0
    dut.settings.value = SETTINGS.const({"rsfec": 1}).as_value().value
    core, _ = await start(dut, sync=4000, apb=3104)
    assert not linked(dut)
    counts = [0] * len(EVENTS)
    taken = [[], []]

    async def add_up():
        while True:
            await RisingEdge(core.clk)
            for k in range(len(EVENTS)):
                counts[k] += int(getattr(dut, f"counts_{k}").value)

    cocotb.start_soon(add_up())
    for k in range(2):
        cocotb.start_soon(take(core, f"receive_{k}", taken[k], stalls[1]))
    gap = often if stalls[1] is not often else lambda: random.random() < 0.9  # or some are dropped
    chosen = []
    while len(chosen) < 100:
        packet, kind = random_packet()
        if len(packet) >= 60:
            chosen.append((packet, kind))
    packets = [packet for packet, _ in chosen]
    await send(core, "transmit", packets, stalls[0], gap=gap, broken=range(0, 100, 3))
    broken = {n for n, (p, _) in enumerate(chosen) if len(p) % 64 == 0 and p[-1] >> 7}
    good = [
        [p for n, (p, kind) in enumerate(chosen) if kind == k and n not in broken] for k in range(2)
    ]
    await until(core, lambda: [len(t) for t in taken] == [len(g) for g in good])
    await core.edges(60)
    assert taken == good
    assert linked(dut)
    foreign = sum(kind is None for _, kind in chosen)
    lost = sum(chosen[n][1] is not None for n in broken)
    assert counts == [0, lost, foreign, 0, 0, 0]
