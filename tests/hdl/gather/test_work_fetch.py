"""Tests the reading of descriptors from a ring, as a requester brings them."""

import random
from itertools import count

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.rings import Fault
from hdl.gather.engine_params import DESCRIPTOR, WORK, GatherEngineParams
from hdl.gather.work_fetch import WorkFetch
from hdl.pcie.descriptors import Cause
from sim.gather.golden.engine import WorkRequest
from sim.gather.golden.ring import DESCRIPTOR_BYTES, Ring, pack, unpack
from sim.gather.golden.rows import Table
from sim.harness.bench import Bench
from sim.harness.payloads import pack as packed
from sim.harness.streams import STALLS, Sink, benched, crossed, cycle, edges, until
from tests.simulated import simulated

SIZES = [
    GatherEngineParams(data_bits=256, tags=32, descriptors=2),
    GatherEngineParams(descriptors=8),
]

test_work_fetch = simulated(WorkFetch, SIZES, __name__)


def test_a_descriptor_is_what_the_bytes_say():
    for _ in range(50):
        fields = {name: random.getrandbits(field.width) for name, field in DESCRIPTOR}
        octets = packed(DESCRIPTOR, fields).to_bytes(DESCRIPTOR_BYTES, "little")
        work = work_of(unpack(octets))
        assert work["malformed"]
        for name in fields.keys() & work.keys():
            assert fields[name] & (1 << WORK[name].width) - 1 == work[name]


def work_of(descriptor):
    """Return the fields of a descriptor's request as the hardware has them."""
    request = descriptor.request
    fields = vars(request.table) | vars(request) | {"malformed": descriptor.malformed}
    fields |= {"completion": request.completion_address, "wide": request.idx_bytes == 8}
    return {name: int(fields[name]) for name, _ in WORK}


def some_request(full=False):
    """Draw a request of random numbers; if ``full``, return one with all bits 1."""

    def bits(count):
        return (1 << count) - 1 if full else random.getrandbits(count)

    return WorkRequest(
        idx_address=bits(64),
        count=bits(32),
        table=Table(base=bits(64), rows=bits(32), row_bytes=bits(17), stride=bits(17)),
        destination=bits(64),
        completion_address=bits(64),
        idx_bytes=4 << bits(1),
        order=bits(2),
        tag=bits(16),
        coalesce=bool(bits(1)),
        on_card=bool(bits(1)),
        streamed=bool(bits(1)),
        posted=bool(bits(1)),
    )


class FetchBench(Bench):
    """Has a host that answers after ``delay()`` cycles; ``bad`` has failures by address."""

    def __init__(self, dut, *stalls, delay=lambda: 10):
        super().__init__(dut, *stalls)
        self.delay, self.memory, self.bad, self.events = delay, {}, {}, self.tally()
        cocotb.start_soon(self.answer())

    async def answer(self):
        size = self.params.beat_bytes
        for k in count():
            await self.requests.wait_for(k + 1)
            request = self.requests.beats[k]
            assert request["bytes"] == DESCRIPTOR_BYTES
            await edges(self.dut.clk, self.requests.cycles[k] + self.delay() - cycle())
            cause = self.bad.get(request["address"], Cause.NONE)
            octets = self.memory[request["address"]]
            for at in range(0, DESCRIPTOR_BYTES, size):
                beat = {
                    "data": int.from_bytes(octets[at : at + size], "little"),
                    "bytes": size,
                    "last": at + size == DESCRIPTOR_BYTES,
                    "cause": cause,
                    "user": 0,
                }
                self.beats.append({name: beat.get(name, 0) for name in self.beat_names})

    @property
    def beat_names(self):
        return [name for name, _ in self.params.reads.beat]

    async def open(self, places=8, address=None):
        ring_bytes = DESCRIPTOR_BYTES * places
        if address is None:
            address = random.randrange(1 << 64) // ring_bytes * ring_bytes
        self.at, self.written = Ring(address, places), 0
        self.report(0)
        await self.wait(3)

    def report(self, index, enable=1):
        size = self.at.places.bit_length() - 1
        fields = {"enable": enable, "address": self.at.address, "size": size}
        self.set(ring=fields | {"index": index & 0xFFFF})

    def put(self, octets):
        self.memory[self.at.place(self.written)] = octets
        self.written += 1

    def put_some(self, count=8):
        """Write drawn descriptors, of which the engine is not told yet; return them."""
        built = [pack(some_request()) for _ in range(count)]
        for octets in built:
            self.put(octets)
        return built

    async def fill(self, descriptors):
        """Write descriptors as there is room, and ring the doorbell."""
        left = list(descriptors)
        while left:
            await self.wait()
            room = self.at.places - ((self.written - int(self.dut.consumer.value)) & 0xFFFF)
            now = random.randint(0, min(room, len(left)))
            for _ in range(now):
                self.put(left.pop(0))
            self.report(self.written)

    async def close(self):
        self.report(random.getrandbits(16), enable=0)
        await self.wait(4)
        await self.until("busy", 0)
        await self.wait(3)
        assert not self.dut.owes.value
        assert not self.dut.awaited.value
        assert not self.dut.cause.value


@crossed(stalls=STALLS, places=[1, 4], us=400)
async def work_in_the_order_of_the_ring(dut, stalls, places):
    """Work comes in order; some descriptors have meaningless bits, and one has all bits 1."""
    bench = await FetchBench(dut, stalls, delay=lambda: random.randrange(1, 40)).begin()
    for again in range(2):
        built, expected = [], []
        for k in range(30):
            octets = bytearray(pack(some_request(full=k == 7)))
            if k % 4 == 3:
                byte = random.choice([43, 46, 47, *range(50, 64)])
                octets[byte] |= 1 << 7
            built.append(bytes(octets))
            expected.append(work_of(unpack(built[-1])))
        await bench.open(places)
        await bench.fill(built)
        await bench.work.wait_for(30 * (again + 1))
        await bench.wait(5)
        assert bench.work.beats[30 * again :] == expected
        assert int(dut.consumer.value) == 30
        assert not dut.owes.value
        await bench.close()
        assert int(dut.consumer.value) == 30, "it can be read when the ring has closed"
    malformed = 2 * sum(item["malformed"] for item in expected)
    assert bench.events.counts == {"read": 60, "malformed": malformed, "unread": 0, "fault": 0}


@cocotb.test(timeout_time=100, timeout_unit="us")
async def each_bit_without_a_meaning(dut):
    bench = await FetchBench(dut, delay=lambda: 1).begin()
    descriptors, expected = [], []
    for bit in range(8 * 42, 512):
        octets = int.from_bytes(pack(some_request()), "little") ^ 1 << bit
        descriptors.append(octets.to_bytes(DESCRIPTOR_BYTES, "little"))
        expected.append(work_of(unpack(descriptors[-1])))
    await bench.open(16)
    await bench.fill(descriptors)
    await bench.work.wait_for(len(expected))
    assert bench.work.beats == expected


@benched(FetchBench, cause=[Cause.POISONED, Cause.TIMEOUT], stalls=STALLS, us=100)
async def one_that_cannot_be_read_stops_the_ring(bench, cause):
    """Descriptors before it become work; later ones do not, though some were asked for."""
    for bad in (0, 3):
        bench.work.beats.clear()
        await bench.open(8)
        built = bench.put_some()
        bench.bad = {bench.at.place(bad): cause, bench.at.place(bad + 1): Cause.RESET}
        bench.report(8)
        while not bench.dut.cause.value:
            await RisingEdge(bench.dut.clk)
        await bench.wait(60)
        assert Cause(int(bench.dut.cause.value)) is cause
        assert Fault(int(bench.dut.fault.value)) is Fault.NONE
        assert int(bench.dut.consumer.value) == bad == len(bench.work.beats)
        assert not bench.dut.owes.value
        requested = len(bench.requests.beats)
        await bench.wait(40)
        assert len(bench.requests.beats) == requested
        bench.bad = {}
        await bench.close()
    await bench.open(8)
    await bench.fill(built)
    await bench.work.wait_for(3 + 8)
    assert bench.events.counts == {"read": 11, "malformed": 0, "unread": 2, "fault": 0}


@benched(FetchBench, us=100)
async def a_doorbell_too_far_is_a_fault(bench):
    await bench.open(4)
    bench.report(5)
    await bench.wait(30)
    assert Fault(int(bench.dut.fault.value)) is Fault.OVERRUN
    assert not bench.requests.beats
    assert not bench.dut.owes.value
    assert bench.events["fault"] == 1
    await bench.close()
    await bench.open(4, address=64)
    await bench.wait(30)
    assert Fault(int(bench.dut.fault.value)) is Fault.ADDRESS
    assert bench.events["fault"] == 2


@benched(FetchBench, us=100)
async def reports_awaited_and_owed(bench):
    """``awaited`` is high from the request to the last beat, ``owes`` until the work is taken."""
    await bench.open(4)
    bench.put_some(1)
    bench.work.stop()
    assert not bench.dut.owes.value
    bench.report(1)
    await bench.requests.wait_for(1)
    began = cycle()
    while bench.dut.awaited.value:
        assert bench.dut.owes.value
        await RisingEdge(bench.dut.clk)
    assert cycle() - began >= 10
    for _ in range(20):
        assert bench.dut.owes.value
        assert bench.dut.work_valid.value
        await RisingEdge(bench.dut.clk)
    bench.work = Sink(bench.dut, "work")
    await bench.work.wait_for(1)
    await bench.wait(3)
    assert not bench.dut.owes.value


@benched(FetchBench, us=400)
async def a_ring_is_closed_in_any_cycle(bench):
    """Every descriptor that was asked for becomes work, and no other one is asked for later."""
    for wait in range(40):
        bench.work.beats.clear()
        await bench.open(8)
        bench.put_some()
        before = len(bench.requests.beats)
        bench.report(8)
        await bench.wait(wait)
        bench.dut.close.value = 1
        owed = []
        for _ in range(60):
            await RisingEdge(bench.dut.clk)
            owed.append(int(bench.dut.owes.value))
            bench.dut.close.value = 0
        assert owed == sorted(owed, reverse=True), "what is owed is known when the ring closes"
        assert not owed[-1]
        requested = len(bench.requests.beats) - before
        assert len(bench.work.beats) == requested == int(bench.dut.consumer.value)
        await bench.wait(40)
        assert len(bench.requests.beats) - before == requested
        assert not bench.dut.busy.value
        await bench.close()
    assert bench.events["unread"] == 0
    assert requested > 3


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_flush_abandons_what_is_awaited(dut):
    """Descriptors that came before become work; the ring stays closed until it is disabled."""
    bench = await FetchBench(dut, delay=lambda: 30).begin()
    bench.work.stop()
    await bench.open(8)
    bench.put_some()
    bench.report(1)
    await until(dut.clk, dut.work_valid, 1)
    bench.report(8)
    await bench.wait(20)
    assert dut.awaited.value
    dut.close.value = 1
    await bench.wait(3)
    dut.flush.value = 1
    await bench.wait(12)
    assert not dut.awaited.value
    assert dut.owes.value, "of what came before"
    bench.work = Sink(dut, "work")
    await bench.wait(40)
    assert len(bench.work.beats) == 1
    assert not dut.owes.value
    assert not dut.busy.value
    dut.flush.value = dut.close.value = 0
    requested = len(bench.requests.beats)
    await bench.wait(40)
    assert len(bench.requests.beats) == requested
    assert bench.events.counts == {"read": 1, "malformed": 0, "unread": 0, "fault": 0}
    await bench.close()
    await bench.open(4)
    await bench.fill([pack(some_request()) for _ in range(10)])
    await bench.work.wait_for(11)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def what_fails_when_the_ring_is_closed_is_not_reported(dut):
    """Yet no later descriptor becomes work, and the ring closes while no work is taken."""
    bench = await FetchBench(dut, delay=lambda: 30).begin()
    bench.work.stop()
    dut.work_ready.value = 0
    await bench.open(8)
    bench.put_some()
    bench.bad = {bench.at.place(0): Cause.RESET}
    bench.report(8)
    await bench.wait(20)
    dut.close.value = 1
    await bench.wait(60)
    assert not bench.work.beats
    assert not dut.busy.value
    assert not dut.cause.value
    assert not bench.events.counts.total()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def latencies(dut):
    bench = await FetchBench(dut, delay=lambda: 1).begin()
    await bench.open(4)
    bench.put_some(1)
    await bench.wait(10)
    bench.report(1)
    begun = cycle()
    await bench.work.wait_for(1)
    assert 0 <= bench.requests.cycles[0] - begun - WorkFetch.latency <= 1
    fetch = WorkFetch(bench.params)
    assert bench.work.cycles[0] - bench.beats.cycles[-1] == fetch.beat_latency
