"""Checks the host software of a SwitchGNN endpoint on a stand-in for a card.

That the hardware takes its jobs is ``test_switchgnn_endpoint_on_rtl.py``.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from gen.software.switchgnn_endpoint import software
from hdl.switchgnn.endpoint.bundles import Cause, State
from hdl.switchgnn.endpoint.memory_layouts import SendRecord, SourceRecord, TurnRecord
from hdl.switchgnn.protocol import Kind, payload_bytes
from sim.harness.payloads import unpack
from sim.host.device import DeviceError
from sim.switchgnn.host.endpoint import JobFailed
from sim.switchgnn.host.turns import Send, Turn
from tests.gen.software.fake_card import FakeCard

OWN, SWITCH = bytes(range(1, 7)), bytes(range(11, 17))
SIZES = {"tiny": {}, "small": {}, "full": {"address_bits": 33}}
TURN = Turn(
    sends=[
        Send(list=5, rows=2, source=7, copy_to=[0, 3]),
        Send(list=9, partial=True),
        Send(list=7, rows=1, source=70000),
    ],
    sums=[9, 2],
    copies={63: 31, 0: 4},
)
OTHER = Turn(sends=[Send(list=0, source=3)], copies={1: 0})
JOB = {"epoch": 9, "port": 2}


def card_of(preset, **changes):
    built = software(find_design("switchgnn-endpoint").params_of(preset, **changes))
    card = FakeCard(built)
    return card, card.attach()


@pytest.fixture
def driven():
    return card_of("tiny")


@pytest.fixture(params=SIZES)
def any_size(request):
    return card_of(request.param, **SIZES[request.param])


class Memory:
    """Reads a card's memory behind a port, at the addresses that the hardware uses."""

    def __init__(self, card, endpoint, port):
        region = endpoint.build.region(port)
        self.card, self.offset = card, region.dma - region.address

    def read(self, at, size):
        return self.card.read_memory(at + self.offset, size)

    def record(self, struct, base, number):
        size = struct.as_shape().size // 8
        return unpack(struct, int.from_bytes(self.read(base + number * size, size), "little"))


def drawn(seed, endpoint, turn):
    """Draw the payloads of a turn, of numbers that fit the narrowest lane."""
    half, lanes = 1 << 15, endpoint.build.fixed["lanes"]
    return np.random.default_rng(seed).integers(-half, half, (len(turn.sends), lanes))


def test_memory_and_registers_are_those_of_the_hardware(any_size, seed):
    card, endpoint = any_size
    turns = [TURN, OTHER, TURN]
    endpoint.load(turns)
    payloads = [drawn(seed + k, endpoint, turn) for k, turn in enumerate(turns)]
    for number, values in enumerate(payloads):
        endpoint.write_payloads(number, values)
    tables, features = (Memory(card, endpoint, name) for name in ("tables", "features"))
    sizes, program = endpoint.build.fixed, endpoint.layout.program
    words = 32 * -(-sizes["aggregators"] // 32)
    for number, turn in enumerate(turns):
        record = tables.record(TurnRecord, program, number)
        assert record["sends"] == len(turn.sends)
        sources = {}
        for seq, (sent, payload) in enumerate(zip(turn.sends, payloads[number], strict=True)):
            result = tables.record(SendRecord, record["list"], seq)
            kind, lane = (Kind.PARTIAL, "<i4") if sent.partial else (Kind.FEATURE, "<i2")
            reported = {"kind": kind, "list": sent.list, "rows": sent.rows, "source": sent.source}
            reported |= {
                "raw": sum(1 << port for port in sent.copy_to),
                "no_flags": 0,
                "nothing": 0,
            }
            assert result == reported | {"place": result["place"]}
            at = record["features"] + result["place"] * payload_bytes(kind, sizes["lanes"])
            octets = payload.astype(lane).tobytes()
            assert features.read(at, len(octets)) == octets
            if not sent.partial and sent.source < sizes["copies"]:
                sources[sent.source] = {"own": 1, "place": result["place"], "port": 0}
        sources |= {s: {"own": 0, "place": 0, "port": port} for s, port in turn.copies.items()}
        for vertex, reported in sources.items():
            assert tables.record(SourceRecord, record["sources"], vertex) == reported | {
                "nothing": 0
            }
        expected = tables.read(record["required"], words // 8 + -(-sizes["copies"] // 32) * 4)
        reported = {*turn.sums, *(words + vertex for vertex in turn.copies)}
        assert int.from_bytes(expected, "little") == sum(1 << bit for bit in reported)
    endpoint.set_addresses(OWN, SWITCH)
    endpoint.set_timers(send=1, fetch=2, gap=3, done=4, memory=5)
    endpoint.start(1, **JOB, ready=2, two=True)
    for name, octets in (("own_address", OWN), ("switch_address", SWITCH)):
        assert card.heard_wide(name).to_bytes(6, "little") == octets
    reported = {"job": 1, "epoch": 9, "worker": 4, "turns": 3, "two_open": 1, "ready_turns": 2}
    reported |= {"send_timeout": 1, "fetch_timeout": 2, "fetch_gap": 3, "done_timeout": 4}
    reported |= {"memory_timeout": 5}
    assert {name: card.heard(name) for name in reported} == reported
    assert card.heard_wide("program") == endpoint.build.region("tables").address
    assert card.log == ["start"]


def test_addresses_are_aligned_and_apart(any_size):
    _, endpoint = any_size
    endpoint.load([TURN, OTHER, TURN])
    lanes, seen = endpoint.build.fixed["lanes"], []
    for placed in endpoint.layout.placed:
        turn = placed.turn
        seen.append((placed.sums, (1 + max(turn.sums, default=-1)) * 4 * lanes))
        seen.append((placed.copies, (1 + max(turn.copies)) * 2 * lanes))
    tables = [(address, len(octets)) for address, octets in endpoint.layout.tables]
    for places in (seen, tables):
        assert not any(address % 512 for address, _ in places)
        ordered = sorted(places)
        ends = [address + size for address, size in ordered]
        assert all(e <= a for e, (a, _) in zip(ends, ordered[1:], strict=False))
    assert len(tables) == 2 * 3 + 1  # a turn that comes twice has its tables once


def test_jobs_behind_others_stay(any_size):
    """Tables and payloads of all jobs stay, their sums lie apart, and each can be started."""
    card, endpoint = any_size
    jobs, layouts = [[TURN, OTHER], [OTHER], [TURN]], []
    for seed, turns in enumerate(jobs):
        layouts.append(endpoint.load(turns, layouts[-1] if layouts else None))
        for number, turn in enumerate(turns):
            endpoint.write_payloads(number, drawn(seed, endpoint, turn))
    tables, features = (Memory(card, endpoint, name) for name in ("tables", "features"))
    for seed, (turns, layout) in enumerate(zip(jobs, layouts, strict=True)):
        for address, octets in layout.tables:
            assert tables.read(address, len(octets)) == octets
        for number, placed in enumerate(layout.placed):
            octets = layout.payloads(number, drawn(seed, endpoint, placed.turn))
            assert features.read(placed.features, len(octets)) == octets
        endpoint.use(layout)
        endpoint.start(1, **JOB)
        assert card.heard_wide("program") == layout.tables[-1][0]
        assert card.heard("turns") == len(turns)
    for before, after in pairwise(layouts):
        assert before.ends["sums"] <= after.placed[0].sums
    card.say(state=State.RUNNING.value)
    with pytest.raises(DeviceError, match="a job runs"):
        endpoint.use(layouts[0])


@pytest.mark.parametrize(("gap", "reads"), [(0, 3), (3, 2), (6, 1)])
def test_rows_that_are_close_are_read_at_once(any_size, gap, reads):
    """What is read is as long as the rows, and what lies between those that are close."""
    card, endpoint = any_size
    endpoint.load([Turn(sums=[12, 3, 2, 8], copies={5: 1})])
    size, seen, read = 4 * endpoint.build.fixed["lanes"], [], card.read_memory
    card.read_memory = lambda at, count: seen.append(count) or read(at, count)
    endpoint.gap = gap * size
    assert [*endpoint.sums(0)] == [2, 3, 8, 12]
    assert len(seen) == reads
    assert sum(seen) == size * {0: 4, 3: 7, 6: 11}[gap]
    assert [*endpoint.copies(0)] == [5]
    assert seen[-1] == size // 2


def test_sums_and_copies_are_read_where_they_are(any_size, seed):
    card, endpoint = any_size
    endpoint.load([OTHER, TURN])
    lanes, rng = endpoint.build.fixed["lanes"], np.random.default_rng(seed)
    offset, placed = Memory(card, endpoint, "sums").offset, endpoint.layout.placed[1]
    for base, items, lane, result in (
        (placed.sums, TURN.sums, "<i4", endpoint.sums),
        (placed.copies, TURN.copies, "<i2", endpoint.copies),
    ):
        size = lanes * np.dtype(lane).itemsize
        rows = {item: rng.integers(-(1 << 15), 1 << 15, lanes).astype(lane) for item in items}
        for item, row in rows.items():
            card.write_memory(offset + base + item * size, row.tobytes())
        assert {k: v.tolist() for k, v in result(1).items()} == {
            k: v.tolist() for k, v in rows.items()
        }


def test_a_job_is_waited_for(driven):
    card, endpoint = driven
    endpoint.load([TURN] * 5)
    card.say(state=State.RUNNING.value, lo=2)
    endpoint.wait(2)
    endpoint.seconds = 0.01
    with pytest.raises(DeviceError, match=r"the job has not ended within 0\.01 s"):
        endpoint.wait(3)
    for call in (lambda: endpoint.load([TURN]), lambda: endpoint.start(1, **JOB)):
        with pytest.raises(DeviceError, match="a job runs"):
            call()
    with pytest.raises(DeviceError, match="the stop has not ended"):
        endpoint.stop()
    card.say(state=State.FINISHED.value, lo=0)
    endpoint.wait()
    endpoint.stop()


def test_failures_are_reported_by_cause(driven):
    card, endpoint = driven
    endpoint.load([TURN])
    card.say(state=State.FAILED.value, cause=Cause.SUMS.value)
    with pytest.raises(
        JobFailed, match="ended as SUMS, memory answered a write of a sum"
    ) as result:
        endpoint.wait()
    assert result.value.cause == "SUMS"
    card.say(state=State.IDLE.value)
    with pytest.raises(JobFailed, match="the job ended as IDLE"):
        endpoint.wait()


def test_broken_buses_are_revived_when_they_owe_nothing(driven):
    card, endpoint = driven
    endpoint.revive()
    assert card.log == ["revive_buses"]
    endpoint.seconds = 0.01
    for name in ("tables", "features", "sums"):
        card.say(**{f"{name}_owes": 1})
        with pytest.raises(DeviceError, match="the wait for memory has not ended"):
            endpoint.revive()
        card.say(**{f"{name}_owes": 0})


def test_counters(driven):
    card, endpoint = driven
    card.say(count=5)
    assert endpoint.counters()["taken_sum"] == 5
    assert endpoint.counters(["turns", "cycles"]) == {"turns": 5, "cycles": 5}
    endpoint.clear_counters()
    assert card.log == ["clear_counters"]


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ([], "a job has at least one turn"),
        ([Turn(sums=[16])], "an aggregator of sums must be from 0 to 15: 16"),
        ([Turn(copies={64: 0})], "a vertex of copies must be from 0 to 63: 64"),
        ([Turn(copies={0: 32})], "a port of an owner must be from 0 to 31: 32"),
        ([Turn(sends=[Send(list=-1)])], "list must be from 0 to 4294967295: -1"),
        ([Turn(sends=[Send(list=0, rows=1 << 16)])], "rows must be from 0 to 65535: 65536"),
        ([Turn(sends=[Send(list=0, copy_to=[32])])], "a port of copy_to must be from 0 to 31: 32"),
        (
            [Turn(sends=[Send(list=0, source=64, copy_to=[1])])],
            "copied vertices must be below 64: 64",
        ),
        ([Turn(sends=[Send(list=0, rows=1, partial=True)])], "a partial sum has neither rows"),
        ([replace(TURN, copies={7: 1})], "vertex 7 is both sent and received"),
        ([OTHER] * (1 << 14), "do not fit the 1048576 bytes of memory for tables"),
        ([replace(TURN, sums=[15])] * 2000, "do not fit the 1048576 bytes of memory for sums"),
    ],
)
def test_turns_that_cannot_be(driven, turns, text):
    card, endpoint = driven
    with pytest.raises(ValueError, match=text):
        endpoint.load(turns)
    assert not card.memory.pages


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda e: e.start(1 << 16, **JOB), "job and epoch must be from 0 to 65535: 65536"),
        (lambda e: e.start(1, epoch=1, port=32), "port must be from 0 to 31: 32"),
        (lambda e: e.start(1, **JOB, ready=2), "ready must be from 0 to 1: 2"),
        (lambda e: e.wait(2), "turns must be from 0 to 1: 2"),
        (lambda e: e.set_addresses(OWN, SWITCH[:5]), "an address must be 6 bytes"),
        (lambda e: e.set_timers(send=-1, fetch=0, gap=0, done=0), "a timer must be from 0"),
        (lambda e: e.set_timers(send=0, fetch=0, gap=1 << 16, done=0), "gap must be from 0"),
        (lambda e: e.write_payloads(1, []), "turn must be from 0 to 0: 1"),
        (lambda e: e.write_payloads(0, np.zeros((3, 1), int)), "has 3 payloads of 2 integers"),
        (lambda e: e.write_payloads(0, np.zeros((3, 2))), "has 3 payloads of 2 integers"),
        (lambda e: e.write_payloads(0, np.full((3, 2), 1 << 15)), "FEATURE has lanes of 16 bits"),
    ],
)
def test_calls_that_cannot_be(driven, call, text):
    card, endpoint = driven
    endpoint.load([TURN])
    with pytest.raises(ValueError, match=text):
        call(endpoint)
    assert not card.log


def test_nothing_is_loaded(driven):
    with pytest.raises(ValueError, match="no turns are loaded"):
        driven[1].start(1, **JOB)
