import random
from functools import partial

import cocotb
from cocotb.triggers import ClockCycles

from hdl.netsparse.protocol import LENGTH_BITS, MAX_PROPERTY_BYTES
from hdl.netsparse.rig.response_match import ResponseMatch
from sim.harness.bench import Bench
from sim.harness.coincidences import apart, pulse
from sim.harness.streams import STALLS, Sink, benched, crossed, never, often
from tests.hdl.netsparse.rig.bench import TINY, dense_beats
from tests.simulated import simulated

GENERATION = 0x2A5A5A5A

test_response_match = simulated(ResponseMatch, [TINY], __name__)


class MatchBench(Bench):
    """Has the table ``known``, idx by entry; ``waiting`` are those that have been issued."""

    def __init__(self, dut, source=never, **late):
        super().__init__(dut, (source, never), generation=GENERATION)
        for name, stall in late.items():
            getattr(self, name).stall = stall
        self.known, self.totals = {}, self.tally()

    async def begin(self):
        cocotb.start_soon(self.table())
        return await super().begin()

    async def table(self):
        dut = self.dut
        while True:
            await dut.entry.value_change
            self.look()

    def look(self):
        entry = int(self.dut.entry.value)
        self.dut.known.value = entry in self.known
        self.dut.known_idx.value = self.known.get(entry, random.getrandbits(12))

    async def judged(self, counts):
        """Wait until all of ``counts`` have been judged, and what is passed on has left."""
        due = counts["response"] + counts["stale"]
        while self.totals["response"] + self.totals["stale"] < due or self.dut.busy.value:
            await self.until("busy", 0)
        await self.wait(4)

    def send(self, responses):
        for beats, _, _ in responses:
            self.responses.extend(beats)

    async def issue(self, entry, idx):
        self.known[entry] = idx
        self.look()
        await self.strobe(issued=1, issued_entry=entry)
        self.set(issued_entry=random.randrange(self.params.pending_entries))

    def response(
        self, entry, size, *, idx=None, generation=GENERATION, error=0, block=None, names=(1, 2, 3)
    ):
        """Return the beats of a response, and what the two outputs should give if it is good."""
        dest, src, tid = names
        idx = self.known.get(entry, 5) if idx is None else idx
        block = random.randbytes(size) if block is None else block
        fields = {
            "dest": dest,
            "length": size,
            "pr": {"src": src, "tid": tid, "idx": idx, "id": generation << 2 | entry},
            "error": error,
        }
        beats = dense_beats(block) if not error else [random.getrandbits(512)]
        ends = [{"last": k + 1 == len(beats), "data": data} for k, data in enumerate(beats)]
        return [fields | end for end in ends], {"idx": idx, "entry": entry}, ends


def wrong_ones(bench, entry):
    """Return responses that nobody waits for although much in them is right."""
    idx = bench.known[entry]
    return random.choice(
        (
            {"generation": GENERATION - 1},
            {"generation": GENERATION ^ 1 << 29},
            {"idx": idx ^ 1},
            {"idx": idx | 1 << 12},
            {"idx": idx | 1 << 63},
        )
    )


@crossed(stalls=STALLS, size=[4, 64, 68, 192], late=["beats", "heads"])
async def passes_on_what_is_waited_for(dut, stalls, size, late):
    """If only one of the two waits, neither is offered unless the other is taken."""
    source, sink = stalls
    bench = await MatchBench(dut, source, **{late: sink}).begin()
    dut.bytes.value = size
    heads, beats, counts = [], [], {"response": 0, "stale": 0, "remote": 0}
    for _ in range(30):
        entry = random.randrange(4)
        idx = random.getrandbits(12)
        await bench.issue(entry, idx)
        sent = []
        while random.random() < 0.4:
            sent += bench.response(entry, size, **wrong_ones(bench, entry))[0]
            counts["stale"] += 1
        kind = random.choice(("good", "good", "error", "length"))
        counts["response"] += 1
        if kind == "good":
            response, head, ends = bench.response(entry, size)
            heads.append(head)
            beats += ends
            sent += response
        else:
            other = random.choice([n for n in (4, 60, 64, 128, 192) if n != size])
            length = other if kind == "length" else size
            sent += bench.response(entry, length, error=kind == "error")[0]
            counts["remote"] += 1
        if random.random() < 0.5:  # it waits no more
            sent += bench.response(entry, size)[0]
            counts["stale"] += 1
        await bench.responses.send_all(sent)
        if random.random() < 0.3:  # nor when it is free
            await bench.judged(counts)
            del bench.known[entry]
            bench.look()
            await bench.responses.send_all(bench.response(entry, size)[0])
            counts["stale"] += 1
        # No entry is used again before its response has left.
        await ClockCycles(dut.clk, random.choice((0, 26)))
        await bench.judged(counts)
    await ClockCycles(dut.clk, 8)  # busy falls behind what leaves last
    assert bench.heads.beats == heads
    assert bench.beats.beats == beats
    assert bench.totals.counts == counts
    assert not dut.busy.value


@benched(MatchBench)
async def no_bit_of_a_response_is_overlooked(bench):
    """Ids, idxs and lengths differ from the right one in one bit; node names do not count."""
    bits, heads, beats = bench.params.generation_bits, [], []
    counts = {"response": 0, "stale": 0, "remote": 0}
    lowest = (0, 0, 0, 4, (0, 0, 0))
    names = ((1 << 32) - 1, (1 << 32) - 1, (1 << 16) - 1)
    highest = (3, (1 << 12) - 1, (1 << bits) - 1, MAX_PROPERTY_BYTES, names)
    for entry, idx, generation, size, names in (lowest, highest):
        bench.dut.generation.value, bench.dut.bytes.value = generation, size
        right = {"generation": generation, "names": names}
        others = [{"generation": generation ^ 1 << k} for k in range(bits)]
        others += [{"idx": idx ^ 1 << k} for k in range(64)]
        await bench.issue(entry, idx)
        sent = [bench.response(entry, 4, **right | other)[0] for other in others]
        response, head, ends = bench.response(entry, size, **right)
        await bench.responses.send_all(beat for item in (*sent, response) for beat in item)
        heads.append(head)
        beats += ends
        await bench.wait(4)
        lengths = [size ^ 1 << k for k in range(LENGTH_BITS) if size != 1 << k]
        for length in lengths:
            await bench.issue(entry, idx)
            await bench.responses.send_all(bench.response(entry, length, block=b"one", **right)[0])
            await bench.wait(4)
        for name, more in (("response", 1 + len(lengths)), ("stale", len(others))):
            counts[name] += more
        counts["remote"] += len(lengths)
    assert bench.heads.beats == heads
    assert bench.beats.beats == beats
    assert bench.totals.counts == counts


@benched(MatchBench, size=[4, 192])
async def a_beat_a_cycle(bench, size):
    bench.dut.bytes.value = size
    expected, sent = [], []
    for entry in range(4):
        await bench.issue(entry, 100 + entry)
        response, _, ends = bench.response(entry, size)
        sent += response
        expected += ends
    await bench.responses.send_all(sent)
    await bench.wait(10)
    assert bench.beats.beats == expected
    latency = ResponseMatch.latency
    assert bench.beats.cycles == [at + latency for at in bench.responses.cycles]
    assert bench.beats.cycles[-1] - bench.beats.cycles[0] == len(sent) - 1


@benched(MatchBench)
async def beats_wait_for_heads(bench):
    """Neither goes without the other; a response has more beats than are held."""
    bench.dut.bytes.value = 320
    await bench.issue(1, 77)
    bench.heads.stop()
    response, head, ends = bench.response(1, 320)
    sending = cocotb.start_soon(bench.responses.send_all(response))
    await bench.wait(20)
    assert not bench.beats.beats
    assert not sending.done()
    heads = Sink(bench.dut, "heads")
    await bench.wait(20)
    assert heads.beats == [head]
    assert bench.beats.beats == ends
    bench.beats.stop()
    await bench.issue(1, 78)
    response, head, ends = bench.response(1, 320)
    cocotb.start_soon(bench.responses.send_all(response))
    await bench.wait(20)
    assert len(heads.beats) == 1
    beats = Sink(bench.dut, "beats")
    await bench.wait(20)
    assert heads.beats[1:] == [head]
    assert beats.beats == ends


@crossed(source=[never, often])
async def cleared_beside_any_step_of_a_response(dut, source):
    """It passes if it has begun before, else not at all; then nothing is waited for."""
    bench = await MatchBench(dut, source).begin()
    dut.bytes.value = 64
    counts = {"response": 0, "stale": 0}
    for distance in 5 * list(range(-2, 7)):
        for entry in range(4):
            await bench.issue(entry, 40 + entry)
        sent = [bench.response(entry, 64) for entry in range(4)]
        before = len(bench.heads.beats), len(bench.beats.beats)
        _, cleared = await apart(dut, partial(bench.send, sent), pulse(dut, "clear"), distance)
        bench.send(sent)  # no entry waits for these
        counts["response"] += 8
        await bench.judged(counts)
        count = sum(at < cleared for at in bench.heads.cycles[before[0] :])
        assert bench.heads.beats[before[0] :] == [head for _, head, _ in sent[:count]]
        assert bench.beats.beats[before[1] :] == [ends[0] for _, _, ends in sent[:count]]


@benched(MatchBench)
async def clear_lets_a_begun_response_end(bench):
    bench.dut.bytes.value = 192
    for entry in range(4):
        await bench.issue(entry, 40 + entry)
    bench.responses.stall = lambda: len(bench.responses.cycles) == 1
    begun, head, ends = bench.response(0, 192)
    bench.responses.extend(begun)
    await bench.wait(10)
    assert bench.dut.busy.value
    bench.dut.clear.value = 1
    await bench.wait(10)
    assert bench.dut.busy.value, "the rest has to come"
    bench.responses.stall = never
    bench.send(bench.response(entry, 192) for entry in range(4))
    await bench.wait(40)
    bench.dut.clear.value = 0
    bench.send(bench.response(entry, 192) for entry in range(4))
    await bench.wait(40)
    assert (bench.heads.beats, bench.beats.beats) == ([head], ends)
    assert bench.totals.counts == {"response": 1, "stale": 8, "remote": 0}
    assert not bench.dut.busy.value
