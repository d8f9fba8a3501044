"""Puts readers of a worker on simulated memories, one for each of their ports."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cocotb
import numpy as np
from amaranth.hdl import Module
from amaranth.lib.wiring import In, connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.axi import Response
from hdl.common.component import Component
from hdl.p4sgd.engine.params import PORT_BITS
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.payloads import pack
from sim.harness.streams import Sink, Source, never, start, strobe
from sim.harness.verilator import component_in_simulator, simulate
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

    def elaborate(self, platform):
        m = Module()
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
            for ours, theirs in pairs:
                if member.is_signature:
                    connect(m, flipped(ours), theirs)
                else:
                    m.d.comb += theirs.eq(ours) if member.flow == In else ours.eq(theirs)
        return m


def run_on_memories(reader, worker, test_module, folder: Path, rng, beats: int):
    """Simulate ``reader`` with random memories of ``beats`` beats."""
    component = ReaderOnMemories(ReaderOnMemoriesParams(reader=reader, worker=worker))
    plusargs = []
    for index in range(component.ports):
        path = folder / f"memory_{index}.bin"
        path.write_bytes(rng.bytes(beats * BEAT_BYTES))
        plusargs.append(ram_file(index, path))
    simulate(component, test_module, extra_sources=[RAM_ARRAY], plusargs=plusargs)


class Bench:
    """Has the simulated component, its memories' content and settings, and its streams."""

    def __init__(self, dut, output, *, sink_stall=never, **settings):
        self.dut, self.output, self.sink_stall = dut, output, sink_stall
        self.component = component_in_simulator()
        self.params = self.component.params
        self.memories = [
            np.fromfile(cocotb.plusargs[f"ram_{index}"], dtype=np.uint8).reshape(-1, BEAT_BYTES)
            for index in range(self.component.ports)
        ]
        self.failed = 0
        for index in range(self.component.ports):
            self.set(index, **settings)

    def set(self, index, **settings):
        """Set memory ``index`` up; with stalls, memories stall apart."""
        layout = self.params.memory.settings
        usual = {"seed": random.getrandbits(31), "fail_response": Response.SLVERR}
        getattr(self.dut, f"settings_{index}").value = pack(layout, usual | settings)

    async def begin(self):
        self.dut.halt.value = 0
        self.dut.watch.value = 0
        await start(self.dut)
        self.source = Source(self.dut, "plan")
        self.open_sink()
        cocotb.start_soon(self._watch())
        return self

    def open_sink(self):
        self.sink = Sink(self.dut, self.output, stall=self.sink_stall)

    async def _watch(self):
        while True:
            await RisingEdge(self.dut.clk)
            self.failed += bool(self.dut.failed.value)
            # Ready for a plan exactly when nothing is left of the one before, on any port.
            idle = not self.dut.busy.value and not self.dut.halt.value
            assert bool(self.dut.plan_ready.value) == idle

    async def finish(self, expected):
        """Wait for exactly ``expected``, and then nothing."""
        await self.sink.wait_for(len(expected))
        await ClockCycles(self.dut.clk, 30)
        assert self.sink.beats == expected
        assert not self.dut.busy.value

    async def halt(self):
        """Abandon the plan; a new sink watches. The reader may be busy for a while."""
        self.sink.stop()
        await strobe(self.dut.halt, self.dut.clk)
        await RisingEdge(self.dut.clk)
        self.open_sink()
