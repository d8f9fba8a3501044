"""A switch works on while its host resets PCI Express, at core clocks that are not the host's."""

import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import Timer, with_timeout
from cocotb.utils import get_sim_time

from hdl.netsparse.switch.registers import IDENTITY
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.netsparse.card_traffic import traffic_files
from sim.surroundings.card.cards import simulate_cards
from sim.surroundings.card.host import switch_on
from sim.surroundings.card.incast import fibre
from tests.sim.surroundings.card.netsparse_switch_card import (
    CARDS,
    NODE,
    PROPERTY,
    SWITCH,
    UPLINK,
    Bench,
    packets,
)

RESETS = 80
PACKETS = 10  #: of each kind between two resets


@pytest.mark.parametrize("core_mhz", [200.0, 300.0])
def test_host_reset(tmp_path, core_mhz):
    traffic = traffic_files(tmp_path, packets())
    cards = replace(CARDS, core_mhz=core_mhz)
    blocks = [NetSparseSwitch(SWITCH)]
    simulate_cards(cards, blocks, __name__, plusargs=[*traffic, fibre(20)])


async def reset_link(switch, delay):
    """Reset PCI Express ``delay`` ns after reads of the design's and the board's registers."""
    reads = [
        cocotb.start_soon(part.read(name))
        for part, name in ((switch, "nodes"), (switch.board, "board_version"))
    ]
    await Timer(delay, "ns", round_mode="round")
    for read in reads:
        read.cancel()
    switch.pcie.core.reset.value = 1
    await Timer(random.choice((8, 40, 600)), "ns")
    switch.pcie.core.reset.value = 0
    await Timer(random.randrange(200, 400), "ns")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def packets_pass_through_resets_of_the_host(dut):
    """Nothing is lost, settings and counters stay, and each read has its own response."""
    bench = Bench(dut)
    switch = bench.switch
    await switch_on(dut, switch)
    switch.pcie.model.root.tag_count = 256  # as each read that a reset ends keeps one
    await switch.set_routes({0: NODE, 1: UPLINK}, [UPLINK])
    await switch.set_addresses(SWITCH.nodes + 7)
    await switch.use(cache=False, concatenate=True)
    await switch.configure(PROPERTY)
    await switch.clear_counters()
    before = get_sim_time("ns")
    await switch.board.read("links")
    duration = get_sim_time("ns") - before
    for k in range(RESETS):
        bench.send(reads=PACKETS, responses=PACKETS)
        await reset_link(switch, duration * (k + 1) / RESETS)
        assert await with_timeout(switch.board.read("links"), 10, "us") == 0b11
        assert await with_timeout(switch.read("identity"), 10, "us") == IDENTITY
    switch.pcie.core.reset.value = 1
    bench.send(reads=PACKETS, responses=PACKETS)
    await bench.finish()
    reads, responses = bench.heard()
    switch.pcie.core.reset.value = 0
    await Timer(400, "ns")
    counts = (await switch.pipe_counters())[0]
    assert reads == int(bench.node.reads.value) == counts["reads_received_prs"]
    assert responses == counts["responses_received_prs"] > 0
    assert await bench.lost() == {0}
