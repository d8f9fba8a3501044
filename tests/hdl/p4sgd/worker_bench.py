"""Surrounds a worker with a host, memories that hold a training, and a network."""

import os
import pickle
from dataclasses import replace

import cocotb
import numpy as np
import pytest

from gen.base.emission.emit import module_name
from hdl.p4sgd.engine.params import BURST_BEATS, PORT_BITS, EngineParams
from hdl.p4sgd.host.control import START_CYCLES, Cause
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import Loss
from sim.harness.bench import Bench
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.p4sgd.host.worker import WorkerStopped
from sim.p4sgd.surroundings.worker_system import WorkerSystem, memory_count
from sim.p4sgd.train import engine_of, memory_arguments
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import MemorySettings
from sim.p4sgd.training_workload import TrainingWorkload
from sim.p4sgd.worker_driver import WorkerDriver
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.workloads.layout import model_to_weights, weights_to_model
from tests.hdl.p4sgd.bench import random_data
from tests.hdl.p4sgd.transport.bench import LANES, Network, Others, settings
from tests.long import short_and_long

TRAINING = "INGATHER_TEST_TRAINING"
BEAT_BYTES = PORT_BITS // 8
ENGINE = EngineParams(lanes=32, chunks=8, fifo_words=48)
SIZES = {
    "one die": WorkerParams(engines=2, engine=ENGINE, address_bits=36),
    "sixteen banks": WorkerParams(
        engines=2,
        engine=EngineParams(banks=16, lanes=20, max_bits=12, chunks=8, fifo_words=48),
    ),
    "three dies": WorkerParams(engines=3, engine=replace(ENGINE, ping_pong=True), slrs=3),
    "tiled": WorkerParams(engines=2, engine=EngineParams(lanes=32, chunks=8, max_tile=2)),
    "three classes": WorkerParams(engines=6, classes=3, engine=ENGINE),
}


def workers(module):
    """Return the test that simulates workers of all sizes with the cocotb tests of ``module``."""

    @pytest.mark.parametrize(
        "size", short_and_long(SIZES, ["sixteen banks", "three dies", "tiled"])
    )
    def test_worker(size, tmp_path, rng):
        hardware = SIZES[size]
        data = random_data(rng, 75, 150 * hardware.sets, Loss.LOGISTIC)
        workload = TrainingWorkload(eta=1.0, bits=4, batch=16, epochs=2)
        training = TrainingRun(data, hardware, workload)
        # So many beats precede what is read that a run's first burst ends within its window.
        ahead = BURST_BEATS * int(rng.integers(256)) + int(rng.integers(8, BURST_BEATS))
        (tmp_path / "training.pickle").write_bytes(pickle.dumps((training, ahead)))
        memories = memory_arguments(training, tmp_path)
        for image in tmp_path.glob("memory_*.bin"):
            image.write_bytes(rng.bytes(BEAT_BYTES * ahead) + image.read_bytes())
        simulate(
            WorkerSystem(hardware),
            module,
            extra_sources=[RAM_ARRAY],
            hier_blocks=[module_name(engine_of(hardware))],
            plusargs=memories,
            env={TRAINING: str(tmp_path / "training.pickle")},
        )

    return test_worker


class WorkerBench(Bench):
    """Has a worker that is set up for an epoch of a training, loaded with random weights.

    ``first_beat`` is the number of the first beat that is read, in each memory.
    """

    def __init__(self, dut):
        super().__init__(dut)
        with open(os.environ[TRAINING], "rb") as file:
            self.training, self.first_beat = pickle.load(file)
        address = BEAT_BYTES * self.first_beat
        self.legal = self.training.settings(epochs=1)
        self.legal |= {"word_address_low": address, "label_address_low": address}
        labels = memory_count(self.params) - self.params.movers - 1
        self.memories = {"first words": 0, "last words": labels - 1, "labels": labels}
        # A model in memory is no worker's without one: its first engine's then stands for labels.
        self.memories["weights"] = labels + bool(self.params.movers)
        rng = np.random.default_rng(cocotb.RANDOM_SEED)
        self.weights = rng.integers(-(1 << 24), 1 << 24, size=self.training.shape)

    async def begin(self, **memory):
        self.set_memory(**memory)
        await start(self.dut)
        self.driver = WorkerDriver(self.dut, self.params)
        self.read, self.write = self.driver.read, self.driver.write
        await self.write(**self.legal)
        await self.load()
        return self

    def ports_of(self, memory):
        """Return the ports at which a memory is: that of words has another one if tiles are."""
        index, count = self.memories[memory], self.params.readers * self.params.ports
        words = self.params.sets * self.params.ports
        return [*range(index, count, words)] if index < words else [index - words + count]

    def set_memory(self, **fields):
        """Set how memories answer from now on: all rightly, unless told."""
        memory = MemorySettings(**{"latency": 40} | fields)
        self.set(memory=memory.fields, fail_index=memory.fail_index)

    def model(self, weights=None):
        """Return ``weights``, or those of the beginning, as the worker's memory has them."""
        weights = self.weights if weights is None else weights
        return weights_to_model(weights, self.training.geometry, 0)

    async def load(self, weights=None):
        await self.driver.load(self.model(weights))

    async def has(self, weights):
        """Return whether the worker's weights are these."""
        model = await self.driver.model(self.training.chunks)
        result = model_to_weights([model], self.training.geometry, self.training.features)
        return (result == weights).all()

    def trained(self, weights=None):
        """Return what a run makes of ``weights``, or of those of the beginning."""
        return self.training.golden(self.weights if weights is None else weights)[0]

    async def train_once(self, weights=None):
        """Check that a run from ``weights``, or those of the beginning, ends as it should."""
        await self.load(weights)
        await self.write(clear_counters=1)
        await self.driver.train()
        assert await self.read("done")
        assert await self.has(self.trained(weights))

    async def fails(self, cause, *, starts=True):
        """Check that a run, which perhaps has begun, fails for this cause; return what is said."""
        with pytest.raises(WorkerStopped) as failure:
            await (self.driver.train() if starts else self.driver.wait())
        assert Cause[failure.value.cause] is cause
        return str(failure.value)

    async def join_network(self, *, slots=6, runs=2, **network):
        """Join a job of two, of whom the other adds nothing, mostly with more work than slots."""
        await self.driver.open_job(**settings(slots, 2, timeout=400, retries=20))
        await self.write(join=0)
        nothing = [[0] * LANES] * (runs * self.params.packets * self.training.micro_batches)
        return Others(self.dut, slots, 2, Network(**network), {0: nothing})

    async def write_together(self, *writes):
        """Write words back to back as fast as the bus takes them; the last one acts."""
        words = [word for fields in writes for word in self.driver.registers.writes(**fields)]
        data = [(address, word.to_bytes(4, "little")) for address, word in words]
        for write in [cocotb.start_soon(self.driver.axil.write(*item)) for item in data]:
            await write
        await self.wait(START_CYCLES)

    async def settle_job(self):
        """Wait until all slots of a job that begins are cleared."""
        await self.wait(2 * self.params.slots)
