"""Loads and reads back the weights of engines as a host does, in bursts of every kind."""

import os
import random

import cocotb
import pytest

from hdl.common.axi import Burst, Response
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, crossed, never, rarely
from sim.harness.verilator import simulate
from tests.hdl.p4sgd.host.model_bench import ModelBench, ModelBenchParams

BEAT = 32  #: bytes
FULL = 5  #: AxSIZE of a whole beat
ALL = (1 << BEAT) - 1  #: strobes
RESERVED = 3  #: the fourth AxBURST, which means nothing
MOST = 4096 // BEAT  #: whole beats of a burst, which stays within 4 KB
INCR = {"size": FULL, "burst": Burst.INCR.value}
REFUSED = [
    *(INCR | {"size": size} for size in range(8) if size != FULL),
    *(INCR | {"burst": kind} for kind in (Burst.FIXED.value, Burst.WRAP.value, RESERVED)),
]
TOGETHER = "INGATHER_TEST_TOGETHER"  #: whether engines take a question when they answer it


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    "worker",
    [
        WorkerParams(engines=1, engine=EngineParams(chunks=3)),
        WorkerParams(engines=3, engine=EngineParams(banks=8, lanes=32, chunks=4)),
        WorkerParams(engines=8, engine=EngineParams(banks=2, lanes=128, chunks=5)),
    ],
    ids=lambda worker: worker.suffix,
)
def test_model_port(worker, together):
    env = {TOGETHER: str(int(together))}
    simulate(ModelBench(ModelBenchParams(worker=worker)), __name__, env=env)


def random_beats(count):
    return [(random.getrandbits(8 * BEAT), ALL) for _ in range(count)]


class Host(Bench):
    """Knows what a host may see: the weights of each beat, and how each burst is answered."""

    def __init__(self, dut, stalls=(never, never)):
        super().__init__(dut, stalls, together=int(os.environ[TOGETHER]))
        self.allow()
        engine, self.engines = self.params.worker.engine, self.params.worker.engines
        self.chunks, self.chunk_beats = engine.chunks, 4 * engine.lanes // BEAT
        self.engine_beats = self.chunk_beats << engine.model.chunk_bits
        self.beats = 1 << model_bus(self.params.worker).index_bits
        self.weights, self.answers, self.read_back = {}, [], []
        names = ("aw", "w", "b", "ar", "r")
        self.aw, self.w, self.b, self.ar, self.r = (getattr(self, f"s_axi_{n}") for n in names)
        if self.sink_stall is not never:
            cocotb.start_soon(self.pause_engines())

    async def pause_engines(self):
        while True:
            await self.wait()
            self.set(pause=random.getrandbits(self.engines))

    def allow(self, is_allowed=True):
        self.is_allowed = is_allowed
        self.set(allow=is_allowed)

    def exists(self, beat):
        engine, within = divmod(beat, self.engine_beats)
        return engine < self.engines and within // self.chunk_beats < self.chunks

    def refusal(self, beat, burst, strobes=ALL):
        """Return how a beat is answered that is not done; None if it is."""
        if not self.is_allowed or burst | INCR != burst or strobes != ALL:
            return Response.SLVERR.value
        return None if self.exists(beat) else Response.DECERR.value

    def write(self, beat, data, **kind):
        """Ask for a burst of pairs of data and strobes."""
        burst = {"id": random.randrange(16), "addr": BEAT * beat, "len": len(data) - 1}
        burst |= INCR | kind
        self.aw.append(burst)
        worst = 0
        for k, (word, strobes) in enumerate(data):
            self.w.append({"data": word, "strb": strobes, "last": k == burst["len"]})
            refusal = self.refusal(beat + k, burst, strobes)
            worst = max(worst, refusal or 0)
            if refusal is None:
                self.weights[beat + k] = word
        self.answers.append({"id": burst["id"], "resp": worst})

    def read(self, beat, count, **kind):
        """Ask for a burst of ``count`` beats."""
        burst = {"id": random.randrange(16), "addr": BEAT * beat, "len": count - 1}
        burst |= INCR | kind
        self.ar.append(burst)
        for k in range(count):
            refusal = self.refusal(beat + k, burst)
            word = 0 if refusal else self.weights[beat + k]
            shown = {"id": burst["id"], "data": word, "resp": refusal or 0}
            self.read_back.append(shown | {"last": int(k == burst["len"])})

    async def answered(self):
        """Wait for all answers that are due, and compare them."""
        await self.b.wait_for(len(self.answers))
        await self.r.wait_for(len(self.read_back))
        assert self.b.beats == self.answers
        assert self.r.beats == self.read_back
        self.forget()
        self.answers, self.read_back = [], []

    async def fill(self):
        """Put random weights everywhere."""
        for engine in range(self.engines):
            for chunk in range(self.chunks):
                first = engine * self.engine_beats + chunk * self.chunk_beats
                self.write(first, random_beats(self.chunk_beats))
        await self.answered()

    def some_place(self):
        """Draw the first of a burst's beats, which mostly exists, and how many there are."""
        first = random.randrange(self.beats)
        if random.random() < 0.7:
            first %= self.engines * self.engine_beats
        room = MOST - first % MOST
        return first, min(room, random.choice((1, 2, 6, MOST, random.randint(1, 20))))

    def issue(self, bursts):
        """Ask for bursts to write, and for others to read, of which none touches another one."""
        touched = set()
        for _ in range(bursts):
            first, count = self.some_place()
            beats, kind = set(range(first, first + count)), {}
            if random.random() < 0.2:
                kind, count = random.choice(REFUSED), random.choice((1, 4, 256))
            elif not touched.isdisjoint(beats):
                continue
            else:
                touched |= beats
            if random.random() < 0.5:
                data = random_beats(count)
                if random.random() < 0.2:
                    missing = random.choice((1, 1 << 31, ALL, random.getrandbits(32) | 2))
                    data[random.randrange(count)] = random.getrandbits(8 * BEAT), ALL & ~missing
                self.write(first, data, **kind)
            else:
                self.read(first, count, **kind)


@crossed(stalls=STALLS, ms=2)
async def remembers_every_weight(dut, stalls):
    """Bursts of all kinds are under way; what has been answered is there, and none is lost.

    In some rounds the host takes no answer for long, and in some it may not see the model.
    """
    host = await Host(dut, stalls).begin()
    await host.fill()
    for _ in range(40):
        host.allow(random.random() < 0.9)
        host.issue(random.choice((1, 12)))
        if random.random() < 0.2:
            host.b.stall = host.r.stall = always
            await host.wait(300)
            host.b.stall = host.r.stall = host.sink_stall
        await host.answered()
    host.allow()
    for first in range(0, host.beats, 8):
        host.read(first, 8)
    await host.answered()
    await host.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def allow_may_change_within_a_burst(dut):
    """Each beat is done or refused; the burst tells if any was refused."""
    host = await Host(dut, (rarely, rarely)).begin()
    for _ in range(30):
        host.allow()
        old, new = random_beats(12), random_beats(12)
        host.write(0, old)
        await host.answered()
        host.write(0, new)
        await host.wait(random.randrange(5, 30))
        host.allow(False)
        await host.b.wait_for(1)
        (answer,) = host.b.beats
        host.allow()
        host.read(0, 12)
        await host.r.wait_for(12)
        seen = [beat["data"] for beat in host.r.beats]
        count = sum(a == b for a, (b, _) in zip(seen, new, strict=True))
        assert seen == [word for word, _ in new[:count] + old[count:]]
        assert answer["resp"] == (0 if count == 12 else Response.SLVERR.value)
        host.forget()
        host.answers, host.read_back = [], []


@crossed(beats=[1, 3], ms=2)
async def waits_for_the_engines(dut, beats):
    """It does not answer before the engine has done its part, and is busy until then."""
    host = await Host(dut).begin()
    await host.wait()
    for issue, answers in (
        (lambda: host.write(0, random_beats(beats)), host.b),
        (lambda: host.read(0, beats), host.r),
    ):
        assert not dut.busy.value
        host.set(pause=(1 << host.engines) - 1)
        issue()
        await host.wait(30)
        assert not answers.beats
        assert dut.busy.value
        host.set(pause=0)
        await host.answered()
        await host.wait(40)
    assert not dut.busy.value


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def moves_a_beat_every_cycle(dut):
    """It does within a burst; engines that answer with the question take their own time."""
    host = await Host(dut).begin()
    count = 2 * host.chunk_beats
    host.write(0, random_beats(count))
    await host.b.wait_for(1)
    host.read(0, count)
    await host.r.wait_for(count)
    for channel in (host.w,) if dut.together.value else (host.w, host.r):
        assert channel.cycles == list(range(channel.cycles[0], channel.cycles[0] + count))
    await host.answered()
