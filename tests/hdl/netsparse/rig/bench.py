"""Has what the tests of a RIG unit's parts share."""

import random
from dataclasses import replace

import cocotb
from cocotb.triggers import ClockCycles

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.idx_filter.params import answer_layout
from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import READ_BEAT, RigParams
from sim.harness.axi_streams import AxiSource
from sim.harness.payloads import pack
from sim.harness.pulses import Pulses
from sim.harness.streams import Sink, Source, cycle, never

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


class Reader(Pulses):
    """Answers requests as a host reader does: dense beats, in order, whenever it likes.

    What comes of a read that fails is all zeros or all ones, as a bus without a device gives.
    """

    def __init__(self, dut, memory, fails=lambda address: False, *, stall=never):
        super().__init__(dut, "beat_valid", "beat", stall=stall)
        self.memory, self.fails = memory, fails

    def answer(self, request):
        address = request["address"]
        beats = dense_beats(self.memory[address : address + request["bytes"]])
        failed = self.fails(address)
        if failed:
            beats = [random.choice((0, (1 << 8 * BEAT_BYTES) - 1))] * len(beats)
        for k, beat in enumerate(beats):
            last = k + 1 == len(beats)
            fields = {"last": last, "failed": last and failed, "data": beat}
            self.append({"beat": pack(READ_BEAT, fields)})


class TaggedSource(AxiSource):
    """Drives a stream with the port ``tag`` beside it, which means something with a beat alone."""

    _signals, _payload = Source._signals, Source._payload

    def __init__(self, dut, name, tag_of, *, stall=never):
        self.tag_of = tag_of
        super().__init__(dut, name, stall=stall, beside=["tag"])

    def extend(self, beats):
        super().extend([{"payload": beat, "tag": self.tag_of(beat)} for beat in beats])


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

    def __init__(
        self, dut, params, latency=lambda is_set: 4, fails=lambda request: False, stall=never
    ):
        self.dut, self.latency, self.fails = dut, latency, fails
        self.layout = answer_layout(params.lsq_entries)
        self.bits: set[int] = set()
        self.lookups = self.sets = 0
        self.under_way = []
        self.on_set = lambda idx: None
        self.requests = Sink(dut, "filter_requests", stall=stall, callback=self.take)
        self.answers = Pulses(dut, "filter_answers_valid", "filter_answers_payload")

    def take(self, request):
        latency = self.latency(request["set"])
        acts = random.randint(cycle(), cycle() + latency)
        item = request | {"acts": acts, "failed": self.fails(request)}
        self.under_way.append(item)
        if request["set"]:
            self.on_set(request["idx"])
        self.sets += request["set"]
        self.lookups += not request["set"]
        cocotb.start_soon(self.finish(item, latency))

    async def finish(self, item, latency):
        await ClockCycles(self.dut.clk, latency)
        self.act(cycle())
        self.under_way.remove(item)
        answer = {name: item[name] for name in ("slot", "bit", "failed")}
        self.answers.append({"filter_answers_payload": pack(self.layout, answer)})

    def act(self, now):
        due = [item for item in self.under_way if item["acts"] <= now and "bit" not in item]
        for item in sorted(due, key=lambda item: item["acts"]):
            item["bit"] = item["idx"] in self.bits if not item["failed"] else random.getrandbits(1)
            if item["set"] and not item["failed"]:
                self.bits.add(item["idx"])


#: what becomes of an idx, as events are called
OUTCOMES = ("coalesced", "filtered", "local", "rejected", "prs")


def conserved(totals):
    """Whether every idx was counted as just one thing."""
    return totals["consumed"] == sum(totals[name] for name in OUTCOMES)
