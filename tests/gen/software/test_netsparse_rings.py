"""Checks a SNIC's host software by rings on a stand-in that reads them as the guide says."""

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from gen.software.netsparse_snic import software
from hdl.common.rings import DESCRIPTOR_BYTES, Fault
from hdl.netsparse.queue.params import ENTRY_BYTES, NO_UNIT
from hdl.netsparse.rig.params import Cause
from sim.host.device import DeviceError
from sim.netsparse.host.snic.request_runner import GatherFailed
from sim.netsparse.host.snic.snic import Table
from tests.gen.guides import snic_from_the_guide as independent
from tests.gen.software.fake_card import FakeCard

PARAMS = find_design("netsparse-snic").params_of("small")
TABLE, IDX_ADDRESS, RINGS = Table(address=0x4000, row_bytes=8), 0x1000, 0x8000
HOW = {"idx_address": IDX_ADDRESS, "watchdog": 77}


class Card(FakeCard):
    """Stands in for a card that ends requests, the newest first, with causes ``ends``, or DONE."""

    def __init__(self):
        super().__init__(software(PARAMS))
        self.ends, self.taken, self.consumer, self.producer = {}, [], 0, 0
        self.doorbells = 0
        self.silent = False

    def hear(self, address, word):
        super().hear(address, word)
        if address == self.module.FIELDS["request_ring"].address:
            self.consumer = self.producer = 0
        if address == self.module.FIELDS["request_producer"].address:
            self.doorbells += 1
            self.carry_out()

    def carry_out(self):
        if self.silent or not self.heard("request_ring"):
            return
        size, base = self.heard("request_ring_size"), self.heard_wide("request_ring_address")
        begun = []
        while self.consumer % (1 << 16) != self.heard("request_producer"):
            at = base + DESCRIPTOR_BYTES * (self.consumer % (1 << size))
            begun.append((self.consumer, self.read_memory(at, DESCRIPTOR_BYTES)))
            self.consumer += 1
        assert len(begun) <= 1 << size
        self.taken += [octets for _, octets in begun]
        for index, octets in reversed(begun):
            tag = int.from_bytes(octets[26:28], "little")
            self.complete(index, tag, self.ends.pop(tag, Cause.DONE), octets[28])

    def complete(self, index, tag, cause, unit):
        size, base = self.heard("completion_ring_size"), self.heard_wide("completion_ring_address")
        turn, place = divmod(self.producer, 1 << size)
        if cause is Cause.DESCRIPTOR:
            tag, unit = index % (1 << 16), NO_UNIT
        entry = tag.to_bytes(2, "little") + bytes([unit, cause.value])
        entry += (self.consumer % (1 << 16)).to_bytes(2, "little") + bytes(9)
        self.write_memory(base + ENTRY_BYTES * place, entry + bytes([(turn + 1) % 2 << 7]))
        self.producer += 1


@pytest.fixture
def card():
    return Card()


@pytest.fixture
def snic(card):
    snic = card.attach()
    snic.set_up(0, [0, 100, 250], servers=[6, 7], served=Table(address=64, row_bytes=8))
    return snic


def test_descriptors_are_those_of_the_guide(card, snic):
    snic.use_rings(RINGS, places=4)
    reported = {"request_ring": 1, "completion_ring": 1}
    reported |= {"request_ring_size": 2, "completion_ring_size": 2}
    assert {name: card.heard(name) for name in reported} == reported
    assert card.heard_wide("request_ring_address") == RINGS
    assert card.heard_wide("completion_ring_address") == RINGS + 4 * DESCRIPTOR_BYTES
    idxs = np.arange(100, 113)
    snic.gather(idxs, TABLE, **HOW)
    assert card.read_memory(IDX_ADDRESS, 52) == independent.idx_array(idxs, 4)
    at = IDX_ADDRESS
    for unit, part in enumerate(np.array_split(idxs, 6)):
        request = independent.Request(unit, unit, at, len(part), 4, TABLE.address, 8, 77)
        assert card.taken[unit] == independent.descriptor(request)
        at += 4 * len(part)
    assert len(card.taken) == 6
    assert not {"submit", "next_completion"} & {*card.log}
    assert card.heard("request_producer") == card.heard("completion_consumer") == 6
    assert card.doorbells <= 6  # to open rings, and for each batch of requests or completions


@pytest.mark.parametrize("places", [1, 2, 8])
def test_rings_go_round_and_round(card, snic, places):
    snic.use_rings(RINGS, places)
    for _ in range(9):
        snic.gather(np.arange(100, 106), TABLE, **HOW)
    assert len(card.taken) == 54


@pytest.mark.parametrize(("places", "doorbells"), [((8, 8), 3), ((4, 4), 5), ((4, 16), 4)])
def test_the_snic_is_informed_of_half_a_ring_or_with_requests(card, snic, places, doorbells):
    """Six requests that end at once: it is told when rings are opened, and at the end, too."""
    snic.use_rings(RINGS, *places)
    snic.gather(np.arange(100, 106), TABLE, **HOW)
    assert card.heard("completion_ring_size") == places[1].bit_length() - 1
    assert card.heard("completion_consumer") == 6
    assert card.doorbells == doorbells


def test_indices_count_modulo_2_to_the_16(card, snic):
    snic.use_rings(RINGS, 8)
    rings = snic._path
    far = (1 << 16) - 16  # a multiple of 2 x 8 places
    rings._written = rings._free = rings._read = rings._reported = card.consumer = card.producer = (
        far
    )
    card.ends = {3: Cause.DESCRIPTOR}
    with pytest.raises(GatherFailed, match="ended as DESCRIPTOR"):
        snic.gather(np.arange(100, 106), TABLE, **HOW)
    for _ in range(3):
        snic.gather(np.arange(100, 106), TABLE, **HOW)
    assert card.heard("request_producer") == far + 24 - (1 << 16)


def test_what_a_lost_packet_stopped_is_tried_again(card, snic):
    snic.use_rings(RINGS)
    card.ends = {1: Cause.WATCHDOG, 4: Cause.WATCHDOG}
    snic.gather(np.arange(100, 106), TABLE, **HOW)
    assert sorted(octets[28] for octets in card.taken[6:]) == [1, 4]
    card.ends = {2: Cause.RANGE}
    with pytest.raises(GatherFailed, match="ended as RANGE, an idx is not below columns"):
        snic.gather(np.arange(100, 106), TABLE, **HOW)


def test_waits_are_bounded_and_faults_are_reported(card, snic):
    snic.use_rings(RINGS)
    card.silent, snic.seconds = True, 0.01
    with pytest.raises(DeviceError, match=r"the gather has not ended within 0\.01 s"):
        snic.gather([100], TABLE, **HOW)
    card.say(completion_ring_fault=Fault.WRITE.value)
    with pytest.raises(DeviceError, match="completion ring has stopped: WRITE, host memory answ"):
        snic.gather([100], TABLE, **HOW)
    card.say(request_ring_busy=1)
    with pytest.raises(DeviceError, match="request_ring_busy has not ended"):
        snic.use_rings(RINGS)
    card.say(request_ring_busy=0)
    card.silent = False
    snic.use_rings(RINGS)
    snic.gather([100], TABLE, **HOW)


def test_an_end_that_nobody_waits_for(card, snic):
    snic.use_rings(RINGS)
    card.complete(0, 9, Cause.DONE, 0)
    with pytest.raises(DeviceError, match="request 9 ended, which is not under way"):
        snic.gather([100], TABLE, **HOW)


def test_registers_again(card, snic):
    snic.use_rings(RINGS)
    snic.use_registers()
    assert (card.heard("request_ring"), card.heard("completion_ring")) == (0, 0)
    card.say(refused=1)
    with pytest.raises(DeviceError, match="unit 0 refused request 0"):
        snic.gather([100], TABLE, **HOW)


@pytest.mark.parametrize(
    ("address", "places", "text"),
    [
        (RINGS, 3, "places must be a power of two up to 32768: 3"),
        (RINGS, 0, "places must be a power of two up to 32768: 0"),
        (RINGS, 1 << 16, "places must be a power of two up to 32768: 65536"),
        (RINGS + 64, 2, "address must be a multiple of 128: 32832"),
        (-128, 2, "address must be a multiple of 128: -128"),
        ((1 << 34) - 128, 2, "host memory has addresses of 34 bits"),
    ],
)
def test_rings_that_cannot_be(card, snic, address, places, text):
    with pytest.raises(ValueError, match=text):
        snic.use_rings(address, places)
    assert not card.heard("request_ring")
