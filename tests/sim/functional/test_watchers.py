from types import SimpleNamespace

import pytest
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, Signature

from sim.functional.groups import groups
from sim.functional.ports import watched
from sim.functional.watchers import Bursts, PlainWatcher, StreamWatcher
from tests.sim.functional.bench import Dut, hits


def play(dut, watcher, valids, readies):
    for valid, ready in zip(valids, readies, strict=True):
        dut.i_valid.value, dut.i_ready.value = int(valid), int(ready)
        watcher.look()


def test_how_beats_wait_and_pause():
    (port,) = watched(Signature({"i": In(stream.Signature(4))}))
    dut = Dut(i_valid=0, i_ready=0, i_payload=15)
    watcher = StreamWatcher(dut, "tests.waits", port)
    play(dut, watcher, "00001", "00001")
    assert hits("tests.waits i") == {"waits 0", "highest bit", "all ones"}
    play(dut, watcher, "1", "1")
    assert "pauses 0" in hits("tests.waits i")
    dut.i_payload.value = 0
    play(dut, watcher, "0111", "1001")
    result = {"waits 0", "waits 1..3", "pauses 0", "pauses 1..3", "ready before valid"}
    assert hits("tests.waits i") == result | {"highest bit", "all ones", "zero"}
    play(dut, watcher, "1", "1")
    counts = groups["tests.waits i"]
    assert (counts["waits 0"], counts["pauses 0"], counts["ready before valid"]) == (3, 2, 1)
    play(dut, watcher, "0" * 4 + "1" * 5, "0" * 8 + "1")
    assert hits("tests.waits i") >= {"waits 4+", "pauses 4+"}
    assert counts["waits 1..3"] == 1


def test_what_never_waits_has_no_such_bins():
    (port,) = watched(Signature({"i": In(stream.Signature(1, always_ready=True))}))
    dut = Dut(i_valid=0, i_payload=1)
    StreamWatcher(dut, "tests.ready", port)
    pauses = [f"pauses {length}" for length in ("0", "1..3", "4+")]
    assert list(groups["tests.ready i"]) == [*pauses, "zero", "not zero"]


def test_a_port_counts_once_for_each_value_that_it_shows():
    valid, result = watched(Signature({"valid": Out(1), "error": Out(1)}))
    dut = Dut(valid=0, error=1)
    watcher = PlainWatcher(dut, "tests.plain", result)
    assert PlainWatcher(dut, "tests.plain", valid).watches
    watcher.look()
    assert not hits("tests.plain error")
    dut.valid.value = 1
    for _ in range(3):
        watcher.look()
    assert groups["tests.plain error"] == {"not zero": 1}


@pytest.mark.parametrize(
    ("address", "length", "hit"),
    [
        (0x0F40, 0, {"one beat"}),
        (0x0F80, 1, {"several beats", "ends at 4 KiB"}),
        (0x0FC0, 0, {"one beat", "ends at 4 KiB"}),
        (0x0FC4, 0, {"one beat", "ends at 4 KiB"}),  # the beat that holds it
        (0x1000, 62, {"several beats"}),
    ],
)
def test_bursts_of_64_bytes_a_beat(address, length, hit):
    ports = (SimpleNamespace(value=value) for value in (address, length, 6))
    assert Bursts(*ports).hit() == hit
