"""Tests reads of host memory over AXI, anywhere in it, and completions that are written to it."""

import random
from dataclasses import replace
from functools import partial

import cocotb
from cocotb.triggers import Event

from hdl.common.axi import Burst, Response
from hdl.gather.axi_requester import WHOLE, AxiRequester
from hdl.gather.engine_params import GatherEngineParams
from hdl.pcie.descriptors import Cause
from sim.golden.pcie_requester import cut
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, benched, crossed, never, often
from tests.rejects import rejects
from tests.simulated import simulated

TINY = GatherEngineParams(data_bits=256, tags=4, max_read=128, host_bus="axi")
SIZES = [TINY, replace(TINY, data_bits=512, tags=16, max_read=512)]
TOP = 1 << 64

test_axi_requester = simulated(AxiRequester, SIZES, __name__)
test_rejects = rejects(
    partial(GatherEngineParams, host_bus="axi"),
    ({"kept_parts": 64}, "kept_parts must be 0 with host_bus axi, where rows have more parts: 64"),
    ({"outputs": "host"}, "outputs must be axi, stream or both with host_bus axi, .*: host"),
)


def content(address, size):
    """Return bytes of memory, of which each dword is its address, mixed up."""
    words = (0x9E3779B1 * (at >> 2) & 0xFFFF_FFFF for at in range(address, address + size, 4))
    return b"".join(word.to_bytes(4, "little") for word in words)


class RequesterBench(Bench):
    """Has a memory of which each place fails with probability ``fails``."""

    def __init__(self, dut, stalls=(never, never), fails=0.0):
        super().__init__(dut, stalls, limit=(limit := random.choice((0, 1, WHOLE))))
        self.most = min(128 << limit, self.params.max_read)
        self.fails, self.size = fails, self.params.beat_bytes
        self.bursts = []
        self.m_axi_ar.add_callback(self.read)
        self.m_axi_aw.add_callback(self.answer)
        self.m_axi_w.add_callback(self.answer)
        self.answered = 0
        _ = self.m_axi_r, self.m_axi_b

    def read(self, burst):
        begin, count = burst["addr"], burst["len"] + 1
        assert begin % self.size == 0
        assert begin // 4096 == (begin + count * self.size - 1) // 4096
        self.bursts.append((begin, count))
        for k in range(count):
            place = begin + k * self.size
            data = int.from_bytes(content(place, self.size), "little")
            resp = Response.SLVERR if self.bad(place) else Response.OKAY
            self.m_axi_r.append(
                {"data": data, "resp": resp.value, "last": int(k == count - 1), "id": 0}
            )

    def answer(self, _):
        """Answer each write once its address and its beat have both moved (AXI4, A3.3.1)."""
        both = min(len(self.m_axi_aw.beats), len(self.m_axi_w.beats))
        self.m_axi_b.extend([{"resp": 0, "id": 0}] * (both - self.answered))
        self.answered = both

    def bad(self, place):
        """Return whether a beat of the bus fails, the same each time."""
        return random.Random(place).random() < self.fails

    def request(self, address, size):
        request = {"address": address, "bytes": size, "user": random.getrandbits(8)}
        request["user"] %= 1 << self.params.share.shared.user_bits
        self.requests.append(request)
        return request

    async def some(self, count):
        """Make requests of any size anywhere, and check their beats."""
        requests = []
        for _ in range(count):
            size = 4 * random.choice((1, 2, random.randint(1, 64), 1024))
            place = random.choice((4 * random.randrange(1 << 62), TOP - 8192)) % (TOP - 4096)
            requests.append(self.request(place, size))
        await self.settle(60)
        self.check(requests)

    def check(self, requests):
        """Compare all beats with what was requested, of which what has failed has a cause."""
        beats = iter(self.beats.beats)
        pieces = []
        for request in requests:
            place, end, lost = request["address"], request["address"] + request["bytes"], False
            pieces += [(part.address, part.size) for part in cut(place, end - place, self.most)]
            while place < end:
                beat = next(beats)
                step = min(self.size - place % self.size, end - place)
                lost |= self.bad(place - place % self.size)
                assert (beat["bytes"], beat["last"]) == (step, place + step == end)
                assert beat["user"] == request["user"]
                assert beat["cause"] == (Cause.ABORTED if lost else Cause.NONE)
                if not lost:
                    assert beat["data"].to_bytes(self.size, "little")[:step] == content(place, step)
                place += step
        assert next(beats, None) is None
        lines = [(at // self.size, (at + size - 1) // self.size) for at, size in pieces]
        assert self.bursts == [(a * self.size, b - a + 1) for a, b in lines]


@crossed(stalls=STALLS, fails=[0.0, 0.1], us=200)
async def requests_are_answered_in_order(dut, stalls, fails):
    bench = await RequesterBench(dut, stalls, fails).begin()
    events = bench.tally()
    await bench.some(60)
    assert dut.idle.value
    lost = [any(bench.bad(a + k * bench.size) for k in range(n)) for a, n in bench.bursts]
    expected = {"sent": len(bench.bursts), "failed": sum(lost), "stranger": 0, "abandoned": 0}
    assert {name: events[name] for name in expected} == expected
    bench.m_axi_r.append({"data": 0, "resp": 0, "last": 1, "id": 0})
    await bench.wait(40)
    assert (events["stranger"], bench.value("bus")["broken"]) == (1, 1)


@benched(RequesterBench, us=50)
async def reads_are_limited_while_nothing_takes_their_beats(bench):
    bench.beats.stall = lambda: True
    requests = [bench.request(4096 * k, bench.most) for k in range(40)]
    await bench.wait(600)
    assert len(bench.bursts) == bench.params.tags
    assert not bench.dut.idle.value
    bench.beats.stall = never
    await bench.settle(60)
    bench.check(requests)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def what_was_not_sent_is_forgotten(dut):
    bench = await RequesterBench(dut, (often, never)).begin()
    for k in range(40):
        bench.request(4096 * k, 4096)
    await bench.wait(random.randint(20, 60))
    bench.requests.clear()
    bench.set(forget=1)
    await bench.wait(2)
    sent = len(bench.bursts)
    await bench.until("idle", 1)
    bench.set(forget=0)
    await bench.wait(100)
    assert len(bench.bursts) == sent
    bench.forget()
    bench.bursts.clear()
    await bench.some(5)


@crossed(cut=range(1, 25), us=50)
async def nothing_is_left_after_a_reset(dut, cut):
    """Neither of a piece or a beat under way, nor of a failure, nor of beats that wait."""
    bench = await RequesterBench(dut, (never, often if cut % 2 else never), fails=1.0).begin()
    for k in range(12):
        bench.request(4096 * k + 4 * random.randrange(20), 4 * random.randint(1, 80))
    await bench.wait(cut)
    await bench.reset()
    bench.forget()
    assert dut.idle.value
    assert not dut.beats_valid.value
    assert not any(bench.value("bus").values())
    bench.bursts.clear()
    bench.fails, events = float(cut % 3 == 0), bench.tally()
    await bench.some(6)
    assert events["failed"] == bench.fails * len(bench.bursts)


@benched(RequesterBench, writes=[False, True], us=50)
async def the_state_of_both_buses_is_reported(bench, writes):
    """An answer without a request breaks a bus; one that takes nothing is silent as well."""
    dropped = bench.record("bus", "bus", taken="")
    answer = {"resp": 0, "id": 0} if writes else {"data": 0, "resp": 0, "last": 1, "id": 0}
    (bench.m_axi_b if writes else bench.m_axi_r).append(answer)
    await bench.wait(20)
    assert bench.value("bus") == {"broken": 1, "silent": 0, "owes": 0, "dropped": 0}
    assert sum(beat["bus"]["dropped"] for beat in dropped.beats) == 1
    await bench.strobe(watch={"revive": 1})
    await bench.wait(5)
    assert not any(bench.value("bus").values())
    (bench.m_axi_aw if writes else bench.m_axi_ar).stall = lambda: True
    await bench.wait(2)
    if writes:
        bench.writes.append({"address": 0, "bytes": 16, "user": 0})
    else:
        bench.request(0, 4)
    await bench.wait(20)
    for _ in range(2):
        assert not bench.value("bus")["broken"]
        await bench.strobe(watch={"tick": 1})
        await bench.wait(20)
    assert bench.value("bus") == {"broken": 1, "silent": 1, "owes": 1, "dropped": 0}


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_completion_waits_for_the_one_before(dut):
    """The next one's place is not that of data which still wait."""
    bench = await RequesterBench(dut, (never, often)).begin()
    places = [16 * k for k in (1, 0, 3, 2, 1)]
    taken = [Event() for _ in places]
    for address, event in zip(places, taken, strict=True):
        bench.writes.append({"address": address, "bytes": 16, "user": 0}, event=event)
    for octets, event in enumerate(taken):
        await event.wait()
        await bench.wait(random.randint(0, 30))
        bench.data.append(octets)
    await bench.settle(60)
    strobes = [beat["strb"] for beat in bench.m_axi_w.beats]
    assert strobes == [0xFFFF << at % bench.size for at in places]


@benched(RequesterBench, stalls=STALLS, us=50)
async def a_completion_lands_at_its_place(bench):
    seen = bench.record("visible")
    for k in range(20):
        address, octets = 16 * random.randrange(1 << 60), random.randbytes(16)
        bench.writes.append({"address": address, "bytes": 16, "user": 0})
        await bench.m_axi_aw.wait_for(k + 1)
        bench.data.append(int.from_bytes(octets, "little"))
        await bench.settle(40)
        assert len(seen.beats) == k + 1
        beat, at = bench.m_axi_w.beats[-1], address % bench.size
        burst = bench.m_axi_aw.beats[-1]
        assert (burst["addr"], burst["len"], burst["burst"]) == (address - at, 0, Burst.INCR.value)
        assert beat["strb"] == 0xFFFF << at
        assert beat["data"] >> 8 * at & (1 << 128) - 1 == int.from_bytes(octets, "little")


@benched(RequesterBench, us=20)
async def takes_its_latency(bench):
    bench.request(0x1000, 4)
    await bench.beats.wait_for(1)
    assert bench.m_axi_ar.cycles[0] - bench.requests.cycles[0] == AxiRequester.request_latency
    assert bench.beats.cycles[0] - bench.m_axi_r.cycles[0] == AxiRequester(bench.params).latency
