"""Runs a SNIC's host software on a stand-in for a card: what it writes, and what it refuses."""

from collections import Counter

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from gen.guides.netsparse_snic import guide
from gen.software.netsparse_snic import software
from hdl.netsparse.rig.params import Cause
from sim.host.device import DeviceError
from sim.netsparse.host.snic.request import Completion, Request
from sim.netsparse.host.snic.request_runner import GatherFailed
from sim.netsparse.host.snic.snic import Table
from tests.gen.guides import snic_from_the_guide as independent
from tests.gen.software.fake_card import FakeCard
from tests.rejects import rejects

PARAMS = find_design("netsparse-snic").params_of("small")
BOUNDARIES = [0, 100, 100, 250]
TABLE, IDX_ADDRESS = Table(address=0x4000, row_bytes=8), 0x1000
SERVERS = [6, 7]


class Card(FakeCard):
    """A card with a SNIC whose requests end, in their order, as ``ends`` says, then as DONE."""

    def __init__(self):
        super().__init__(
            software(PARAMS),
            submit=self.take,
            next_completion=self.drop,
            write_boundary=self.enter,
        )
        self.ends, self.requests, self.waiting, self.boundaries = [], [], [], {}
        self.most = 0  # requests that a unit has had at a time

    def take(self):
        names = ("request_unit", "request_tag", "idx_wide", "idx_count", "property_bytes")
        request = {name: self.heard(name) for name in (*names, "watchdog")}
        wide = ("idx_address", "property_address")
        self.requests.append(request | {name: self.heard_wide(name) for name in wide})
        self.waiting.append((request, self.ends.pop(0) if self.ends else Cause.DONE))
        self.most = max(
            self.most, *Counter(item["request_unit"] for item, _ in self.waiting).values()
        )
        self.show()

    def drop(self):
        del self.waiting[:1]
        self.show()

    def show(self):
        self.say(completion_valid=int(bool(self.waiting)))
        if self.waiting:
            request, cause = self.waiting[0]
            self.say(completion_unit=request["request_unit"])
            self.say(completion_tag=request["request_tag"], completion_cause=cause.value)

    def enter(self):
        self.boundaries[self.heard("boundary_node")] = self.heard_wide("boundary")


@pytest.fixture
def card():
    return Card()


@pytest.fixture
def snic(card):
    snic = card.attach()
    snic.set_up(0, BOUNDARIES, servers=SERVERS, served=Table(address=64, row_bytes=8))
    return snic


def test_a_node_is_set_up_as_the_guide_says(card, snic):
    registers = independent.Registers(guide(PARAMS))
    reset = dict(registers.words)
    mac, ip = 0x0200_0000_0000, 0x0A00_0000
    independent.partition_writes(registers, 0, BOUNDARIES, PARAMS.rig.nodes, mac, ip)
    registers.write(served_bytes=8)
    registers.halves(server_units=0b1100_0000, served_address=64, filter_address=0)
    written = {at: word for at, word in registers.words.items() if word != reset.get(at, 0)}
    assert len(written) > 8
    assert {address: card.words[address] for address in written} == written
    assert card.boundaries == {0: 0, 1: 100, 2: 100, 3: 250}
    assert card.log[-1] == "clear_filter"


def test_a_gather_is_shared_out(card, snic):
    idxs = np.arange(100, 113)
    snic.gather(idxs, TABLE, idx_address=IDX_ADDRESS, watchdog=77)
    assert card.read_memory(IDX_ADDRESS, 52) == independent.idx_array(idxs, 4)
    units = range(6)  # those that do not serve
    assert [request["request_unit"] for request in card.requests] == list(units)
    ends = [request["idx_address"] + 4 * request["idx_count"] for request in card.requests]
    starts = [request["idx_address"] for request in card.requests]
    assert starts == [IDX_ADDRESS, *ends[:-1]]
    assert ends[-1] == IDX_ADDRESS + 52
    for request in card.requests:
        assert request["property_address"] == TABLE.address
        assert (request["property_bytes"], request["watchdog"], request["idx_wide"]) == (8, 77, 0)
    assert card.log.count("next_completion") == len(units)


@pytest.mark.parametrize("batch", [1, 2, 5, 13, 100])
def test_a_gather_is_shared_out_in_batches(card, snic, batch):
    """Units take turns, and all idxs are asked for once, in order."""
    snic.gather(np.arange(100, 113), TABLE, idx_address=IDX_ADDRESS, batch=batch)
    requests = sorted(card.requests, key=lambda request: request["request_tag"])
    units = [request["request_unit"] for request in requests]
    assert units == [k % 6 for k in range(-(-13 // batch))]
    starts = [IDX_ADDRESS + 4 * first for first in range(0, 13, batch)]
    assert [request["idx_address"] for request in requests] == starts
    counts = [request["idx_count"] for request in requests]
    assert (sum(counts), {*counts[:-1]} <= {batch}) == (13, True)


@pytest.mark.parametrize("batch", [0, -1])
def test_a_batch_of_none_is_refused(card, snic, batch):
    before = list(card.log)
    with pytest.raises(ValueError, match=f"batch must be at least 1, for 65536 requests: {batch}"):
        snic.gather([100], TABLE, idx_address=IDX_ADDRESS, batch=batch)
    with pytest.raises(ValueError, match="batch must be at least 2, for 65536 requests: 1"):
        snic.gather(np.full(65537, 100), TABLE, idx_address=IDX_ADDRESS, batch=1)
    assert card.log == before


def test_what_a_lost_packet_stopped_is_tried_again(card, snic):
    card.ends = [Cause.DONE, Cause.WATCHDOG, Cause.DONE, Cause.WATCHDOG, Cause.DONE]
    before = card.log.count("clear_filter")
    snic.gather(np.arange(100, 103), TABLE, idx_address=IDX_ADDRESS)
    assert [request["request_unit"] for request in card.requests] == [0, 1, 2, 1, 1]
    assert card.log.count("clear_filter") == before + 2


@pytest.mark.parametrize(
    ("ends", "count", "text"),
    [
        ([Cause.WATCHDOG] * 3, 3, "the gather ended as WATCHDOG, nothing moved for watchdog"),
        ([Cause.RANGE], 1, "ended as RANGE, an idx is not below columns"),
    ],
)
def test_what_cannot_succeed_is_reported(card, snic, ends, count, text):
    card.ends = list(ends)
    with pytest.raises(GatherFailed, match=text) as failed:
        snic.gather([100], TABLE, idx_address=IDX_ADDRESS)
    assert failed.value.causes == (ends[0].name,)
    assert len(card.requests) == count


def some_requests(count=10, **changes):
    fields = {"property_address": 0x4000, "property_bytes": 8, "count": 4, "watchdog": 9}
    return [
        Request(**{"unit": k % 2, "tag": 40 + k, "idx_address": 16 * k} | fields | changes)
        for k in range(count)
    ]


def test_units_have_as_many_requests_as_their_queues_hold(card, snic):
    requests = some_requests()
    done = snic.carry_out(requests)
    assert sorted(done) == [Completion(item.unit, item.tag, "DONE") for item in requests[::2]] + [
        Completion(item.unit, item.tag, "DONE") for item in requests[1::2]
    ]
    assert card.most == snic.build.queue == PARAMS.rig.commands
    for unit in range(2):
        taken = [item["request_tag"] for item in card.requests if item["request_unit"] == unit]
        assert taken == [item.tag for item in requests if item.unit == unit]


def test_requests_of_a_program_are_tried_again(card, snic):
    requests, before = some_requests(), card.log.count("clear_filter")
    card.ends = [Cause.DONE, Cause.WATCHDOG]
    done = snic.complete(requests)
    assert sorted(item.tag for item in done) == [item.tag for item in requests]
    assert len(card.requests) == len(requests) + 1
    assert card.log.count("clear_filter") == before + 1
    card.ends = [Cause.WATCHDOG, Cause.RANGE]
    with pytest.raises(GatherFailed, match="RANGE, an idx is not below columns") as failed:
        snic.complete(requests)
    assert len(failed.value.completions) == len(requests)
    assert len(card.requests) == 2 * len(requests) + 1


@pytest.mark.parametrize(
    ("changes", "text"),
    [({"watchdog": 0}, "request 40 has no watchdog"), ({"tag": 1}, "two requests have the same")],
)
def test_requests_that_cannot_be_tried_again(card, snic, changes, text):
    with pytest.raises(ValueError, match=text):
        snic.complete(some_requests(**changes))
    assert not card.requests


def test_a_program_may_sleep(card, snic):
    """It looks before it sleeps, and again when it was woken."""
    take, slept = card.commands.pop("submit"), []

    def sleep():
        slept.append(len(card.requests))
        take()

    snic.idle = sleep
    assert snic.carry_out(some_requests(1)) == [Completion(0, 40, "DONE")]
    assert slept == [0]


def test_all_units_come_to_rest(card, snic):
    snic.seconds = 0.01
    card.say(busy_units=0b1100_0000)
    snic.rest()
    for name in ("busy_units", "concatenating"):
        card.say(busy_units=0, concatenating=0)
        snic.rest(servers=True)
        card.say(**{name: 1})
        with pytest.raises(DeviceError, match="the last request has not ended"):
            snic.rest(servers=True)


def test_waits_are_bounded(card, snic):
    snic.seconds = 0.01
    card.commands.pop("submit")
    with pytest.raises(DeviceError, match=r"the gather has not ended within 0\.01 s"):
        snic.gather([100], TABLE, idx_address=IDX_ADDRESS)
    card.say(filter_busy=1)
    with pytest.raises(DeviceError, match="clearing the filter has not ended"):
        snic.clear_filter()
    card.say(busy_units=1)
    with pytest.raises(DeviceError, match="the last request has not ended"):
        snic.rest()
    card.say(busy_units=0b1100_0000)
    snic.rest()


def test_a_refusal(card, snic):
    card.say(refused=1)
    with pytest.raises(DeviceError, match="unit 0 refused request 0"):
        snic.gather([100], TABLE, idx_address=IDX_ADDRESS)


def test_an_end_that_nobody_waits_for(card, snic):
    card.commands.pop("submit")
    card.say(completion_valid=1, completion_tag=9)
    with pytest.raises(DeviceError, match="request 9 ended, which is not under way"):
        snic.gather([100], TABLE, idx_address=IDX_ADDRESS)


def test_rows_and_counters(card, snic):
    card.write_memory(TABLE.address + 8 * 120, bytes(range(8)))
    assert snic.rows([120, 121], TABLE).tolist() == [list(range(8)), [0] * 8]
    card.say(unit_count=5, snic_count=6)
    assert snic.unit_counters(3)["prs"] == 5
    assert card.heard("counter_unit") == 3
    assert snic.counters()["cycles"] == 6


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"node": 3}, "node must be from 0 to 2: 3"),
        ({"boundaries": [0]}, "there may be 1 to 4 nodes: 0"),
        ({"boundaries": [0, 1, 2, 3, 4, 5]}, "there may be 1 to 4 nodes: 5"),
        ({"boundaries": [1, 2]}, "must begin with 0 and never fall"),
        ({"boundaries": [0, 5, 4]}, "must begin with 0 and never fall"),
        ({"boundaries": [0, (1 << 24) + 1]}, "there may be 16777216 idxs: 16777217"),
        ({"servers": [8]}, r"servers must be units 0 to 7: \[8\]"),
        ({"filter_address": 32}, "filter_address must be a multiple of 64: 32"),
    ],
)
def test_a_node_that_cannot_be(card, how, text):
    before = dict(card.words)
    with pytest.raises(ValueError, match=text):
        card.attach().set_up(**{"node": 0, "boundaries": BOUNDARIES, "servers": [0]} | how)
    assert card.words == before


@pytest.mark.parametrize(
    ("said", "text"),
    [({"served_illegal": 1}, "cannot serve rows"), ({"filter_illegal": 1}, "filter does not fit")],
)
def test_what_only_the_hardware_knows(card, said, text):
    card.say(**said)
    with pytest.raises(ValueError, match=text):
        card.attach().set_up(0, BOUNDARIES, servers=[0], served=TABLE)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"idxs": []}, "idxs must be a list of at least one integer"),
        ({"idxs": [0.5]}, "idxs must be a list of at least one integer"),
        ({"idxs": [250]}, "idxs must be from 0 to 249, not 250 to 250"),
        ({"idxs": [-1]}, "idxs must be from 0 to 249, not -1 to -1"),
        ({"table": Table(address=0, row_bytes=516)}, "rows may have 512 bytes: 516"),
        ({"idx_address": 2}, "idx_address must be a multiple of 4: 2"),
        ({"watchdog": 0}, "request 0 has no watchdog"),
        ({"idx_address": (1 << 34) - 4}, "host memory has addresses of 34 bits"),
    ],
)
def test_a_gather_that_cannot_be(card, snic, how, text):
    with pytest.raises(ValueError, match=text):
        snic.gather(**{"idxs": [1, 2], "table": TABLE, "idx_address": IDX_ADDRESS} | how)
    assert not card.requests
    assert not card.memory.pages


def test_nobody_gathers(card):
    with pytest.raises(ValueError, match="no unit gathers"):
        card.attach().gather([1], TABLE, idx_address=0)


test_a_table_that_cannot_be = rejects(
    Table,
    ({"address": 2, "row_bytes": 8}, "address must be a multiple of 4: 2"),
    ({"address": -4, "row_bytes": 8}, "address must be a multiple of 4: -4"),
    ({"address": 0, "row_bytes": 6}, "row_bytes must be a multiple of 4, at least 4: 6"),
    ({"address": 0, "row_bytes": 0}, "row_bytes must be a multiple of 4, at least 4: 0"),
)


def test_another_design_is_refused(card):
    card.say(units=3)
    with pytest.raises(DeviceError, match="another design: units is 3, not 8"):
        card.attach()
