"""Checks the host software of a ring of work requests on a stand-in for a gather engine's card."""

from dataclasses import replace

import pytest

from hdl.common.rings import Fault
from hdl.pcie.descriptors import Cause
from sim.gather.golden.ring import pack
from sim.gather.host.ring import DESCRIPTOR_BYTES, Ring, RingStopped
from sim.host.device import DeviceError
from tests.gen.software.gather_card import DESIGN, REQUEST, SMALL, TABLE, Card, golden

WITH_RING = DESIGN.params_of("small", descriptors=4, outputs="both", card_idxs=True)
PLACES, ADDRESS = 4, 0x8000


class RingCard(Card):
    """Stands in for a card that reads a ring while ``reads``; ``result`` are its descriptors."""

    def __init__(self):
        super().__init__(WITH_RING)
        self.result, self.reads = [], True

    def hear(self, address, word):
        super().hear(address, word)
        self.step()

    def pause(self):
        self.step()

    def step(self):
        """Read the descriptors that a doorbell has announced; a ring that is opened begins anew."""
        is_open = self.heard("request_ring")
        if is_open and not self.heard("request_ring_busy"):
            self.say(request_consumer=0)
        self.say(request_ring_busy=is_open)
        while self.reads and is_open and self.read_so_far() != self.heard("request_producer"):
            number = self.read_so_far() % (1 << self.heard("request_ring_size"))
            place = self.heard_wide("request_ring_address") + DESCRIPTOR_BYTES * number
            self.result.append(bytes(self.read_memory(place, DESCRIPTOR_BYTES)))
            self.say(request_consumer=(self.read_so_far() + 1) & 0xFFFF)

    def read_so_far(self):
        return self.heard("request_consumer")


@pytest.fixture
def card():
    return RingCard()


@pytest.fixture
def ring(card):
    engine = card.attach()
    engine.seconds = 0.05
    built = Ring(engine, ADDRESS, PLACES)
    built.open()
    return built


def test_requests_are_written(card, ring):
    card.write_memory(0x2000, bytes([0xFF]) * 16)
    requests = [
        REQUEST,
        replace(REQUEST, table=replace(TABLE, stride=0), order="NAIVE", coalesce=True),
        replace(REQUEST, idx_address=8, idx_bytes=8, on_card=True, tag=0xFFFF),
        replace(REQUEST, streamed=True, order="ALIGNED"),
    ]
    ring.submit(*requests)
    assert card.result == [pack(golden(request)) for request in requests]
    assert card.read_memory(0x2000, 16) == bytes(16)
    assert ring.read() == 4


def test_a_ring_without_room_is_waited_for(card, ring):
    card.reads = False
    ring.submit(*[REQUEST] * PLACES)
    with pytest.raises(DeviceError, match=r"for room in the ring has not ended within 0\.05 s"):
        ring.submit(REQUEST)
    assert not card.result


@pytest.mark.parametrize(
    ("says", "text"),
    [
        ({"request_ring_cause": Cause.POISONED.value}, "could not be read, POISONED, the data was"),
        ({"request_ring_fault": Fault.OVERRUN.value}, "index is further from the hardware's"),
        ({"request_ring_busy": 0}, "it was closed"),
    ],
)
def test_a_ring_that_has_stopped(card, ring, says, text):
    ring.submit(*[REQUEST] * 2)
    card.reads = False
    card.step = lambda: None
    ring.submit(REQUEST)
    card.say(**says)
    expected = f"the ring has stopped after 2 requests: .*{text}"
    with pytest.raises(RingStopped, match=expected) as reported:
        ring.submit(REQUEST)
    assert reported.value.read == 2


@pytest.mark.parametrize(
    ("address", "places", "text"),
    [
        (64, 4, "the ring's address must be a multiple of 256: 64"),
        (0, 3, "places must be a power of two: 3"),
        (0, 0, "places must be from 1 to 32768: 0"),
        (0, 1 << 16, "places must be from 1 to 32768: 65536"),
    ],
)
def test_a_ring_that_cannot_be(card, address, places, text):
    with pytest.raises(ValueError, match=text):
        Ring(card.attach(), address, places)


def test_a_build_without_a_ring():
    with pytest.raises(ValueError, match="this build has no ring of work requests"):
        Ring(Card(SMALL).attach(), 0, 4)


def test_nothing_is_written_of_a_request_that_cannot_be(card, ring):
    with pytest.raises(ValueError, match="completion must be a multiple of 16: 8"):
        ring.submit(REQUEST, replace(REQUEST, completion=8))
    assert not card.result
    assert not card.memory.pages
