"""Puts readers of a worker on simulated memories, one for each of their ports."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cocotb
import numpy as np
from amaranth.lib.wiring import In, connect, flipped

from hdl.common.axi import Response
from hdl.common.component import Component
from hdl.p4sgd.engine.params import PORT_BITS
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.bench import Bench
from sim.harness.streams import never
from sim.harness.verilator import simulate
from sim.p4sgd.surroundings.worker_system import memory_params
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, ram_file

BEAT_BYTES = PORT_BITS // 8


@dataclass(frozen=True, kw_only=True)
class ReaderOnMemoriesParams:
    reader: type[Component]
    worker: WorkerParams

    @property
    def suffix(self):
        return f"{self.reader.__name__.lower()}_{self.worker.suffix}"

    @property
    def memory(self):
        return memory_params(self.worker)


class ReaderOnMemories(Component):
    """A reader with its AXI ports connected; all its other ports are the component's."""

    def __init__(self, params):
        self.reader = params.reader(params.worker)
        members = dict(self.reader.signature.members)
        self.ports = (members.pop("m_axi").dimensions or (1,))[0]
        settings = In(params.memory.settings).array(self.ports)
        super().__init__(params, members | {"settings": settings})

    def build(self, m):
        m.submodules.reader = reader = self.reader
        ports = reader.m_axi if isinstance(reader.m_axi, Sequence) else [reader.m_axi]
        for index, port in enumerate(ports):
            memory = AxiRam(self.params.memory)
            m.submodules[f"memory_{index}"] = memory
            connect(m, port, memory.axi)
            m.d.comb += [memory.index.eq(index), memory.settings.eq(self.settings[index])]
        for name, member in self.signature.members.items():
            if name == "settings":
                continue
            outer, inner = getattr(self, name), getattr(reader, name)
            pairs = zip(outer, inner, strict=True) if member.dimensions else [(outer, inner)]
            for own, reference in pairs:
                if member.is_signature:
                    connect(m, flipped(own), reference)
                else:
                    m.d.comb += reference.eq(own) if member.flow == In else own.eq(reference)


def run_on_memories(reader, worker, test_module, folder: Path, rng, beats: int):
    """Simulate ``reader`` with random memories of ``beats`` beats."""
    component = ReaderOnMemories(ReaderOnMemoriesParams(reader=reader, worker=worker))
    plusargs = []
    for index in range(component.ports):
        path = folder / f"memory_{index}.bin"
        path.write_bytes(rng.bytes(beats * BEAT_BYTES))
        plusargs.append(ram_file(index, path))
    simulate(component, test_module, extra_sources=[RAM_ARRAY], plusargs=plusargs)


class ReaderBench(Bench):
    """Has the simulated component, its memories' content and settings, and its streams."""

    output: str  #: stream of what is read

    def __init__(self, dut, stall=never, **settings):
        super().__init__(dut, (never, stall))
        self.memories = [
            np.fromfile(cocotb.plusargs[f"ram_{index}"], dtype=np.uint8).reshape(-1, BEAT_BYTES)
            for index in range(self.component.ports)
        ]
        self.failed = self.record("failed")
        self.state = self.record("", "busy", "halt", "plan_ready")
        for index in range(self.component.ports):
            self.set_memory(index, **settings)

    def set_memory(self, index, **settings):
        """Set memory ``index`` up; with stalls, memories stall apart."""
        usual = {"seed": random.getrandbits(31), "fail_response": Response.SLVERR}
        self.set(**{f"settings_{index}": usual | settings})

    @property
    def result(self):
        return getattr(self, self.output)

    async def read(self, expected, *plans):
        """Give plans; exactly what is ``expected`` comes, and then nothing."""
        self.forget()
        self.plan.extend(plans)
        await self.finish(30, **{self.output: expected})
        self.check()

    def check(self):
        """Check that it was ready for a plan exactly when nothing was left, on any port."""
        for before, now in pairwise(self.state.take().values()):
            quiet = not before["busy"] and not now["busy"]
            assert now["plan_ready"] == (quiet and not now["halt"])

    async def halt(self):
        """Abandon the plan. The reader may be busy for a while."""
        self.result.let_go()
        await self.strobe(halt=1)
        await self.wait()
