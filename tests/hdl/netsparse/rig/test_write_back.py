import random
from dataclasses import replace

import cocotb

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.protocol import MAX_PROPERTY_BYTES
from hdl.netsparse.rig.write_back import WriteBack
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.pulses import Pulses
from sim.harness.streams import STALLS, Sink, benched, crossed
from tests.hdl.netsparse.rig.bench import TINY, dense_beats
from tests.simulated import simulated

#: Properties are as large as can be.
LARGE = replace(TINY, most_property_bytes=MAX_PROPERTY_BYTES, property_buffer_bytes=4096)
test_write_back = simulated(WriteBack, [LARGE], __name__)


class WriteBench(Bench):
    """Never has more properties under way than there are entries, as in the unit."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.writes.add_callback(self.note)
        self.done = Pulses(dut, "done", "write_failed")
        self.failed = self.record("failed")
        self.fails = lambda: False
        self.latency = lambda: 1
        self.outcomes = []

    def note(self, beat):
        if beat["last"]:
            self.outcomes.append(self.fails())
            self.done.later({"write_failed": self.outcomes[-1]}, self.latency())

    async def write(self, count, size):
        """Give it properties; return what it was given, and what should be written."""
        params = self.params
        self.set(bytes=size)
        provided, expected = [], []
        for k in range(count):
            while k - len(self.sets.beats) - len(self.failed.beats) >= params.pending_entries:
                await self.wait()
            pending = {"idx": random.getrandbits(12), "entry": k % params.pending_entries}
            address = 4 * random.getrandbits(params.address_bits - 2)
            if k == 0:
                pending, address = {"idx": 0, "entry": 0}, 0
            self.result.append({"address": address, "tag": pack(params.pending, pending)})
            provided.append(pending)
            beats = dense_beats(random.randbytes(size))
            for n, data in enumerate(beats):
                last = n + 1 == len(beats)
                self.beats.append({"last": last, "data": data})
                expected.append({"address": address, "bytes": size, "last": last, "data": data})
        await self.rest()
        return provided, expected

    async def rest(self):
        await self.settle(5)
        assert not self.dut.busy.value
        assert len(self.done.cycles) == len(self.outcomes)


@crossed(stalls=STALLS, size=[4, 64, 68, 192], us=100)
async def writes_and_then_sets(dut, stalls, size):
    bench = await WriteBench(dut, stalls).begin()
    bench.latency = lambda: random.randint(1, 9)
    provided, expected = await bench.write(60, size)
    assert bench.writes.beats == expected
    assert bench.sets.beats == provided
    assert not bench.failed.beats
    if stalls.absent:
        assert bench.writes.cycles == bench.beats.cycles
        latency = WriteBack(bench.params).set_latency
        assert bench.sets.cycles == [at + latency for at in bench.done.cycles]
    beats = -(-size // BEAT_BYTES)
    for at, wrote in zip(bench.sets.cycles, bench.writes.cycles[beats - 1 :: beats], strict=True):
        assert at > wrote


@benched(WriteBench, size=[4, 192, MAX_PROPERTY_BYTES], us=100)
async def a_beat_a_cycle(bench, size):
    bench.latency = lambda: 0
    provided, expected = await bench.write(50 if size < MAX_PROPERTY_BYTES else 3, size)
    assert (bench.sets.beats, bench.writes.beats) == (provided, expected)
    beats = len(bench.writes.cycles)
    assert bench.writes.cycles[-1] - bench.writes.cycles[0] == beats - 1


@benched(WriteBench, stalls=STALLS, us=100)
async def failed_writes_set_nothing(bench):
    bench.fails = lambda: random.random() < 0.4
    provided, _ = await bench.write(60, 68)
    good = [item for item, failed in zip(provided, bench.outcomes, strict=True) if not failed]
    assert bench.sets.beats == good
    assert len(bench.failed.beats) == len(provided) - len(good) > 0


@benched(WriteBench, us=100)
async def discard_sets_nothing(bench):
    bench.sets.stop()
    writing = cocotb.start_soon(bench.write(bench.params.pending_entries, 4))
    await bench.wait(30)
    assert not writing.done(), "sets are not waited for"
    assert bench.dut.sets_valid.value
    bench.dut.discard.value = 1
    await bench.wait(20)
    assert writing.done()
    assert not bench.dut.sets_valid.value
    bench.dut.discard.value = 0
    sets = Sink(bench.dut, "sets")
    provided, _ = await bench.write(3, 4)
    assert sets.beats == provided
