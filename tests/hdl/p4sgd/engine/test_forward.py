import random
from collections import deque
from itertools import accumulate

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.engine.forward import PARTIALS_DEPTH, ForwardStage
from hdl.p4sgd.engine.model_memory import ModelMemory
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.read_back import probe_layout
from sim.harness import streams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import crossed
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import (
    Run,
    Trace,
    clock,
    generator,
    micro_batches,
    position_of,
    put,
    start_run,
)
from tests.simulated import simulated

SIZES = [
    EngineParams(chunks=16, fifo_words=64),
    EngineParams(banks=3, lanes=12, chunks=5, fifo_words=64, max_bits=7),
    EngineParams(banks=3, lanes=12, chunks=5, fifo_words=64, max_bits=7, ping_pong=True),
]
STATE = ("chunk", "valid", "tag", "planes", "no_credit", "no_queue")
PROBE_TAG = {"first_plane": 1, "negative": 0, "last_plane": 1, "first_chunk": 1}

test_forward = simulated(ForwardStage, SIZES, __name__)


class Surroundings:
    """Has banks whose sums change in every cycle, a word FIFO, and credits on request."""

    def __init__(self, dut, params, pause=streams.never):
        self.dut, self.params = dut, params
        self.owed = deque()  # credits that may be given
        self.grants = []
        self.sums = {}  # the cycle in which they stood at the stage
        self.trace = Trace(dut, *STATE, *(["half"] if params.ping_pong else []))
        dut.granted.value = 0
        cocotb.start_soon(self.run(pause))

    async def run(self, pause):
        shape = self.params.partials
        while True:
            await RisingEdge(self.dut.clk)
            if self.dut.granted.value:
                self.grants.append(streams.cycle())
            grant = bool(self.owed) and not pause()
            if grant:
                self.owed.popleft()
            self.dut.granted.value = grant
            half = 1 << self.params.bank.partial_bits - 1
            sums = [random.randrange(-half, half) for _ in range(self.params.banks)]
            sums[random.randrange(self.params.banks)] = random.choice([-half, 0, half - 1])
            self.sums[tuple(sums)] = streams.cycle() + 1
            self.dut.sums.value = pack(shape, sums)

    def cycle_of(self, partials):
        """Return when the banks' sums of a beat were at the stage."""
        return self.sums[tuple(partials)]


def check_words(params, run, trace, words, stored):
    """Check that every word goes to the word FIFO at once, and to the banks by its weights."""
    assert words.beats == stored.beats == run_words(params, run)
    assert words.cycles == stored.cycles
    mini_batch_of = list(accumulate(mark["last"] for mark in [{"last": 0}, *run.marks]))
    for index, (when, word) in enumerate(zip(words.cycles, words.beats, strict=True)):
        position = position_of(index, run.bits, run.chunks)
        assert trace.at("chunk", when) == position["chunk"]
        if params.ping_pong:
            assert trace.at("half", when) == mini_batch_of[index // (run.bits * run.chunks)] % 2
        later = when + ModelMemory.latency
        assert trace.at("planes", later) == word
        assert trace.at("tag", later) == {
            "negative": run.signed and position["first_plane"],
            **{name: position[name] for name in ("first_plane", "last_plane", "first_chunk")},
        }
    assert trace.when("valid") == [when + ModelMemory.latency for when in words.cycles]


def run_words(params, run):
    return [unpack(params.word, word) for word in run.words]


def earliest(run, marks, grants):
    """Return the first cycle with each word's credit, and whether it is the first to need it."""
    mini_batch = -1
    for mark in marks:
        mini_batch += mark["first"]
        for chunk in range(run.chunks):
            needed = (mini_batch - 1) * run.chunks + chunk
            free = not mark["first"] or mini_batch == 0
            for _ in range(run.bits):
                yield 0 if free else grants[needed] + 1


@crossed(bits=[1, 3, 4, 7], signed=[False, True], stalls=streams.STALLS, us=200)
async def takes_every_word_when_it_may(dut, bits, signed, stalls):
    params = params_in_simulator(EngineParams)
    rng = generator()
    source, sink = stalls
    chunks = int(rng.integers(1, params.chunks, endpoint=True))
    samples = int(rng.integers(1, 9 * params.banks))
    batch = params.banks * int(rng.integers(1, 4))
    run = Run(params, rng, samples, chunks, bits, signed, batch, epochs=2)
    marks = micro_batches(run.settings, params.banks)
    await streams.start(dut)
    around = Surroundings(dut, params, sink)
    done = []

    def reached(partials):
        around.owed.extend([None] * run.chunks * marks[len(done)]["last"])
        done.append(partials)

    streams.Sink(dut, "partials", stall=sink, callback=reached)
    stored = streams.Sink(dut, "stored", stall=sink)
    await start_run(dut, run)
    words = streams.Monitor(dut, "words")
    feed = streams.Source(dut, "words", stall=source)
    await feed.send_all([*run.words])
    while len(done) < len(marks):
        await clock(dut)
    await clock(dut, 5)
    assert not dut.active.value
    assert not dut.words_ready.value
    check_words(params, run, around.trace, words, stored)

    may_start = list(earliest(run, marks, around.grants))
    assert all(when >= least for when, least in zip(words.cycles, may_start, strict=True))
    ends = words.cycles[run.bits * run.chunks - 1 :: run.bits * run.chunks]
    assert list(map(around.cycle_of, done)) == [
        end + ModelMemory.latency + params.bank.latency for end in ends
    ]
    if stalls.absent:  # a word a cycle, from the cycle in which it has its credit
        assert words.cycles[1:] == [
            max(before + 1, least)
            for before, least in zip(words.cycles, may_start[1:], strict=False)
        ]


@cocotb.test(timeout_time=20, timeout_unit="us")
async def offers_partials_in_time(dut):
    params = params_in_simulator(EngineParams)
    latency = ForwardStage(params).latency
    run = Run(params, generator(), 4 * params.banks, params.chunks, 4, False, 4 * params.banks)
    await streams.start(dut)
    Surroundings(dut, params)
    streams.Sink(dut, "stored")
    await start_run(dut, run)
    sending = cocotb.start_soon(streams.send(dut, "words", run.words))
    _, cycles = await streams.receive(dut, "partials", 4)
    taken = await sending
    assert taken == list(range(taken[0], taken[0] + len(run.words)))
    ends = taken[run.bits * run.chunks - 1 :: run.bits * run.chunks]
    assert cycles == [end + latency for end in ends]
    assert latency <= 12  # the mark at 8 banks x 64 lanes
    dut._log.info("last word -> partial activations: %d cycles", latency)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def keeps_room_for_partials(dut):
    """While nobody takes them, as many micro-batches start as their queue has room for."""
    params = params_in_simulator(EngineParams)
    total = 3 * PARTIALS_DEPTH
    run = Run(params, generator(), total * params.banks, 1, 1, False, total * params.banks)
    await streams.start(dut)
    around = Surroundings(dut, params)
    dut.partials_ready.value = 0
    streams.Sink(dut, "stored")
    await start_run(dut, run)
    feed = streams.Source(dut, "words")
    feed.extend(run.words)
    await clock(dut, 60)
    assert len(feed.cycles) == PARTIALS_DEPTH
    assert dut.no_queue.value
    assert not dut.words_ready.value
    partials, _ = await streams.receive(dut, "partials", total, streams.rarely)
    delay = ModelMemory.latency + params.bank.latency
    assert list(map(around.cycle_of, partials)) == [when + delay for when in feed.cycles]


@crossed(chunks=[1, 3, 5], us=20)
async def waits_for_every_credit(dut, chunks):
    """A chunk of the next mini-batch starts after its own credit, not much later."""
    params = params_in_simulator(EngineParams)
    bits = 3
    run = Run(params, generator(), 2 * params.banks, chunks, bits, False, params.banks)
    await streams.start(dut)
    around = Surroundings(dut, params)
    streams.Sink(dut, "stored")
    streams.Sink(dut, "partials")
    await start_run(dut, run)
    feed = streams.Source(dut, "words")
    feed.extend(run.words)
    await clock(dut, chunks * bits + 30)
    for chunk in range(chunks):
        assert len(feed.cycles) == (chunks + chunk) * bits
        assert dut.no_credit.value
        around.owed.append(None)
        await clock(dut, 20)
        first = (chunks + chunk) * bits
        assert feed.cycles[first : first + bits] == [
            around.grants[-1] + 1 + plane for plane in range(bits)
        ]
    assert not dut.active.value


def lane_of(probe, bank, params):
    """Return the bit that a probe sets in a bank's plane, if there is such a lane."""
    place = probe["step"] * params.banks + bank
    lane = probe["group"] * GROUP_LANES + place
    return 1 << lane if place < GROUP_LANES and lane < params.lanes else 0


@cocotb.test(timeout_time=20, timeout_unit="us")
async def probes_one_weight_a_bank(dut):
    params = params_in_simulator(EngineParams)
    rng = generator()
    beats = [
        {"chunk": int(rng.integers(params.chunks)), "group": group, "step": step}
        for group in range(-(-params.lanes // GROUP_LANES))
        for step in range(1 << probe_layout(params)["step"].width)
    ]
    await streams.start(dut)
    put(dut, settings={"signed_features": 1, "bits": 4, "chunks": 2})
    around = Surroundings(dut, params)
    probe = streams.Source(dut, "probe", stall=streams.often)
    partials = streams.Sink(dut, "partials")
    await probe.send_all(beats)
    await partials.wait_for(len(beats))
    for when, beat, partial in zip(probe.cycles, beats, partials.beats, strict=True):
        assert around.trace.at("chunk", when) == beat["chunk"]
        later = when + ModelMemory.latency
        assert around.trace.at("tag", later) == PROBE_TAG
        assert around.trace.at("planes", later) == [
            lane_of(beat, bank, params) for bank in range(params.banks)
        ]
        assert around.cycle_of(partial) == later + params.bank.latency
    assert around.trace.when("valid") == [when + ModelMemory.latency for when in probe.cycles]


@cocotb.test(timeout_time=20, timeout_unit="us")
async def no_probe_during_a_run(dut):
    params = params_in_simulator(EngineParams)
    run = Run(params, generator(), params.banks, 1, 4, False, params.banks)
    await streams.start(dut)
    around = Surroundings(dut, params)
    streams.Sink(dut, "stored")
    partials = streams.Sink(dut, "partials")
    await start_run(dut, run)
    probe = streams.Source(dut, "probe")
    probe.append({"chunk": random.randrange(params.chunks)})
    await clock(dut, 20)
    assert not probe.cycles
    words = await streams.send(dut, "words", run.words)
    await partials.wait_for(2)
    assert probe.cycles == [words[-1] + 1]
    assert len(around.trace.when("valid")) == run.bits + 1


@cocotb.test(timeout_time=20, timeout_unit="us")
async def probes_are_as_many_as_the_queue_holds(dut):
    """A probe goes per cycle, until nobody takes the sums."""
    params = params_in_simulator(EngineParams)
    await streams.start(dut)
    put(dut, settings={"bits": 4, "chunks": 2}, exchanging=0, refill=0)
    around = Surroundings(dut, params)
    dut.partials_ready.value = 0
    probe = streams.Source(dut, "probe")
    total = 3 * PARTIALS_DEPTH
    probe.extend([{"chunk": k % params.chunks, "group": 0, "step": 0} for k in range(total)])
    await clock(dut, 60)
    assert probe.cycles == list(range(probe.cycles[0], probe.cycles[0] + PARTIALS_DEPTH))
    assert dut.no_queue.value
    partials, _ = await streams.receive(dut, "partials", total, streams.often)
    delay = ModelMemory.latency + params.bank.latency
    assert list(map(around.cycle_of, partials)) == [when + delay for when in probe.cycles]
    assert [around.trace.at("chunk", when) for when in probe.cycles] == [
        k % params.chunks for k in range(total)
    ]


async def exchange(dut, around, probe, partials):
    """Read back a few weights, a probe per cycle; then the next mini-batch may start."""
    params, rng = around.params, generator()
    before, requested, count = len(partials.beats), len(probe.cycles), 10
    put(dut, exchanging=1)
    beats = [{"chunk": int(c), "group": 0, "step": 0} for c in rng.integers(params.chunks, size=10)]
    await probe.send_all(beats)
    await partials.wait_for(before + count)
    cycles = probe.cycles[requested:]
    assert cycles == list(range(cycles[0], cycles[0] + count))
    for when, beat in zip(cycles, beats, strict=True):
        later = when + ModelMemory.latency
        assert around.trace.at("chunk", when) == beat["chunk"]
        assert around.trace.at("tag", later) == PROBE_TAG
        assert around.trace.at("planes", later) == [
            lane_of(beat, bank, params) for bank in range(params.banks)
        ]
        assert around.cycle_of(partials.beats[before]) == later + params.bank.latency
        before += 1
    await clock(dut, 5)
    put(dut, exchanging=0, refill=1)
    await clock(dut)
    put(dut, refill=0)
    return streams.cycle()


@crossed(chunks=[1, 3, 5], batch=[1, 3], us=50)
async def exchanges_between_mini_batches(dut, chunks, batch):
    """Ungranted, a mini-batch waits for ``refill``, which is good for all of its chunks."""
    params = params_in_simulator(EngineParams)
    bits = 3
    mini_batch = batch * params.banks
    run = Run(params, generator(), 3 * mini_batch, chunks, bits, True, mini_batch)
    size = batch * chunks * bits
    await streams.start(dut)
    put(dut, exchanging=0, refill=0)
    around = Surroundings(dut, params)
    streams.Sink(dut, "stored")
    partials = streams.Sink(dut, "partials")
    await start_run(dut, run)
    feed, probe = streams.Source(dut, "words"), streams.Source(dut, "probe")
    feed.extend(run.words)
    for ended in (1, 2, 3):
        while len(feed.cycles) < ended * size:
            await clock(dut)
        await clock(dut, 20)
        assert len(feed.cycles) == ended * size
        assert bool(dut.active.value) == (ended < 3)
        refilled = await exchange(dut, around, probe, partials)
        assert len(feed.cycles) == ended * size
        await clock(dut, size)
        first = ended * size
        words = list(range(refilled + 1, refilled + 1 + size)) if ended < 3 else []
        assert feed.cycles[first : first + size] == words
