import random

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge, Timer

from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.network.model_exchange import ModelExchange
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness import streams
from sim.harness.payloads import pack
from sim.harness.streams import crossed
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import clock, generator, pulse, put, wild, wild_bits
from tests.simulated import simulated

SIZES = {
    "parallel": WorkerParams(engines=3, engine=EngineParams(lanes=32, data_parallel=True)),
    "parallel one": WorkerParams(engines=1, engine=EngineParams(data_parallel=True)),
    "parallel narrow": WorkerParams(
        engines=2, engine=EngineParams(banks=2, lanes=128, data_parallel=True)
    ),
    "plain": WorkerParams(engines=2),
    "plain narrow": WorkerParams(engines=3, engine=EngineParams(banks=1, lanes=256)),
}

test_passes = simulated(
    ModelExchange,
    SIZES,
    __name__,
    short=["parallel", "parallel narrow", "plain narrow"],
    test_filter="passes_",
)
test_exchanges = simulated(
    ModelExchange,
    {name: params for name, params in SIZES.items() if name.startswith("parallel")},
    __name__,
    test_filter="exchanges_",
    registers=("requested", "put"),
)


def inputs(dut, params, bits):
    """Draw every handshake and payload that comes in: ``bits()`` a bit, any payload."""
    shapes = {
        "partial": params.engine.activations,
        "network_full": params.transport.activations,
    }
    ready = ["full", "network_partial"]
    for e in range(params.engines):
        shapes[f"host_load_{e}"] = params.engine.model.load
        shapes[f"host_peek_{e}"] = params.engine.model.address
        shapes[f"peeked_{e}"] = params.engine.model.group
        ready += [f"load_{e}", f"peek_{e}", f"host_peeked_{e}"]
    drawn = {f"{name}_valid": bits() for name in shapes} | {
        f"{name}_ready": bits() for name in ready
    }
    drawn |= {f"{name}_payload": wild_bits(shape) for name, shape in shapes.items()}
    for name, value in drawn.items():
        getattr(dut, name).value = value
    return drawn


def pairs(params):
    """Return each stream that comes in and where it goes on."""
    yield "partial", "network_partial"
    yield "network_full", "full"
    for e in range(params.engines):
        yield f"host_load_{e}", f"load_{e}"
        yield f"host_peek_{e}", f"peek_{e}"
        yield f"peeked_{e}", f"host_peeked_{e}"


def quiet(dut, params):
    inputs(dut, params, lambda: 0)
    put(dut, begin=0, updated=0, engines_finished=0, settings={})


@cocotb.test(timeout_time=100, timeout_unit="us")
async def passes_everything(dut):
    """Without data parallelism, activations, the host and the end of a run pass."""
    params = params_in_simulator(WorkerParams)
    activations = (1 << params.engine.activations.size) - 1
    quiet(dut, params)
    if params.engine.data_parallel:  # else it has no clock
        await streams.start(dut)
    for _ in range(400):
        drawn = inputs(dut, params, lambda: random.getrandbits(1))
        finished = random.getrandbits(1)
        put(
            dut,
            begin=random.getrandbits(1),
            updated=random.getrandbits(params.engines),
            engines_finished=finished,
            settings={"chunks": random.randrange(1, 9)},
        )
        await Timer(random.choice([1, 2, 3]) * streams.PERIOD_NS + 1, "ns")
        assert not dut.exchanging.value
        assert not dut.refill.value
        for source, sink in pairs(params):
            assert int(getattr(dut, f"{sink}_valid").value) == drawn[f"{source}_valid"]
            assert int(getattr(dut, f"{source}_ready").value) == drawn[f"{sink}_ready"]
            mask = activations if source == "network_full" else -1
            beat = int(getattr(dut, f"{sink}_payload").value)
            assert beat == drawn[f"{source}_payload"] & mask
        assert int(dut.finished.value) == finished


class Job:
    """Has engines that hold a model, and a network that adds to what they send."""

    def __init__(self, dut, chunks, stalls, answers=True):
        self.dut, self.chunks = dut, chunks
        self.params = params_in_simulator(WorkerParams)
        self.rng = generator()
        engine = self.params.engine
        shape = (self.params.engines, chunks, -(-engine.lanes // GROUP_LANES), GROUP_LANES)
        self.models = wild(self.rng, 32, shape)
        self.size = self.models.size // GROUP_LANES
        self.places = [
            (e, c, g) for c in range(chunks) for g in range(shape[2]) for e in range(shape[0])
        ]
        pause, stall = stalls
        self.peeked, self.loads, self.host_loads = [], [], []
        self.host = [self.connect(e, pause, stall) for e in range(self.params.engines)]
        self.full = streams.Source(dut, "network_full", stall=pause)
        self.answers = answers
        self.sums = []
        self.sent = streams.Sink(dut, "network_partial", stall=stall, callback=self.add)
        # Activations go another way, but push all the time.
        dut.partial_valid.value, dut.full_ready.value = 1, 1

    def connect(self, e, pause, stall):
        """Connect an engine, and the host's accesses to it."""
        dut = self.dut
        answer = streams.Source(dut, f"peeked_{e}", stall=pause)

        def peek(beat):
            place = e, beat["chunk"], beat["group"]
            if dut.exchanging.value:
                self.peeked.append(place)
            answer.append(self.models[place].tolist())

        def load(beat):
            place = e, beat["chunk"], beat["group"]
            loads = self.host_loads
            if dut.exchanging.value:
                loads, self.models[place] = self.loads, beat["weights"]
            loads.append((place, beat["weights"], streams.cycle()))

        streams.Sink(dut, f"peek_{e}", stall=stall, callback=peek)
        streams.Sink(dut, f"load_{e}", stall=stall, callback=load)
        names = (f"host_load_{e}", f"host_peek_{e}")
        sources = [streams.Source(dut, name, stall=pause) for name in names]
        return [*sources, streams.Sink(dut, f"host_peeked_{e}", stall=stall)]

    def host_demands(self):
        """Let the host want to write to each engine and to read what it has."""
        requested = []
        for e, (load, peek, _) in enumerate(self.host):
            place = e, 0, random.randrange(self.models.shape[2])
            address = {"chunk": 0, "group": place[2]}
            weights = wild(self.rng, 32, GROUP_LANES).tolist()
            load.append(address | {"weights": weights})
            peek.append(address)
            requested.append((place, weights))
        return requested

    async def host_gets(self, requested):
        """Check that the host's accesses are done, now that they may be."""
        for _, _, peeked in self.host:
            await peeked.wait_for(1)
        while len(self.host_loads) < len(requested):
            await RisingEdge(self.dut.clk)
        assert sorted(load[:2] for load in self.host_loads) == requested
        for (place, _), (_, _, peeked) in zip(requested, self.host, strict=True):
            assert peeked.beats == [self.models[place].tolist()]  # the host's load is no part of it
            peeked.beats.clear()
        self.host_loads.clear()

    def locked_out(self):
        names = ["partial_ready", "full_valid"]
        for e in range(self.params.engines):
            names += [f"host_load_{e}_ready", f"host_peek_{e}_ready", f"host_peeked_{e}_valid"]
        return not any(int(getattr(self.dut, name).value) for name in names)

    def add(self, beat):
        """Add anything: a sum must come back into the place that its part came from."""
        assert beat == self.models[self.places[len(self.sums)]].tolist()
        self.sums.append(wild(self.rng, 32, GROUP_LANES).tolist())
        if self.answers:
            self.full.append(self.sums[-1])

    async def start(self):
        """Come out of reset, with a run begun."""
        put(self.dut, begin=0, updated=0, engines_finished=0, settings={})
        await streams.start(self.dut)
        put(self.dut, settings={"data_parallel": 1, "chunks": self.chunks})
        await pulse(self.dut, "begin")

    async def update(self):
        """Let the engines end the mini-batch one by one or together; then it begins."""
        engines = list(range(self.params.engines))
        self.rng.shuffle(engines)
        while engines:
            together = [engines.pop() for _ in range(random.randint(1, len(engines)))]
            put(self.dut, updated=sum(1 << e for e in together))
            await RisingEdge(self.dut.clk)
            assert not self.dut.exchanging.value
            put(self.dut, updated=0)
            for _ in range(random.choice([0, 0, 1, 5]) if engines else 0):
                await RisingEdge(self.dut.clk)
                assert not self.dut.exchanging.value
        await RisingEdge(self.dut.clk)
        assert not self.dut.exchanging.value
        await RisingEdge(self.dut.clk)
        assert self.dut.exchanging.value

    async def exchange(self, finished=False):
        """Run until ``refill``; check and return what was asked and loaded."""
        dut = self.dut
        while dut.exchanging.value:
            assert self.locked_out()
            assert not dut.finished.value
            assert not dut.refill.value
            await RisingEdge(dut.clk)
        ended = streams.cycle()
        assert dut.refill.value
        assert bool(dut.finished.value) == finished
        await RisingEdge(dut.clk)
        assert not dut.refill.value
        assert bool(dut.finished.value) == finished
        assert [place for place, *_ in self.loads] == self.places
        assert [weights for _, weights, _ in self.loads] == self.sums
        for e in range(self.params.engines):
            own = [place for place in self.places if place[0] == e]
            assert [place for place in self.peeked if place[0] == e] == own
        assert ended == self.loads[-1][2] + 1
        loads, self.loads = self.loads, []
        self.peeked.clear()
        self.sums.clear()
        return loads


@crossed(stalls=streams.STALLS, chunks=[1, 3], us=500)
async def exchanges_models(dut, stalls, chunks):
    """Each weight goes once and into its place, after each mini-batch of each run."""
    job = Job(dut, chunks, stalls)
    await job.start()
    for _ in range(2):
        for mini_batch in range(3):
            final = mini_batch == 2
            await clock(dut, random.randrange(9))
            await job.update()
            dut.engines_finished.value = final
            requested = job.host_demands()
            await job.exchange(finished=final)
            await job.host_gets(requested)
        assert dut.finished.value
        dut.engines_finished.value = 0
        await pulse(dut, "begin")
        await RisingEdge(dut.clk)
        assert not dut.finished.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def exchanges_at_full_speed(dut):
    """A packet goes out and a load comes in per cycle, if engines and network can."""
    job = Job(dut, 4, streams.Stalls.NONE)
    await job.start()
    await job.update()
    began = streams.cycle()
    loads = [when for *_, when in await job.exchange()]
    sent = job.sent.cycles
    assert sent == list(range(sent[0], sent[0] + job.size))
    assert loads == list(range(loads[0], loads[0] + job.size))
    assert loads[-1] - began <= job.size + 6


@crossed(chunks=[4096, 0xAAA, 0x555], us=100)
async def exchanges_any_number_of_chunks(dut, chunks):
    """Presets are at the last chunk; the next exchange begins with the first one."""
    job = Job(dut, chunks, streams.Stalls.NONE)
    job.places = [place for place in job.places if place[1] == chunks - 1]
    await job.start()
    last = pack(ModelExchange(job.params).place, {"chunk": chunks - 1})
    dut.requested.value, dut.put.value = last, last
    await job.update()
    await job.exchange()
    assert int(dut.requested.value) == int(dut.put.value) == 0


@cocotb.test(timeout_time=100, timeout_unit="us")
async def exchanges_without_a_wait_for_sums(dut):
    """All of the model goes out before the first sum has come back."""
    job = Job(dut, 3, streams.Stalls.NONE, answers=False)
    await job.start()
    await job.update()
    await clock(dut, job.size + 10)
    assert len(job.sums) == job.size
    assert dut.exchanging.value
    job.full.extend(job.sums)
    while not dut.refill.value:
        await RisingEdge(dut.clk)
    assert [(place, weights) for place, weights, _ in job.loads] == list(
        zip(job.places, job.sums, strict=True)
    )


@crossed(stalls=streams.STALLS, us=100)
async def exchanges_leave_the_host_the_rest(dut, stalls):
    """Before, between and after exchanges the engines are the host's."""
    job = Job(dut, 1, stalls)
    await job.start()
    for _ in range(3):
        await job.host_gets(job.host_demands())
        await job.update()
        await job.exchange()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def exchanges_only_what_its_run_updated(dut):
    """A run without data parallelism, and one that was broken off, leave nothing behind."""
    job = Job(dut, 2, streams.Stalls.NONE)
    await job.start()
    everyone = (1 << job.params.engines) - 1
    put(dut, updated=everyone >> 1)  # broken off: all but one
    await RisingEdge(dut.clk)
    put(dut, updated=0)
    await pulse(dut, "begin")
    put(dut, updated=everyone & ~(everyone >> 1))
    await RisingEdge(dut.clk)
    put(dut, updated=0)
    await clock(dut, 5)
    assert bool(dut.exchanging.value) == (job.params.engines == 1)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def exchanges_nothing_of_a_run_without(dut):
    """A run without data parallelism leaves nothing for the settings of the next."""
    job = Job(dut, 2, streams.Stalls.NONE)
    await job.start()
    dut.partial_valid.value = 0
    put(dut, settings={"data_parallel": 0, "chunks": 2})
    await pulse(dut, "begin")
    for _ in range(3):
        put(dut, updated=(1 << job.params.engines) - 1)
        await RisingEdge(dut.clk)
    put(dut, updated=0, settings={"data_parallel": 1, "chunks": 2})
    for _ in range(20):
        await RisingEdge(dut.clk)
        assert not dut.exchanging.value
    await pulse(dut, "begin")
    await job.update()
    assert len(await job.exchange()) == job.size


def test_places_are_all_of_the_model():
    """The worker's place has room for its engines, chunks and groups."""
    for params in SIZES.values():
        place = ModelExchange(params).place
        ends = np.array([params.engines, params.engine.chunks, -(-params.engine.lanes // 8)]) - 1
        fields = dict(zip(("engine", "chunk", "group"), ends.tolist(), strict=True))
        assert pack(place, fields) < 1 << place.size
