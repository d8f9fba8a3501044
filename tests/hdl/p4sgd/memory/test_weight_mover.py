import random

import cocotb
import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, connect

from hdl.common.component import Component
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.memory.weight_mover import WeightMover
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS
from sim.harness.verilator import simulate
from sim.p4sgd.surroundings.worker_system import weight_memory_params
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, ram_file
from tests.hdl.p4sgd.bench import Run, generator

GROUP = 8  #: weights of a beat
SIZES = [
    WorkerParams(engines=1, engine=EngineParams(lanes=32, chunks=6, max_tile=4)),
    WorkerParams(
        engines=1, engine=EngineParams(lanes=128, chunks=3, max_tile=1), prefetch_beats=64
    ),
]


class MoverOnMemory(Component):
    """A mover with its memory; all its other ports are the component's."""

    def __init__(self, params):
        self.mover = WeightMover(params)
        members = dict(self.mover.signature.members)
        del members["axi"]
        self.kept = tuple(members)
        super().__init__(params, members | {"memory": In(weight_memory_params(params).settings)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.mover = mover = self.mover
        m.submodules.memory = memory = AxiRam(weight_memory_params(self.params))
        connect(m, mover.axi, memory.axi)
        m.d.comb += memory.settings.eq(self.memory)
        for name in self.kept:
            own, part = getattr(self, name), getattr(mover, name)
            member = self.signature.members[name]
            if not member.is_signature:
                m.d.comb += part.eq(own) if member.flow == In else own.eq(part)
            elif member.flow == In:
                m.d.comb += [
                    part.payload.eq(own.payload),
                    part.valid.eq(own.valid),
                    own.ready.eq(part.ready),
                ]
            else:
                m.d.comb += [
                    own.payload.eq(part.payload),
                    own.valid.eq(part.valid),
                    part.ready.eq(own.ready),
                ]
        return m


@pytest.mark.parametrize("worker", SIZES, ids=lambda worker: worker.suffix)
def test_weight_mover(worker, tmp_path, rng):
    path = tmp_path / "memory.bin"
    path.write_bytes(rng.bytes(1 << worker.weight_address_bits))
    files = [ram_file(0, path)]
    simulate(MoverOnMemory(worker), __name__, extra_sources=[RAM_ARRAY], plusargs=files)


class MoverBench(Bench):
    """Has a mover, and a memory that is as slow as it says."""

    def __init__(self, dut, stalls, **memory):
        memory = {"read_latency": 20, "write_latency": 9, "seed": random.getrandbits(31)} | memory
        super().__init__(dut, stalls, memory=memory)
        self.rng, self.engine = generator(), self.params.engine

    def draw(self, chunks):
        return self.rng.integers(-(1 << 31), 1 << 31, (chunks, self.engine.lanes))

    async def store(self, model):
        """Write a model through the host's port."""
        for chunk, row in enumerate(model):
            for group, eight in enumerate(row.reshape(-1, GROUP)):
                self.load.append({"chunk": chunk, "group": group, "weights": eight.tolist()})
        while self.load.missing:
            await self.wait()

    async def model(self, chunks):
        """Read the model through the host's port."""
        groups = self.engine.lanes // GROUP
        self.peek.extend([{"chunk": c, "group": g} for c in range(chunks) for g in range(groups)])
        await self.peeked.wait_for(chunks * groups)
        return np.array(list(self.peeked.beats)[-chunks * groups :]).reshape(chunks, -1)

    async def train(self, run, model):
        """Carry out a run in which updates are random weights; return the last ones."""
        self.forget()
        await self.strobe(start=1)
        updated = architectural = model
        for number, first in enumerate(tiles_of(run)):
            if run.marks[first]["first"]:
                architectural = updated
            for name, expected in (("architectural", architectural), ("updated", updated)):
                stream, size = getattr(self, name), expected.size // GROUP
                await stream.wait_for((number + 1) * size)
                beats = list(stream.beats)[number * size : (number + 1) * size]
                assert [weights_of(beat) for beat in beats] == beats_of(expected), name
            updated = self.draw(len(model))
            self.results.extend([chunk.tolist() for chunk in updated])
        await self.until("finished", 1)
        return updated


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS, stall=[0, 60], tile=[1, 2, 4])
async def moves_each_tile(dut, stalls, stall, tile):
    """Every tile gets what the one before it left, and the host what the last one did."""
    rates = dict.fromkeys(("ar_stall", "r_stall", "aw_stall", "w_stall", "b_stall"), stall)
    bench = MoverBench(dut, stalls, **rates)
    engine, rng = bench.engine, bench.rng
    tile, chunks = min(tile, engine.max_tile), int(rng.integers(1, engine.chunks, endpoint=True))
    batch = engine.banks * tile * int(rng.integers(1, 4))
    samples = int(rng.integers(1, 4 * batch))
    run = Run(engine, rng, samples, chunks, 2, False, batch, epochs=2, tile=tile)
    await bench.begin()
    model = bench.draw(chunks)
    await bench.store(model)
    bench.set(settings=run.settings)
    await bench.wait(4)
    for _ in range(2):
        model = await bench.train(run, model)
        assert not dut.busy.value
        assert (await bench.model(chunks) == model).all()
    assert not dut.failed.value


def weights_of(beat):
    """Return the signed weights of a beat."""
    return [((beat >> 32 * k) + (1 << 31)) % (1 << 32) - (1 << 31) for k in range(GROUP)]


def beats_of(weights):
    return weights.reshape(-1, GROUP).tolist()


def tiles_of(run):
    """Return the first micro-batch of each tile."""
    starts = range(0, run.micro_batches, run.tile)
    return [epoch * run.micro_batches + start for epoch in range(run.epochs) for start in starts]
