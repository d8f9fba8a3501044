"""The real switch between real endpoints, over links that lose, double and reorder frames."""

import random
from dataclasses import dataclass, replace
from types import SimpleNamespace

import cocotb
import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.switchgnn.endpoint.params import PRESETS as ENDPOINTS
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS as SWITCHES
from hdl.switchgnn.switch.registers import gnn_switch_registers
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.axi_ram import RAM_ARRAY, ram_file
from sim.surroundings.link import ALWAYS, Link, LinkParams
from sim.switchgnn.switch_driver import GnnSwitchDriver
from tests.hdl.switchgnn.endpoint.bench import (
    EPOCH,
    RAMS,
    SWITCH,
    Cluster,
    ClusterParams,
    LaneCut,
    Worker,
)
from tests.long import short_and_long

GROUP = bytes.fromhex("03000000ff02")  #: address of all endpoints
JOB = 1
BAD = {"drop": 0.3, "duplicate": 0.3, "reorder": 0.3, "corrupt": 0.03}
SETTINGS = {"latency": 20, "displacement": 400}


@dataclass(frozen=True, kw_only=True)
class NetworkParams:
    """A switch with an endpoint at each of its ports."""

    switch: GnnSwitchParams
    endpoints: ClusterParams

    @property
    def link(self):
        return LinkParams(depth=1024, beats=self.switch.frames.beats)


class Network(Component):
    """Endpoints at the ports of a switch, each behind a link in both directions."""

    def __init__(self, params):
        registers = gnn_switch_registers(params.switch)
        outer = Cluster(params.endpoints).signature.members
        self.inherited = [name for name in outer if "_axis_" not in name]
        super().__init__(
            params,
            {
                "switch_axil": In(AxiLiteSignature(address_bits=registers.address_bits)),
                "link_settings": In(params.link.settings),
                **{name: outer[name] for name in self.inherited},
            },
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.switch = switch = GnnSwitch(self.params.switch)
        m.submodules.endpoints = endpoints = Cluster(self.params.endpoints)
        connect(m, flipped(self.switch_axil), switch.s_axil)
        for name in self.inherited:
            here, there = getattr(self, name), getattr(endpoints, name)
            if name.startswith("axil"):
                connect(m, flipped(here), there)
            elif self.signature.members[name].flow is In:
                m.d.comb += there.eq(here)
            else:
                m.d.comb += here.eq(there)
        for k in range(self.params.endpoints.workers):
            ends = (
                (getattr(endpoints, f"m_axis_{k}"), switch.s_axis[k]),
                (
                    switch.m_axis[k],
                    getattr(endpoints, f"s_axis_{k}"),
                ),
            )
            for way, (source, sink) in enumerate(ends):
                m.submodules[f"link_{k}_{way}"] = link = Link(self.params.link)
                connect(m, source, link.i)
                connect(m, link.o, sink)
                m.d.comb += [
                    link.index.eq(2 * k + way),
                    link.settings.eq(self.link_settings),
                ]
        return m


#: "small" with fewer aggregators, as a test reads all of them
SMALL = replace(ENDPOINTS["small"], depth=64, copies=64)
SIZES = {
    "tiny": NetworkParams(
        switch=GnnSwitchParams(**SWITCHES["tiny"]),
        endpoints=ClusterParams(endpoint=ENDPOINTS["tiny"], workers=3),
    ),
    "small": NetworkParams(
        switch=GnnSwitchParams(**SWITCHES["small"]),
        endpoints=ClusterParams(endpoint=SMALL, workers=4),
    ),
}


@pytest.mark.parametrize("size", short_and_long(list(SIZES), ["small"]))
def test_network(size, tmp_path):
    params = SIZES[size]
    empty = tmp_path / "empty.bin"
    empty.write_bytes(bytes(params.endpoints.ram_bytes))
    count = len(RAMS) * params.endpoints.workers
    simulate(
        Network(params),
        __name__,
        extra_sources=[RAM_ARRAY],
        plusargs=[ram_file(k, empty) for k in range(count)],
    )


class Bench:
    """Hosts of a switch and of its endpoints."""

    def __init__(self, dut, faults):
        self.dut, self.params = dut, params_in_simulator(NetworkParams)
        self.rng = np.random.default_rng(random.getrandbits(64))
        chances = {name: int(chance * ALWAYS) for name, chance in faults.items()}
        settings = SETTINGS | chances | {"seed": random.getrandbits(32)}
        dut.link_settings.value = pack(self.params.link.settings, settings)
        self.workers = []
        for port in range(self.params.endpoints.workers):
            worker = Worker(dut, port, self.params.endpoints)
            worker.address = GROUP
            worker.set("tables", ar_stall=30, r_stall=30)
            worker.set("data", ar_stall=30, r_stall=30, aw_stall=60, w_stall=30, b_stall=60)
            self.workers.append(worker)

    async def begin(self):
        await start(self.dut)
        self.host = GnnSwitchDriver(self.dut, self.params.switch, bus="switch_axil")
        await self.host.set_addresses(SWITCH, GROUP)
        return self

    def cut(self, open_turns, blocks=2):
        endpoint = self.params.endpoints.endpoint
        return LaneCut(
            self.rng,
            endpoint.lanes,
            ports=list(range(len(self.workers))),
            banks=endpoint.banks,
            depth=endpoint.depth,
            open_turns=open_turns,
            blocks=blocks,
            window=endpoint.window,
        )

    async def launch(self, cut, epoch=EPOCH):
        """Start a job at the switch and at all workers."""
        await self.host.start_job(JOB, setup=cut.setup(), epoch=epoch, base=0)
        setups = [cut.worker(worker.port, JOB, epoch).setup for worker in self.workers]
        for worker, setup in zip(self.workers, setups, strict=True):
            await worker.load(setup)
        for worker, setup in zip(self.workers, setups, strict=True):
            await worker.start(setup, epoch=epoch, job=JOB)

    async def finish(self, cut):
        """The job runs to its end; every sum and copy in memory is right."""
        found = {}
        for worker in self.workers:
            assert await worker.ends() == ("FINISHED", "NONE")
            sums, copies = await worker.found()
            found[worker.port] = SimpleNamespace(sums=sums, copies=copies)
        cut.check(found)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize((("open_turns", "faults"), [(1, {}), (2, BAD)]))
async def sums_are_exact(dut, open_turns, faults):
    """Y = A X, whatever the links lose, double, delay and break."""
    bench = await Bench(dut, faults).begin()
    cut = bench.cut(open_turns)
    await bench.launch(cut)
    await bench.finish(cut)
    _, first = await bench.host.errors(JOB)
    assert first is None
