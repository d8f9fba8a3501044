"""Runs a whole card with NetSparse's switch between two stations: a node and an uplink."""

import cocotb
from cocotb.triggers import Timer

from gen.software.netsparse_switch import software
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.harness.host_device import HostDevice
from sim.netsparse.card_traffic import traffic_files
from sim.surroundings.card.cards import simulate_cards
from sim.surroundings.card.host import switch_on
from sim.surroundings.card.incast import fibre
from tests.gen.software.selftests import SelfTest
from tests.sim.surroundings.card.netsparse_switch_card import (
    CARDS,
    NODE,
    PROPERTY,
    READS,
    RESPONSES,
    SWITCH,
    UPLINK,
    Bench,
    packets,
)

PACKETS = 1500  #: of reads: more beats than the card holds


def test_between_two_stations(tmp_path):
    traffic = traffic_files(tmp_path, packets())
    blocks = [NetSparseSwitch(SWITCH)]
    simulate_cards(CARDS, blocks, __name__, plusargs=[*traffic, fibre(20)])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reads_are_answered_from_the_cache(dut):
    """Both ends pause the card and are paused by it; nothing is lost, every PR is counted."""
    bench = Bench(dut)
    switch = bench.switch
    await switch_on(dut, switch)
    assert await switch.board.read("links") == 0b11
    await switch.set_routes({0: NODE, 1: UPLINK}, [UPLINK])
    await switch.set_addresses(SWITCH.nodes + 7)
    await switch.use(cache=True, concatenate=True)
    await switch.configure(PROPERTY)
    await switch.clear_counters()
    bench.send(responses=PACKETS // 4)
    await bench.finish()
    before, (_, filled) = (await switch.pipe_counters())[0], bench.heard()
    stored = before["cache_inserted"] + before["cache_present"]
    assert filled == before["responses_received_prs"] == stored > PACKETS // 4
    # Reads of the uplink stand until the card asks the node for a pause, responses now and then.
    bench.node.pause[RESPONSES].value, bench.uplink.pause[READS].value = 1, 2
    bench.send(reads=PACKETS, responses=PACKETS // 4)
    while not int(bench.node.pauses[READS].value):
        await Timer(1, "us")
    bench.node.pause[RESPONSES].value = bench.uplink.pause[READS].value = 0
    await bench.finish()
    counts = (await switch.pipe_counters())[0]
    reads, responses = bench.heard()
    requested, hits = int(bench.node.reads.value), counts["cache_hit"]
    assert requested == counts["reads_received_prs"]
    assert (reads, responses) == (requested - hits, counts["responses_received_prs"] + hits)
    assert requested // 4 < hits < requested
    assert await bench.lost() == {0}
    for station, cage, name in ((bench.node, NODE, "reads"), (bench.uplink, UPLINK, "responses")):
        kind = READS if station is bench.node else RESPONSES
        assert await switch.board.read(f"pauses_{name}_{cage}") == int(station.pauses[kind].value)
    for name, cage in (("responses", NODE), ("reads", UPLINK)):
        assert await switch.board.read(f"paused_{name}_{cage}") > 100
    await resets_leave_no_half_packets(bench)


async def resets_leave_no_half_packets(bench):
    """Packets that a soft reset cuts do not leave the card; what comes later does."""
    for _ in range(6):
        bench.send(reads=100, responses=100)
        await Timer(3, "us")
        await bench.switch.write(reset_packets=1)
    await bench.finish()
    before, read = bench.heard(), int(bench.node.reads.value)
    bench.send(reads=50)
    await bench.finish()
    assert bench.heard() == (before[0] + int(bench.node.reads.value) - read, before[1])
    assert await bench.lost() == {0}


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_card_tests_itself(dut):
    """All checks pass on a card that is right; each tells what is wrong with one that is not."""
    bench = Bench(dut)
    await switch_on(dut, bench.switch)
    await SelfTest(software(SWITCH), HostDevice(bench.switch.axil)).on_rtl()
