"""Checks the host software of a ring of work requests on a stand-in for a gather engine's card."""

from dataclasses import replace

import pytest

from gen.guides.gather_engine import guide
from gen.software.emitted.device import DeviceError
from gen.software.emitted.gather.ring import DESCRIPTOR_BYTES, Ring, RingStopped
from hdl.common.rings import Fault
from hdl.pcie.descriptors import Cause
from tests.gen.guides import gather_engine_from_the_guide as independent
from tests.gen.guides.snic_from_the_guide import Registers
from tests.gen.software.test_gather_engine import DESIGN, REQUEST, SMALL, TABLE, Card

WITH_RING = DESIGN.params_of("small", descriptors=4, outputs="both", card_idxs=True)
PLACES, ADDRESS = 4, 0x8000


class RingCard(Card):
    """Stands in for a card that reads a ring while ``reads``; ``found`` are its descriptors."""

    def __init__(self):
        super().__init__(WITH_RING)
        self.found, self.reads = [], True

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
            self.found.append(bytes(self.read_memory(place, DESCRIPTOR_BYTES)))
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
    made = Ring(engine, ADDRESS, PLACES)
    made.open()
    return made


def told(request):
    """Return a request with its fields named as the guide names them."""
    return independent.Request(
        idx_address=request.idx_address,
        count=request.count,
        base=request.table.address,
        rows=request.table.rows,
        row_bytes=request.table.row_bytes,
        stride=request.table.step,
        completion=request.completion,
        destination=request.destination,
        tag=request.tag,
        wide=int(request.idx_bytes == 8),
        on_card=int(request.on_card),
        streamed=int(request.streamed),
        order=("MERGED", "ALIGNED", "NAIVE").index(request.order),
        coalesce=int(request.coalesce),
    )


def test_a_ring_is_opened_as_the_guide_says(card, ring):
    registers = Registers(guide(WITH_RING))
    written = dict(independent.ring_writes(registers, ADDRESS, PLACES))
    assert {at: card.words.get(at, 0) for at in written} == written


def test_requests_are_written_as_the_guide_says(card, ring):
    card.write_memory(0x2000, bytes([0xFF]) * 16)
    requests = [
        REQUEST,
        replace(REQUEST, table=replace(TABLE, stride=0), order="NAIVE", coalesce=True),
        replace(REQUEST, idx_address=8, idx_bytes=8, on_card=True, tag=0xFFFF),
        replace(REQUEST, streamed=True, order="ALIGNED"),
    ]
    ring.submit(*requests)
    wanted = [told(request) for request in requests]
    wanted[3] = replace(wanted[3], destination=0)
    assert card.found == [independent.descriptor(request) for request in wanted]
    assert card.read_memory(0x2000, 16) == bytes(16)
    assert ring.read() == 4


def test_more_requests_than_places(card, ring):
    requests = [replace(REQUEST, tag=tag) for tag in range(11)]
    ring.submit(*requests)
    ring.submit(*requests)
    octets = [independent.descriptor(told(request)) for request in requests]
    assert card.found == octets * 2
    ring.open()
    assert ring.read() == 0
    ring.submit(REQUEST)
    assert card.found[22:] == [independent.descriptor(told(REQUEST))]


def test_a_ring_without_room_is_waited_for(card, ring):
    card.reads = False
    ring.submit(*[REQUEST] * PLACES)
    with pytest.raises(DeviceError, match=r"for room in the ring has not ended within 0\.05 s"):
        ring.submit(REQUEST)
    assert not card.found


@pytest.mark.parametrize(
    ("says", "text"),
    [
        ({"request_ring_cause": Cause.POISONED.value}, "could not be read, POISONED, the data was"),
        ({"request_ring_fault": Fault.OVERRUN.value}, "request_producer was more than the ring's"),
        ({"request_ring_busy": 0}, "it was closed"),
    ],
)
def test_a_ring_that_has_stopped(card, ring, says, text):
    ring.submit(*[REQUEST] * 2)
    card.reads = False
    card.step = lambda: None
    ring.submit(REQUEST)
    card.say(**says)
    wanted = f"the ring has stopped after 2 requests: .*{text}"
    with pytest.raises(RingStopped, match=wanted) as told:
        ring.submit(REQUEST)
    assert told.value.read == 2


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
    assert not card.found
    assert not card.memory.pages
