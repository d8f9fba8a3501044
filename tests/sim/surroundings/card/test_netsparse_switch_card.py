"""Runs a whole card with NetSparse's switch between two stations: a node and an uplink."""

import cocotb
import numpy as np
from cocotb.triggers import Timer

from gen.base.settings import make_params
from gen.board.boards import BOARDS
from gen.software.netsparse_switch import software
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.harness.host_device import HostDevice
from sim.netsparse.card import CardSwitch
from sim.netsparse.card_traffic import traffic_files
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, to_bytes
from sim.surroundings.card.cards import CardsParams, simulate_cards
from sim.surroundings.card.host import switch_on
from sim.surroundings.card.incast import fibre
from tests.gen.software.selftests import SelfTest

BOARD = BOARDS["u280"].designs["netsparse-switch"]
SWITCH = make_params(BOARD.design.params_class, BOARD.settings_of("tiny"))
NODE, UPLINK = 0, 1  #: cages, and the nodes behind them
CARDS = CardsParams(cards=(("netsparse_switch", SWITCH),), stations=((0, NODE), (0, UPLINK)))
PROPERTY = 64  #: bytes: an idx, again and again
ADDRESSES = Addresses(mac_base=0x0200 << 32, ip_base=0x0A000000)
READS, RESPONSES = 0, 1  #: classes
QUIET_US = 12  #: longer than a pause that is not repeated
PACKETS = 1500  #: of reads: more beats than the card holds


def packets():
    """Return reads of the node, and responses to it, which answer half of what the reads ask."""
    rng = np.random.default_rng(1)
    idxs = rng.choice(1 << SWITCH.cache.idx_bits, size=24, replace=False)
    built = []
    for kind, of, src, counts in (
        (Kind.READ, idxs, NODE, [*[1] * 6, 8, 29]),
        (Kind.RESPONSE, idxs[:12], UPLINK, [1, 2, 3, 6, 6, 6]),
    ):
        for count in counts:
            prs = [
                Request(
                    kind=kind,
                    dest=UPLINK if kind is Kind.READ else NODE,
                    length=PROPERTY,
                    src=src,
                    idx=int(idx),
                    data=int(idx).to_bytes(8, "big") * 8 if kind is Kind.RESPONSE else b"",
                )
                for idx in rng.choice(of, size=count)
            ]
            built.append(to_bytes(prs, src, ADDRESSES))
    return built


def test_between_two_stations(tmp_path):
    traffic = traffic_files(tmp_path, packets())
    blocks = [NetSparseSwitch(SWITCH)]
    simulate_cards(CARDS, blocks, __name__, plusargs=[*traffic, fibre(20)])


class Bench:
    """Has the card's host, and both stations."""

    def __init__(self, dut):
        self.switch = CardSwitch(dut.card_0, SWITCH)
        self.node, self.uplink = (getattr(dut, f"far_0_{cage}") for cage in (NODE, UPLINK))
        for station in (self.node, self.uplink):
            station.keyed.value = 1

    def send(self, reads=0, responses=0):
        """Send this many more packets of the node and of the uplink."""
        for station, kind, count in (
            (self.node, READS, reads),
            (self.uplink, RESPONSES, responses),
        ):
            station.limit[kind].value = int(station.limit[kind].value) + count

    def heard(self):
        """Return PRs that the stations have received: reads of one, responses of the other."""
        return int(self.uplink.prs_heard[READS].value), int(self.node.prs_heard[RESPONSES].value)

    async def finish(self, max_us=200):
        """Wait until all is sent and nothing has come for a while; no packet was mangled."""
        before = None
        for _ in range(0, max_us, QUIET_US):
            await Timer(QUIET_US, "us")
            sent = all(
                int(station.number[k].value) == int(station.limit[k].value)
                for station in (self.node, self.uplink)
                for k in (READS, RESPONSES)
            )
            if sent and before == self.heard():
                break
            before = self.heard()
        else:
            raise AssertionError(f"not within {max_us} us: {before}")
        assert int(self.node.mangled.value) == int(self.uplink.mangled.value) == 0

    async def lost(self):
        """Return what the MACs' counters say was lost."""
        names = ("dropped", "broken", "foreign")
        return {await self.switch.board.read(f"{n}_{k}") for n in names for k in (NODE, UPLINK)}


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
