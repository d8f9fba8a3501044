"""Runs a card with a switch for every system between two stations that share its classes."""

import sys
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp

import cocotb
import numpy as np
from cocotb.triggers import Timer

from gen.base.registers.python_driver import python_driver
from gen.base.settings import make_params
from gen.board.boards import BOARDS
from gen.software.network_switch import software
from hdl.common.packets import PRIORITY_COUNT
from hdl.network_switch.switch import NetworkSwitch
from hdl.u280.flow_control import QUANTUM_BITS, REACTION_QUANTA
from sim.golden.reduction.wide_worker import WideWorker
from sim.harness.host_device import HostDevice
from sim.harness.threads import bridge
from sim.netsparse.card_traffic import DENSEST_BYTES, write_files
from sim.network_switch.card import CardNetworkSwitch
from sim.network_switch.systems import WIDE_GROUP
from sim.p4sgd.host.job import SWITCH as ADDRESS
from sim.surroundings.card.cards import CardsParams, simulate_cards
from sim.surroundings.card.host import switch_on
from sim.surroundings.card.incast import fibre

BOARD = BOARDS["u280"].designs["network-switch"]
FEW = dict.fromkeys(("has_p4sgd", "has_switchgnn", "has_netsparse"), False)
SWITCH = make_params(BOARD.design.params_class, BOARD.settings_of("tiny"), FEW)
CARDS = CardsParams(cards=(("network_switch", SWITCH),), stations=((0, 0), (0, 1)))
CLASSES = range(2)
DSCP = 8  #: of class 1; class 0 has all others
PACKETS = 2000
READY_US = 35  #: until the memories of forwarding have room, and pause nobody
JOB, EPOCH, SLOTS = 0, 1, 4
#: numbers that the hosts add up; what a station takes for a count of PRs is 0
VECTORS = [np.array([*range(k + 2, k + 9), 0, *range(100, 132)], np.int32) for k in CLASSES]
#: latest beginning of a packet after a pause, by the standard
REACTION_PS = REACTION_QUANTA * QUANTUM_BITS * 10


def frame(class_, size):
    """Return a packet of a class; its byte 51 tells the station which."""
    head = bytes.fromhex("020000007701") + bytes.fromhex("020000007700")
    head += b"\x08\x00\x45" + bytes((DSCP * class_ << 2,))
    return (head + bytes(51 - len(head)) + bytes((class_ + 1,)) + bytes(size))[:size]


def workers():
    each = [
        WideWorker(port=k, address=ADDRESS, group=WIDE_GROUP, job=JOB, epoch=EPOCH, slots=SLOTS)
        for k in CLASSES
    ]
    for worker, vector in zip(each, VECTORS, strict=True):
        worker.begin(vector)
    return each


def simulated(folder, packets, test):
    traffic = write_files(folder, [(f"{class_} 0 18", octets) for class_, octets in packets])
    more = ["+class_0=0", "+class_1=1", f"+slack_ps={REACTION_PS}", fibre(20)]
    blocks = [NetworkSwitch(SWITCH)]
    simulate_cards(CARDS, blocks, __name__, plusargs=[*traffic, *more], test_filter=test)


def test_classes(tmp_path):
    longest = SWITCH.forwarding.max_bytes
    sizes = [DENSEST_BYTES, 60, 64, 128, 700, 1000, longest]
    packets = [(class_, frame(class_, size)) for class_ in CLASSES for size in sizes]
    simulated(tmp_path, packets, "a_class|lossless|a_card")


def test_all_reduce(tmp_path):
    simulated(tmp_path, [*enumerate(next(w.due(0)) for w in workers())], "sums")


@cache
def host():
    """Write the host packages of the switch, and import that which has the others."""
    folder, package = mkdtemp(), software(SWITCH)
    driver = {f"{package.map.name}_driver.py": python_driver(package.map)}
    for name, text in (package.package_files() | driver).items():
        path = Path(folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    sys.path.insert(0, folder)
    return import_module(package.package)


class Bench:
    """Has the card, both stations, and the emitted packages as the host's programs."""

    def __init__(self, dut):
        self.card = CardNetworkSwitch(dut.card_0, SWITCH)
        self.stations = [getattr(dut, f"far_0_{cage}") for cage in CLASSES]

    async def begin(self, dut):
        await switch_on(dut, self.card)
        assert await self.card.board.read("links") == 0b11
        self.device = HostDevice(self.card.axil)
        self.switch = await bridge(lambda: host().attach(self.device))()
        await Timer(READY_US, "us")
        return self

    async def do(self, function):
        """Return what a function of the switch's program returns."""
        return await bridge(partial(function, self.switch))()

    def send(self, *counts):
        """Let both stations send so many more packets of each class."""
        for station in self.stations:
            for k, count in enumerate(counts):
                station.limit[k].value = int(station.limit[k].value) + count

    def count(self, name):
        """Return a number of both stations, by class."""
        return [[int(getattr(s, name)[k].value) for k in CLASSES] for s in self.stations]

    async def until(self, condition, max_us=400):
        for _ in range(max_us):
            await Timer(1, "us")
            if condition():
                return
        raise AssertionError(f"sent {self.count('number')}, heard {self.count('heard')}")

    async def all_arrive(self):
        """Wait until each station has all packets of the other: none is lost, in any class."""

        def arrived():
            sent, heard = self.count("limit"), self.count("heard")
            return self.count("number") == sent and heard == [sent[1], sent[0]]

        await self.until(arrived)
        assert self.count("gaps") == [[0, 0], [0, 0]]
        assert await self.lost() == {0}

    async def lost(self):
        return {
            await self.card.board.read(f"{n}_{k}") for n in ("dropped", "broken") for k in (0, 1)
        }

    async def carry_on(self, *lossless):
        """Let packets of all classes through: each floods to the other port."""

        def set_up(switch):
            forwarding = switch.part("forwarding")
            forwarding.set_learning(False)
            forwarding.set_flooding(0xFFFF, 0xFFF)
            forwarding.set_code(DSCP, 1)
            forwarding.set_lossless(lossless)

        await self.do(set_up)


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_class_that_is_paused_waits_and_the_other_goes_on(dut):
    """The card obeys in time, pauses the senders of that class alone, and loses nothing."""
    bench = await Bench(dut).begin(dut)
    await bench.carry_on(0, 1)
    first, second = bench.stations
    second.pause[1].value = 2
    await Timer(8, "us")
    bench.send(PACKETS, PACKETS)
    await bench.until(lambda: bench.count("heard")[1][0] == PACKETS)
    assert int(second.heard[1].value) < PACKETS
    assert [int(first.pauses[k].value) > 0 for k in CLASSES] == [False, True]
    assert int(first.number[1].value) < PACKETS
    second.pause[1].value = 0
    await bench.all_arrive()
    counted = [await bench.card.board.read(f"pauses_priority_{k}_0") for k in range(PRIORITY_COUNT)]
    assert counted[:2] == [0, int(first.pauses[1].value)]
    assert not any(counted[2:])
    paused = [await bench.card.board.read(f"paused_priority_{k}_1") for k in range(PRIORITY_COUNT)]
    assert paused[1] > 1000
    assert not any(paused[:1] + paused[2:])


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def lossless_classes_lose_nothing(dut):
    """The densest packets come faster than the core takes them; then stations pause the card."""
    bench = await Bench(dut).begin(dut)
    await bench.carry_on(0, 1)
    for station in bench.stations:
        station.densest.value = 100
    bench.send(PACKETS, PACKETS)
    await bench.all_arrive()
    name = f"pauses_priority_{PRIORITY_COUNT - 1}_0"
    assert await bench.card.board.read(name)  # by the MAC's own buffer, which pauses all
    before = bench.count("pauses")
    for station in bench.stations:
        station.densest.value = 50
        station.pause[0].value = station.pause[1].value = 1
    bench.send(PACKETS, PACKETS)
    await bench.all_arrive()
    for then, now in zip(before, bench.count("pauses"), strict=True):
        assert all(more > count for more, count in zip(now, then, strict=True))


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def a_card_tests_itself(dut):
    bench = await Bench(dut).begin(dut)
    program = import_module("network_switch_host.network_program")
    assert await bench.do(lambda switch: program.test(switch, "pcs")) == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def sums_leave_by_both_cages(dut):
    bench = await Bench(dut).begin(dut)

    def set_up(switch):
        switch.set_addresses(ADDRESS, WIDE_GROUP)
        place = {"ports": [*CLASSES], "epoch": EPOCH, "base": 0, "slots": SLOTS}
        switch.part("allreduce").start_job(JOB, **place)

    await bench.do(set_up)
    for k, station in enumerate(bench.stations):
        station.numbered.value = 0
        station.limit[k].value = 1
    await bench.until(lambda: [sum(heard) for heard in bench.count("heard")] == [1, 1])
    for station, worker in zip(bench.stations, workers(), strict=True):
        [*worker.due(0)]
        size = len(next(workers()[0].due(0)))
        worker.take(bytes(int(station.got[k].value) for k in range(size)))
        assert np.array_equal(worker.result, sum(VECTORS))
