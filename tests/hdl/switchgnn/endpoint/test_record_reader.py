"""Makes jobs from orders and the list's records, wherever in memory these lie."""

import itertools
import random
from dataclasses import replace

import cocotb

from hdl.switchgnn.endpoint.bundles import UNDER_WAY
from hdl.switchgnn.endpoint.memory_layouts import ALIGNMENT, SendRecord
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.record_reader import RecordReader
from hdl.switchgnn.protocol import Kind
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, never
from tests.hdl.switchgnn.endpoint.answers import answer
from tests.hdl.switchgnn.extremes import some_number
from tests.simulated import simulated

BEAT = 64  #: bytes
ORDERS = 300


#: Addresses are wide, so that every bit of a place counts, or narrow.
ADDRESSES = {"tiny": 20, "small": 64, "full": 64}
SIZES = {name: replace(PRESETS[name], address_bits=bits) for name, bits in ADDRESSES.items()}

test_record_reader = simulated(RecordReader, SIZES, __name__)


class ReaderBench(Bench):
    """Plays a memory in which every record is another one, of any kind; some reads fail."""

    def __init__(self, dut, *, source=never, sink=never, bad=0.2, latency=10):
        super().__init__(dut, (source, source))
        self.jobs.stall, self.bad, self.latency = sink, bad, latency
        self.context = {name: some_number(field.width) for name, field in self.params.context}
        self.turn = some_number()
        self.set(context=self.context, turn=self.turn)
        self.illegal, self.bad_records = self.record("illegal"), 0
        self.expected, self.requested = [], []
        self.coming = []  # beats of memory, in the order of the orders
        answer(self, self.request, "beat", lambda _: [self.coming.pop(0)], latency=latency)

    def some_record(self):
        """Draw a record of any content, after its fields too."""
        record = {name: some_number(field.width) for name, field in SendRecord.as_shape()}
        kind = random.choice([Kind.FEATURE, Kind.PARTIAL]).value
        if random.random() < self.bad:
            kind = random.choice([kind ^ 1 << random.randrange(8), random.getrandbits(8)])
        return record | {"kind": kind}

    def give(self, order):
        """Give an order, and note what becomes of it."""
        params, record = self.params, self.some_record()
        shape = SendRecord.as_shape()
        offsets = {name: field.offset for name, field in shape}
        bits = sum(value << offsets[name] for name, value in record.items())
        other = random.getrandbits(256)
        data = bits << 256 | other if order["seq"] & 1 else bits | other << 256
        failed = random.random() < self.bad / 2
        self.coming.append({"failed": failed, "data": data})
        whole = 1 << params.beat_address_bits
        self.requested.append(
            (ALIGNMENT // BEAT * self.context["list"] + order["seq"] // 2) % whole
        )
        legal = record["kind"] in (Kind.FEATURE.value, Kind.PARTIAL.value)
        self.bad_records += not legal and not failed
        if legal and not failed:
            is_sum = record["kind"] == Kind.PARTIAL.value
            size = params.sum_beats if is_sum else params.feature_beats
            origin = ALIGNMENT // BEAT * self.context["features"]
            names = ("list", "source", "raw", "rows")
            self.expected.append(
                {
                    "kind": Kind(record["kind"]),
                    "turn": self.turn,
                    "beat": (origin + record["place"] * size) % whole,
                    **order,
                    **{name: record[name] for name in names},
                }
            )
        self.orders.append(order)

    async def ends(self):
        await self.finish(self.latency + 10, request=self.requested, jobs=self.expected)
        assert len(self.illegal.cycles) == self.bad_records


@crossed(stalls=STALLS)
async def jobs_are_what_records_say(dut, stalls):
    source, sink = stalls
    bench = await ReaderBench(dut, source=source, sink=sink).begin()
    for _ in range(ORDERS):
        bench.give({"seq": some_number(), "again": random.getrandbits(1)})
    await bench.ends()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def makes_a_job_a_cycle(dut):
    """A job leaves per cycle as long as places for orders cover the memory's latency."""
    bench = await ReaderBench(dut, bad=0, latency=UNDER_WAY - 10).begin()
    for seq in range(ORDERS):
        bench.give({"seq": seq, "again": 0})
    await bench.ends()
    assert {b - a for a, b in itertools.pairwise(bench.jobs.cycles)} == {1}
    assert bench.request.cycles == bench.orders.cycles  # request_latency


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_more_are_read_than_find_room(dut):
    """Jobs that nobody takes hold orders up; records that are no jobs free their places."""
    bench = ReaderBench(dut, sink=lambda: blocked, bad=0.3)
    blocked = True
    await bench.begin()
    for _ in range(ORDERS):
        bench.give({"seq": random.getrandbits(32), "again": 0})
    await bench.wait(3 * ORDERS)
    read = len(bench.request.beats)
    assert not bench.jobs.beats
    assert UNDER_WAY <= read < ORDERS
    blocked = False
    await bench.ends()
