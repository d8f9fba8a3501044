import random
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from hdl.netsparse.idx_filter.bank import FilterBank
from sim.harness.bench import Bench
from sim.harness.plays import play
from sim.harness.pulses import Pulses
from sim.harness.streams import STALLS, always, crossed, cycle, mostly, never, often, rarely
from sim.netsparse.golden.idx_filter import line_address
from sim.netsparse.microarchitecture.idx_filter import IdxFilterCache
from tests.hdl.netsparse.idx_filter.bench import SMALL
from tests.simulated import simulated

PARAMS = replace(SMALL, units=4, idx_bits=14, slots=64)
EVENTS = ("hit", "miss", "write_back", "failed")
HANDSHAKES = ("requests_valid", "requests_ready", "answers_valid", "answers_ready", "idle")

test_bank = simulated(FilterBank, [PARAMS], __name__)


class Memory:
    """Answers fills and write-backs a few cycles later, fills of ``bad`` lines with an error."""

    def __init__(self, bench, stall, base=0):
        self.base, self.lines = base, {}
        self.bad, self.failures = set(), 0
        self.fills, self.write_backs = bench.fills, bench.write_backs
        self.fills.stall = self.write_backs.stall = stall
        self.fills.add_callback(self.fill)
        self.write_backs.add_callback(self.write_back)
        self.filled = Pulses(bench.dut, "filled", "fill_data", "fill_error")
        self.written = Pulses(bench.dut, "written")
        self.shown = bench.record("", *EVENTS, *HANDSHAKES)

    def fill(self, address):
        bad = address in self.bad
        self.failures += bad
        line = random.getrandbits(512) if bad else self.lines.get(address, 0)
        self.filled.later({"fill_data": line, "fill_error": bad}, random.randrange(5))

    def write_back(self, line):
        self.lines[line["address"]] = line["data"]
        self.written.later({}, random.randrange(5))

    def counted(self, requests):
        """Whether the bank's events are what was asked of it, and of the memory."""
        events = self.events()
        hits, write_backs = len(requests) - events["miss"], len(self.write_backs.beats)
        return [*events.values()] == [hits, events["miss"], write_backs, self.failures]

    def events(self):
        shown = [*list.__iter__(self.shown.beats)]
        return {name: sum(item[name] for item in shown) for name in EVENTS}

    def check_idle(self):
        """Check that it was never idle with a request inside."""
        inside = 0
        for item in list.__iter__(self.shown.beats):
            inside += item["requests_valid"] & item["requests_ready"]
            inside -= item["answers_valid"] & item["answers_ready"]
            assert not (item["idle"] and (item["requests_valid"] or inside))

    def address(self, line):
        return self.base + line_address(line * 512)


def line_of(bits):
    """Return a line of the memory with these bits."""
    return sum(1 << int(k) for k in bits.nonzero()[0])


async def begin(dut, stalls):
    """Empty the bank; return its params, its memory, and what drives and takes its streams."""
    bench = Bench(dut, stalls, clear=1)
    if bench.sink_stall is never:
        memory = Memory(bench, never)
    else:  # its last line may be the last there is
        memory = Memory(bench, mostly, (1 << 16) - 64 * random.randrange(32, 512))
    bench.set(base=memory.base)
    await bench.begin()
    await play(dut, [{"clear_at": place} for place in range(bench.params.sets)])
    bench.set(clear=0)
    return bench.params, memory, bench.requests, bench.answers


def beats(requests):
    return [
        {"unit": k % 4, "request": {"set": is_set, "idx": idx, "slot": k % 61}}
        for k, (is_set, idx) in enumerate(requests)
    ]


def expected(requests, model):
    result = []
    for k, (is_set, idx) in enumerate(requests):
        bit = int(model.access(idx, set_bit=is_set).bit)
        block = sum(int(item) << n for n, item in enumerate(model.block(idx)))
        answer = {"slot": k % 61, "bit": bit, "failed": 0}
        result.append({"unit": k % 4, "answer": {"answer": answer, "block": block}})
    return result


@crossed(stalls=STALLS, us=100)
async def answers_may_be_held_up(dut, stalls):
    params, memory, source, sink = await begin(dut, stalls)
    model = IdxFilterCache(1 << 14, 1, params.sets, params.ways)
    # What is read is what the memory has, were it no zeros; lines of a set that is not full are.
    for line in range(params.ways * params.sets, 32):
        bits = np.array([random.getrandbits(1) for _ in range(512)], dtype=bool)
        model.bits[line * 512 :][:512] = model.memory[line * 512 :][:512] = bits
        memory.lines[memory.address(line)] = line_of(bits)
    # All sets are full; the first line is replaced by others of its set, the last one is used.
    requests = [(False, line * 512) for line in range(params.ways * params.sets)]
    requests += [(True, line * 512) for line in (0, 4, 8, 12, 16, 31)]
    requests += [
        (
            random.random() < 0.4,
            random.randrange(11) * 512 * (k % 12 == 0) + random.randrange(random.choice((40, 512))),
        )
        for k in range(800)
    ]
    await source.send_all(beats(requests))
    await sink.wait_for(len(requests))
    assert sink.beats == expected(requests, model)
    assert len(memory.fills.beats) == memory.events()["miss"] - params.ways * params.sets
    await ClockCycles(dut.clk, 64)
    assert dut.idle.value
    assert memory.counted(requests)
    memory.check_idle()
    for line in range(32):
        assert memory.lines.get(memory.address(line), 0) == line_of(
            model.memory[line * 512 :][:512]
        )


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_failed_fill_fails_its_request(dut):
    """The others of its set are answered as ever, from the cache or the memory."""
    params, memory, source, sink = await begin(dut, (rarely, rarely))
    memory.bad = {memory.address(5)}
    model = IdxFilterCache(1 << 14, 1, params.sets, params.ways)
    requests = [(False, line * 512) for line in (1, 9)]  # else none is read
    requests += [
        (random.random() < 0.4, random.choice((1, 1, 5, 9, 13)) * 512 + random.randrange(9))
        for _ in range(150)
    ]
    await source.send_all(beats(requests))
    await sink.wait_for(len(requests))
    for beat, sent in zip(sink.beats, beats(requests), strict=True):
        request, answer = sent["request"], beat["answer"]["answer"]
        assert (beat["unit"], answer["slot"]) == (sent["unit"], request["slot"])
        assert answer["failed"] == (request["idx"] // 512 == 5)
        if not answer["failed"]:
            assert answer["bit"] == model.access(request["idx"], set_bit=request["set"]).bit
    assert memory.failures == sum(idx // 512 == 5 for _, idx in requests)
    await ClockCycles(dut.clk, 64)  # a line may be written back behind all answers
    assert memory.counted(requests)
    memory.check_idle()


@crossed(stall=[never, often], us=100)
async def it_stops_when_nobody_takes_answers(dut, stall):
    params, memory, source, sink = await begin(dut, (stall, always))
    requests = [(True, random.randrange(512)) for _ in range(500)]
    source.extend(beats(requests))
    await ClockCycles(dut.clk, 100)
    assert 0 < len(source.cycles) < 40
    assert not sink.beats
    assert not dut.idle.value
    sink.stall = often
    await sink.wait_for(len(requests))
    model = IdxFilterCache(512, 1, params.sets, params.ways)
    assert sink.beats == expected(requests, model)
    memory.check_idle()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def one_request_a_cycle(dut):
    _, memory, source, sink = await begin(dut, (never, never))
    await source.send_all(beats([(False, 0)]))
    await sink.wait_for(1)
    begun = cycle()
    await source.send_all(beats([(k % 3 == 0, random.randrange(512)) for k in range(300)]))
    await sink.wait_for(301)
    sent = source.cycles[1:]
    assert sent[0] <= begun + 2
    assert sent == list(range(sent[0], sent[0] + 300))
    assert sink.cycles[1:] == [at + FilterBank.latency for at in sent]
    memory.check_idle()
