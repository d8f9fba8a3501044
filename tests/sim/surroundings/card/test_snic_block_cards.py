"""Runs two whole cards with SNICs on the bare PCIe block, in root complexes that others wrote."""

from dataclasses import replace

import cocotb
import pytest

from gen.software.netsparse_snic import software
from hdl.netsparse.registers import IDENTITY
from hdl.netsparse.rig.unit import RigUnit
from hdl.netsparse.snic import Snic
from sim.harness.host_device import HostDevice, HostMemory
from sim.harness.threads import bridge
from sim.netsparse.card import CardBlockSnic
from sim.netsparse.golden.gather import host_memory_before
from sim.netsparse.host.snic import selftest
from sim.surroundings.card.cards import CardsParams, simulate_cards
from sim.surroundings.card.host import switch_on
from tests.gen.software.selftests import SelfTest
from tests.sim.surroundings.card.snic_cards import CARDS as BRIDGES
from tests.sim.surroundings.card.snic_cards import NODES, SNIC, set_up, small_gather

STREAMS = replace(SNIC, host_bus="pcie")
CARDS = CardsParams(cards=(("snic", STREAMS),) * NODES, fibres=BRIDGES.fibres)


@pytest.mark.long
def test_gather():
    simulate_cards(CARDS, [Snic(STREAMS), RigUnit(STREAMS.rig)], __name__)


@cocotb.test(timeout_time=600, timeout_unit="us")
async def each_card_gathers_from_the_other(dut):
    gather = small_gather()
    snics = []
    for node in range(NODES):
        before = host_memory_before(gather.properties, gather.partition, node)
        card = getattr(dut, f"card_{node}")
        snics.append(CardBlockSnic(card, STREAMS, gather.image(node, before)))
    await switch_on(dut, *snics)
    runs = []
    for node, snic in enumerate(snics):
        assert await snic.read("identity") == IDENTITY
        assert await snic.board.read("memory_ready")
        runs.append(cocotb.start_soon(snic.carry_out(await set_up(snic, node, gather))))
    for node, (snic, running) in enumerate(zip(snics, runs, strict=True)):
        done = await running
        assert [completion.cause for completion in done] == ["DONE"] * len(done)
        assert snic.pcie.messages
        await snic.rest(servers=True)
        units = [await snic.unit_counters(k) for k in range(STREAMS.units)]
        assert sum(unit["prs"] for unit in units) == gather.expected(node).distinct
        golden = gather.golden()[node]
        assert bytes(snic.memory.mem[: len(golden)]) == golden
        for event in ("dropped", "broken", "foreign"):
            assert await snic.board.read(f"{event}_0") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_card_tests_itself(dut):
    """All checks pass on a card that is right; each tells what is wrong with one that is not."""
    snics = [
        CardBlockSnic(getattr(dut, f"card_{k}"), STREAMS, bytes(1 << 16)) for k in range(NODES)
    ]
    await switch_on(dut, *snics)
    device = HostDevice(snics[0].axil, HostMemory(snics[0].memory))
    test = SelfTest(software(STREAMS), device)
    selftest.WATCHDOG = 3000

    def program():
        test.passes()
        dut.card_0.mac_0.cmac.core.corrupt.value = 1
        test.fails("gather: the gather ended as WATCHDOG", "gather")
        test.broken()

    await bridge(program)()
