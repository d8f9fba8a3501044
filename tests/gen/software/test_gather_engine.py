"""Runs a gather engine's host software on a stand-in for a card: what it writes and refuses."""

from dataclasses import replace

import numpy as np
import pytest

from gen.software.gather_engine import software
from hdl.gather.engine_params import Outcome
from hdl.pcie.descriptors import Cause
from sim.gather.host.gather_engine import GatherFailed
from sim.host.device import DeviceError
from tests.gen.software.fake_card import FakeCard
from tests.gen.software.gather_card import DESIGN, REQUEST, SMALL, TABLE, Card


@pytest.fixture
def card():
    return Card()


@pytest.fixture
def engine(card):
    return card.attach()


def test_every_field_of_a_request():
    card = Card(DESIGN.params_of("small", outputs="both", card_idxs=True))
    card.write_memory(0x2000, bytes([0xFF]) * 16)
    engine = card.attach()
    engine.submit(REQUEST)
    wide = {"idx_address": 0x1000, "base": 0x4000, "completion": 0x2000, "destination": 64}
    assert {name: card.heard_wide(name) for name in wide} == wide
    sizes = {"count": 3, "rows": 50, "row_bytes": 8, "stride": 12, "tag": 9}
    assert {name: card.heard(name) for name in sizes} == sizes
    names = ("wide", "order", "coalesce", "on_card", "streamed", "posted")
    assert [card.heard(name) for name in names] == [0] * 6
    assert card.log == ["submit"]
    assert engine.wait(REQUEST).outcome == "DONE"
    some = {"idx_bytes": 8, "order": "NAIVE", "coalesce": True, "on_card": True, "streamed": True}
    engine.submit(replace(REQUEST, **some, idx_address=8, destination=2))
    assert [card.heard(name) for name in names] == [1, 2, 1, 1, 1, 0]
    assert card.heard_wide("destination") == 0


def test_idxs_are_packed(card, engine):
    assert engine.put_idxs([1, 2**32 - 1], 0x1000) == 2
    assert card.read_memory(0x1000, 8).hex() == "01000000ffffffff"
    assert engine.put_idxs(np.array([2**64 - 1], np.uint64), 0x1000, 8) == 1
    assert card.read_memory(0x1000, 8).hex() == "ff" * 8
    assert engine.put_idxs([], 0x1000) == 0


@pytest.mark.parametrize(
    ("idxs", "size", "text"),
    [
        ([0.5], 4, "idxs must be a list of integers"),
        ([[1]], 4, "idxs must be a list of integers"),
        ([-1], 4, "idxs must be from 0 to 4294967295"),
        ([1 << 32], 4, "idxs must be from 0 to 4294967295"),
        ([1], 2, "idx_bytes must be 4 or 8: 2"),
    ],
)
def test_idxs_that_cannot_be(card, engine, idxs, size, text):
    with pytest.raises(ValueError, match=text):
        engine.put_idxs(idxs, 0, size)
    assert not card.memory.pages


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"idx_address": 2}, "idx_address must be a multiple of 4: 2"),
        ({"idx_address": 4, "idx_bytes": 8}, "idx_address must be a multiple of 8: 4"),
        ({"idx_bytes": 2}, "idx_bytes must be 4 or 8: 2"),
        ({"order": "SORTED"}, "order must be one of MERGED, ALIGNED, NAIVE: SORTED"),
        ({"completion": 8}, "completion must be a multiple of 16: 8"),
        ({"count": 1 << 32}, "count must be from 0 to 4294967295"),
        ({"tag": 1 << 16}, "tag must be from 0 to 65535"),
        ({"destination": -1}, "destination must be from 0 to"),
        ({"destination": (1 << 28) - 20}, "the end of the rows must be from 0 to 268435456"),
        ({"on_card": True}, "takes no idxs from device memory"),
        ({"streamed": True}, "rows of this build cannot go to the stream"),
        ({"posted": True}, "rows of this build cannot go to the bus"),
        ({"posted": True, "streamed": True}, "to the stream or to a bus address, not to both"),
        ({"idx_address": (1 << 64) - 8}, "the end of the idxs must be"),
        ({"table": replace(TABLE, address=-1)}, "the table's address must be from 0 to"),
        ({"table": replace(TABLE, row_bytes=65537)}, "row_bytes must be from 1 to 65536: 65537"),
        ({"table": replace(TABLE, rows=0)}, "rows must be from 1 to 4294967295: 0"),
        ({"table": replace(TABLE, stride=1 << 17)}, "stride must be from 0 to 131071: 131072"),
    ],
)
def test_a_request_that_cannot_be(card, engine, how, text):
    with pytest.raises(ValueError, match=text):
        engine.submit(replace(REQUEST, **how))
    assert not card.taken
    assert not card.memory.pages


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (
            (Outcome.ROWS.value, Cause.TIMEOUT.value, 0, 2),
            "as ROWS, some rows could not be read; .*; TIMEOUT, not everything came in time",
        ),
        ((Outcome.STOPPED.value, 0, 0, 0), "as STOPPED, the host has stopped it"),
    ],
)
def test_what_failed_is_reported(card, engine, end, text):
    card.ends = [end]
    engine.submit(REQUEST)
    with pytest.raises(GatherFailed, match=text) as failed:
        engine.wait(REQUEST)
    assert failed.value.completion == engine.completion(REQUEST)
    assert failed.value.completion.failed == end[3]


def test_an_interrupt_may_be_of_another_request(card, engine):
    card.ends = [None]
    engine.submit(REQUEST)
    assert engine.completion(REQUEST) is None
    assert engine.wait(REQUEST, interrupt=True).outcome == "DONE"
    assert card.waits == 2


def test_waits_are_bounded(card, engine):
    engine.seconds, card.ends = 0.01, [None]
    engine.submit(REQUEST)
    with pytest.raises(DeviceError, match=r"the gather has not ended within 0\.01 s"):
        engine.wait(REQUEST)
    card.waits = 2
    with pytest.raises(DeviceError, match=r"the gather has not ended within 0\.01 s"):
        engine.wait(REQUEST, interrupt=True)
    card.say(queue_full=1, stopping=1, busy=1, device_owes=1)
    for action, what in (
        (lambda: engine.submit(REQUEST), "the queue"),
        (engine.stop, "the stop"),
        (lambda: engine.limit_reads(1), "the last request"),
        (engine.revive, "what device memory owes"),
    ):
        with pytest.raises(DeviceError, match=f"{what} has not ended"):
            action()


def test_a_refusal_and_the_end_of_another_request(card, engine):
    engine.submit(REQUEST)
    with pytest.raises(DeviceError, match="request 9 ended, and 8 was waited for"):
        engine.wait(replace(REQUEST, tag=8))
    card.say(refused=1)
    with pytest.raises(DeviceError, match="refused a request, as its queue was full"):
        engine.submit(REQUEST)


def test_rows_commands_and_counters(card, engine):
    assert engine.rows(REQUEST).tolist() == [[*range(at, at + 8)] for at in (64, 72, 80)]
    engine.stop()
    engine.revive()
    engine.clear_counters()
    assert card.log == ["stop", "revive_buses", "clear_counters"]
    engine.limit_reads(5)
    assert card.heard("most_reads") == 5
    card.say(engine_count=1 << 40)
    assert engine.counters()["reads"] == 1 << 40


def test_rows_for_host_memory():
    card = Card(DESIGN.params_of("small", outputs="host"))
    engine = card.attach()
    card.write_memory(0x6001, bytes(range(24)))  # as the engine would
    rows = engine.gather(REQUEST, to=0x6001)
    assert (card.heard("posted"), card.heard_wide("destination")) == (1, 0x6001)
    assert rows.tolist() == [[*range(at, at + 8)] for at in (0, 8, 16)]
    with pytest.raises(ValueError, match="rows of this build cannot go to device memory"):
        engine.submit(REQUEST)
    with pytest.raises(ValueError, match="the end of the rows must be from 0 to"):
        engine.gather(REQUEST, to=(1 << 64) - 23)
    card.ends = [(Outcome.ROWS.value, Cause.TIMEOUT.value, 0, 2)]
    with pytest.raises(GatherFailed, match="as ROWS"):
        engine.gather(REQUEST, to=0x6000)


def test_a_card_that_shows_no_memory_and_gives_no_interrupts():
    card = FakeCard(software(SMALL))
    engine = card.attach()
    with pytest.raises(DeviceError, match="does not see this card's memory"):
        engine.rows(REQUEST)
    with pytest.raises(DeviceError, match="gives no interrupts"):
        engine.wait(REQUEST, interrupt=True)


def test_another_design_is_refused(card):
    card.say(idx_bits=7)
    with pytest.raises(DeviceError, match="another design: idx_bits is 7, not 32"):
        card.attach()


def test_only_a_package_whose_rows_go_to_the_host_has_a_loader():
    files = software(DESIGN.params_of("tiny", outputs="host")).package_files()
    torch = [path for path, text in files.items() if "import torch" in text]
    assert torch == ["gather_engine_host/torch_loader.py"]
    assert "import UnifiedTable\n" in files["gather_engine_host/__init__.py"]
    assert not any("unified" in path for path in software(SMALL).package_files())
