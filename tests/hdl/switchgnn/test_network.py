"""Runs the real switch between real endpoints, over links that lose, double and reorder frames."""

import random

import numpy as np
import pytest

from sim.harness.payloads import pack
from sim.harness.streams import crossed, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.surroundings.link import ALWAYS
from sim.switchgnn.network.endpoint_rams import endpoint_program
from sim.switchgnn.network.network import Network, NetworkParams, empty_network
from sim.switchgnn.switch_program import GnnSwitchProgram
from sim.switchgnn.wire import GROUP, SWITCH
from tests.hdl.switchgnn.endpoint.bench import EPOCH, LaneCut, finish, launch
from tests.hdl.switchgnn.network_sizes import SIZES
from tests.long import short_and_long

JOB = 1
BAD = {"drop": 0.3, "duplicate": 0.3, "reorder": 0.3, "corrupt": 0.03}
SETTINGS = {"latency": 20, "displacement": 400}


@pytest.mark.parametrize("size", short_and_long(list(SIZES), ["small"]))
def test_network(size, tmp_path):
    params = SIZES[size]
    simulate(
        Network(params),
        __name__,
        extra_sources=[RAM_ARRAY],
        plusargs=empty_network(params, tmp_path),
    )


class Bench:
    """Plays the hosts of a switch and of its endpoints."""

    def __init__(self, dut, faults):
        self.dut, self.params = dut, params_in_simulator(NetworkParams)
        self.rng = np.random.default_rng(random.getrandbits(64))
        chances = {name: int(chance * ALWAYS) for name, chance in faults.items()}
        settings = SETTINGS | chances | {"seed": random.getrandbits(32)}
        dut.link_settings.value = pack(self.params.link.settings, settings)
        self.workers = []
        for port in range(self.params.endpoints.workers):
            worker = endpoint_program(dut, port, self.params.endpoints, GROUP)
            worker.memory.set("tables", ar_stall=30, r_stall=30)
            worker.memory.set("data", ar_stall=30, r_stall=30, aw_stall=60, w_stall=30, b_stall=60)
            self.workers.append(worker)

    async def begin(self):
        await start(self.dut)
        self.host = GnnSwitchProgram(self.dut, self.params.switch, bus="switch_axil")
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
        await launch(self.workers, cut, JOB, epoch)


@crossed((("open_turns", "faults"), [(1, {}), (2, BAD)]), ms=2)
async def sums_are_exact(dut, open_turns, faults):
    """Y = A X holds whatever the links lose, double, delay and break."""
    bench = await Bench(dut, faults).begin()
    cut = bench.cut(open_turns)
    await bench.launch(cut)
    await finish(bench.workers, cut)
    assert (await bench.host.table_errors(JOB)).cause == "NONE"
