"""Runs two whole cards with SNICs, which gather between the memories of their hosts."""

import os
from pathlib import Path

import cocotb
from cocotb.triggers import Timer

from gen.software.netsparse_snic import software
from hdl.netsparse.rig.unit import RigUnit
from hdl.netsparse.snic import Snic
from sim.harness.host_device import HostDevice
from sim.netsparse.card import CardSnic
from sim.netsparse.golden.gather import host_memory_before
from sim.surroundings.axi_ram import dump_file, ram_file
from sim.surroundings.card.cards import simulate_cards
from sim.surroundings.card.host import switch_on
from tests.gen.software.selftests import SelfTest
from tests.sim.surroundings.card.snic_cards import CARDS, NODES, SNIC, set_up, small_gather

FOLDER = "INGATHER_CARDS"


def test_gather(tmp_path):
    gather = small_gather()
    plusargs = []
    for node in range(NODES):
        before = host_memory_before(gather.properties, gather.partition, node)
        image = tmp_path / f"ram_{node}"
        image.write_bytes(gather.image(node, before))
        plusargs += [ram_file(node + 1, image), dump_file(node + 1, tmp_path / f"dump_{node}")]
    blocks = [Snic(SNIC), RigUnit(SNIC.rig)]
    simulate_cards(CARDS, blocks, __name__, plusargs=plusargs, env={FOLDER: str(tmp_path)})


@cocotb.test(timeout_time=400, timeout_unit="us")
async def each_card_gathers_from_the_other(dut):
    gather = small_gather()
    cards = await switch_on(dut)
    snics = [CardSnic(card, SNIC) for card in cards]
    requests = []
    for node, snic in enumerate(snics):
        assert await snic.board.read("links")
        assert await snic.board.read("memory_ready")
        requests.append(await set_up(snic, node, gather))
    await Timer(500, "ns")
    assert [snic.pcie.messages for snic in snics] == [0, 0], "interrupts without a completion"
    runs = [
        cocotb.start_soon(snic.carry_out(each)) for snic, each in zip(snics, requests, strict=True)
    ]
    for node, running in enumerate(runs):
        done = await running
        assert [completion.cause for completion in done] == ["DONE"] * len(done)
        assert sorted(c.tag for c in done) == [request.tag for request in requests[node]]
        assert snics[node].pcie.messages
    folder = Path(os.environ[FOLDER])
    for node, (snic, card) in enumerate(zip(snics, cards, strict=True)):
        await snic.rest(servers=True)
        units = [await snic.unit_counters(k) for k in range(SNIC.units)]
        expected = gather.expected(node)
        assert sum(unit["prs"] for unit in units) == expected.distinct
        card.pcie.ip.dump.value = 1
        await Timer(50, "ns")
        host = card.pcie.ip
        assert (int(host.missing.value), int(host.lost.value)) == (0, 0)
        assert int(card.memory.ip.lateral.value) == 0
        result = (folder / f"dump_{node}").read_bytes()
        assert result[: len(gather.golden()[node])] == gather.golden()[node]
        for event in ("dropped", "broken", "foreign"):
            assert await snic.board.read(f"{event}_0") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_card_tests_what_needs_no_host_memory(dut):
    """Its checks pass on a card that is right; each tells what is wrong with one that is not."""
    cards = await switch_on(dut)
    checks = [part for name in ("registers", "counters", "links") for part in ("--only", name)]
    await SelfTest(software(SNIC), HostDevice(CardSnic(cards[0], SNIC).axil), *checks).on_rtl()
