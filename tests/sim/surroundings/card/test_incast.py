"""Runs the MAC under incast: cores take little, and a far end sends all that it may."""

import cocotb
import pytest
from cocotb.triggers import Timer

from hdl.u280.mac import MacParams
from sim.harness.verilator import params_in_simulator
from sim.netsparse.card_traffic import densest, traffic_files
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, to_bytes
from sim.surroundings.card.cards import QUICK
from sim.surroundings.card.incast import fibre, simulate_incast
from tests.long import short_and_long

MAC = MacParams(cage=0, flow="kinds", resets=QUICK)
SOURCES = 12
PROPERTY = 64  #: bytes
MTU, LONGEST = 1500, MAC.link.frame_bytes - 4  #: bytes
CLASSES = range(2)


def packets_of_many_sources():
    """Return packets of each class: the densest, three of each source, and the longest."""
    near = Addresses()
    packets = []
    for kind in (Kind.READ, Kind.RESPONSE):
        data = bytes(range(PROPERTY)) if kind == Kind.RESPONSE else b""
        pr = Request(kind=kind, dest=0, length=PROPERTY, data=data)
        most = (MTU - 64) // pr.wire_bytes
        packets.append(densest([pr], 1, near))
        for source in range(1, SOURCES + 1):
            packets += [to_bytes([pr], source, near)] * 2
            packets.append(to_bytes([pr] * (source * most // SOURCES), source, near))
        packets.append(to_bytes([pr] * ((LONGEST - 64) // pr.wire_bytes), 1, near))
    return packets


def simulate(tmp_path, test, *args):
    traffic = traffic_files(tmp_path, packets_of_many_sources())
    simulate_incast(MAC, __name__, plusargs=[*traffic, *args], test_filter=test)


@pytest.mark.long
def test_a_hundred_thousand_packets(tmp_path):
    simulate(tmp_path, "nothing_is_lost", fibre(100))


@pytest.mark.parametrize("wrong", short_and_long(["deaf", "far_away"], []))
def test_without_flow_control_packets_are_lost(tmp_path, wrong):
    """It is so with a far end that does not obey, or one too far away for the buffer."""
    metres = 130 if wrong == "far_away" else 100
    simulate(tmp_path, "packets_are_lost", fibre(metres), *(["+deaf"] if wrong == "deaf" else []))


def test_headroom_is_used_and_is_enough(tmp_path):
    simulate(tmp_path, "the_worst_of_a_hundred_metres", fibre(100))


def test_reads_paused_for_ever(tmp_path):
    simulate(tmp_path, "responses_flow", fibre(100))


def test_pauses_that_nobody_takes_back(tmp_path):
    simulate(tmp_path, "pauses_end_by_themselves", fibre(100), "+no_xon")


class Link:
    """Holds both ends, and what is counted between them."""

    def __init__(self, dut):
        self.far, self.dut = dut.far, dut
        self.cores = [dut.classes[k].core for k in CLASSES]
        self.mac = params_in_simulator(MacParams)

    def send(self, far, near):
        """Send this many packets of each class, from either end, in all."""
        for k in CLASSES:
            self.far.limit[k].value = far[k]
            self.cores[k].limit.value = near[k]

    def slow(self, speed, outages):
        """Let cores take a beat in ``speed`` percent of cycles; in 100,000 begin ``outages``."""
        for core in self.cores:
            core.speed.value, core.outages.value = speed, outages

    def counted(self):
        """Return what the MAC's counters have added up to."""
        return {event: int(self.dut.counted[k].value) for k, event in enumerate(self.mac.events)}

    def pauses(self):
        """Return the pauses that were received, of each class."""
        return [int(self.far.pauses[k].value) for k in CLASSES]

    def arrived(self, *, lost=False):
        """Return packets of each class that came here and there, with those that never will."""
        near = [(core.heard, core.gaps) for core in self.cores]
        far = [(self.far.heard[k], self.far.gaps[k]) for k in CLASSES]
        return [
            [int(heard.value) + lost * int(gaps.value) for heard, gaps in end]
            for end in (near, far)
        ]

    def lost(self):
        """Return packets of each class that are missing here, and there."""
        return [
            [int(core.gaps.value) for core in self.cores],
            [int(self.far.gaps[k].value) for k in CLASSES],
        ]

    async def until(self, condition, max_us):
        for _ in range(max_us // 10):
            await Timer(10, "us")
            if condition():
                return
        raise AssertionError(f"not within {max_us} us: {self.arrived()}, {self.counted()}")


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def nothing_is_lost(dut):
    """Both ends pause each other, each class on its own; a far end obeys as late as it may."""
    link = Link(dut)
    link.slow(70, 20)
    link.far.densest.value = 40
    link.far.pause[0].value = link.far.pause[1].value = 1
    link.send(far=(45_000, 45_000), near=(5000, 5000))
    await link.until(lambda: link.arrived() == [[45_000, 45_000], [5000, 5000]], 20_000)
    assert link.lost() == [[0, 0], [0, 0]]
    counted = link.counted()
    assert (counted["dropped"], counted["broken"], counted["foreign"]) == (0, 0, 0)
    assert [counted["pauses_reads"], counted["pauses_responses"]] == link.pauses()
    assert min(link.pauses()) > 10
    assert min(counted["paused_reads"], counted["paused_responses"]) > 10_000


def worst(link):
    """Let both ends send the densest packets only, and the longest after a pause."""
    link.far.densest.value = 100
    link.cores[0].longest.value = 100
    link.slow(100, 30)
    link.send(far=(1 << 30, 0), near=(1 << 30, 0))


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def packets_are_lost(dut):
    link = Link(dut)
    worst(link)
    await Timer(600, "us")
    link.slow(100, 0)
    link.send(far=(0, 0), near=(0, 0))
    await Timer(100, "us")
    link.send(far=(int(link.far.number[0].value) + 1, 0), near=(0, 0))  # tells those before it
    await Timer(10, "us")
    (lost, _), _ = link.lost()
    assert 0 < lost == link.counted()["dropped"]
    assert link.arrived(lost=True)[0][0] == int(link.far.number[0].value)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def the_worst_of_a_hundred_metres(dut):
    link = Link(dut)
    worst(link)
    await Timer(1200, "us")
    assert link.pauses()[0] > 10
    assert (link.lost(), link.counted()["dropped"]) == ([[0, 0], [0, 0]], 0)
    # Some of what it allows for never comes together: a level of a request that must be held.
    most = link.mac.link.beats - 2
    assert most - 80 < int(dut.peak[0].value) <= most


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def responses_flow(dut):
    link = Link(dut)
    link.far.pause[0].value = 2
    await Timer(20, "us")
    link.send(far=(1000, 1000), near=(200, 2000))
    await link.until(lambda: link.arrived() == [[1000, 1000], [0, 2000]], 2000)
    since = link.counted()["paused_reads"]
    await Timer(30, "us")
    counted = link.counted()
    assert counted["paused_reads"] - since > 9000  # every cycle of the MAC's
    assert counted["paused_responses"] == 0
    link.far.pause[0].value = 0
    await link.until(lambda: link.arrived()[1] == [200, 2000], 1000)
    assert link.lost() == [[0, 0], [0, 0]]


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def pauses_end_by_themselves(dut):
    """A MAC that does not tell the end of a pause costs time, and nothing else."""
    link = Link(dut)
    link.slow(60, 20)
    link.send(far=(3000, 3000), near=(1000, 1000))
    await link.until(lambda: link.arrived() == [[3000, 3000], [1000, 1000]], 4000)
    assert link.lost() == [[0, 0], [0, 0]]
    assert min(link.pauses()) > 2
