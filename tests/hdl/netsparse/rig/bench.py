"""Has what the tests of a RIG unit's parts share."""

import random
from collections import Counter
from dataclasses import replace

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.idx_filter.params import answer_layout, request_layout
from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import READ_BEAT, RigParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Sink, cycle, never

TINY = RigParams(
    nodes=3,
    idx_bits=12,
    address_bits=32,
    most_property_bytes=192,
    pending_entries=4,
    lsq_entries=8,
    lsq_reserved=2,
    idx_buffer_bytes=512,
    property_buffer_bytes=512,
    transmit_prs=2,
    commands=2,
)
THREE_UNITS = SnicParams(
    units=3,
    rig=replace(TINY, idx_bits=20),
    filter_banks=1,
    filter_unit_bytes=64,
    filter_cache_bytes=256,
    filter_ways=2,
)


def dense_beats(block: bytes) -> list[int]:
    """Return the bytes of a property or an array in beats, with garbage after the end."""
    block += random.randbytes(-len(block) % BEAT_BYTES)
    return [
        int.from_bytes(block[at : at + BEAT_BYTES], "little")
        for at in range(0, len(block), BEAT_BYTES)
    ]


async def answer_reads(dut, requests, memory, fails=lambda address: False, stall=lambda: False):
    """Answer the beats' port as a host reader does: dense beats, in order, whenever it likes.

    What comes of a read that fails is all zeros or all ones, as a bus without a device gives.
    """
    edge = RisingEdge(dut.clk)
    dut.beat_valid.value = 0
    done = 0
    while True:
        while done == len(requests.beats):
            await edge
        request = requests.beats[done]
        done += 1
        address = request["address"]
        beats = dense_beats(memory[address : address + request["bytes"]])
        failed = fails(address)
        if failed:
            beats = [random.choice((0, (1 << 8 * BEAT_BYTES) - 1))] * len(beats)
        for k, beat in enumerate(beats):
            while stall():
                await edge
            last = k + 1 == len(beats)
            fields = {"last": last, "failed": last and failed, "data": beat}
            dut.beat.value = pack(READ_BEAT, fields)
            dut.beat_valid.value = 1
            await edge
            dut.beat_valid.value = 0


class AnswerSink(Sink):
    """A sink of responses that knows that the data of an error mean nothing."""

    def __init__(self, dut, name, **options):
        super().__init__(dut, name, **options)
        self.ignore("data", when="error")


class FilterModel:
    """Models the idx filter: it takes a request per cycle, each with its ``latency(is_set)``.

    A bit rises, or is looked up, at any time between request and answer, so a lookup sees all
    sets that were answered before it was taken, and others perhaps. Answers overtake each other.
    ``fails(request)`` says which are answered with an error; these do nothing.
    """

    def __init__(self, dut, params, latency=lambda is_set: 4, fails=lambda request: False):
        self.dut, self.latency, self.fails = dut, latency, fails
        self.request = request_layout(params.idx_bits, params.lsq_entries)
        self.answer = answer_layout(params.lsq_entries)
        self.bits: set[int] = set()
        self.lookups = self.sets = 0
        self.under_way = []
        self.stall = never
        self.on_set = lambda idx: None
        dut.filter_answers_valid.value = 0
        dut.filter_requests_ready.value = 1
        cocotb.start_soon(self.run())

    async def run(self):
        dut, edge, ready = self.dut, RisingEdge(self.dut.clk), True
        while True:
            await edge
            now = cycle()
            if ready and dut.filter_requests_valid.value:
                self.take(unpack(self.request, int(dut.filter_requests_payload.value)), now)
            ready = not self.stall()
            dut.filter_requests_ready.value = ready
            self.act(now)
            due = [one for one in self.under_way if one["answered"] <= now]
            if due:
                one = random.choice(due)
                self.under_way.remove(one)
                dut.filter_answers_payload.value = pack(
                    self.answer, {name: one[name] for name in ("slot", "bit", "failed")}
                )
            dut.filter_answers_valid.value = bool(due)

    def take(self, request, now):
        answered = now + self.latency(request["set"])
        failed = self.fails(request)
        acts = random.randint(now, answered)
        self.under_way.append(request | {"answered": answered, "acts": acts, "failed": failed})
        if request["set"]:
            self.on_set(request["idx"])
        self.sets += request["set"]
        self.lookups += not request["set"]

    def act(self, now):
        for one in self.under_way:
            if one["acts"] > now or "bit" in one:
                continue
            one["bit"] = one["idx"] in self.bits if not one["failed"] else random.getrandbits(1)
            if one["set"] and not one["failed"]:
                self.bits.add(one["idx"])


class Totals(Counter):
    """Sums up events since it was made."""

    def __init__(self, dut, layout, name="events"):
        super().__init__()
        self.watch = cocotb.start_soon(self.add(dut, getattr(dut, name), layout))

    async def add(self, dut, port, layout):
        edge = RisingEdge(dut.clk)
        while True:
            await edge
            if bits := int(port.value):
                self.update({k: n for k, n in unpack(layout, bits).items() if n})


#: what becomes of an idx, as events are called
OUTCOMES = ("coalesced", "filtered", "local", "rejected", "prs")


def conserved(totals):
    """Whether every idx was counted as just one thing."""
    return totals["consumed"] == sum(totals[name] for name in OUTCOMES)
