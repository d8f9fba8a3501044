"""Trains on two workers that are Vitis kernels, by the host package's paths to XRT and to PYNQ.

Both are stand-ins of ours (``pyxrt.py``, ``pynq.py``); kernels, switch and the host's software are
real.
"""

import cocotb
import numpy as np
import pytest
from cocotb.task import bridge

from gen.base.registers.python_driver import driver_of
from gen.designs.catalogue import find_design
from gen.software import p4sgd_switch, p4sgd_worker
from sim.harness.payloads import pack
from sim.harness.streams import edges, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.host import xrt
from sim.host.device import DeviceError
from sim.host.simulated import SimulatedRegisters
from sim.host.switch.build import Build as SwitchBuild
from sim.host.switch.switch import Switch
from sim.p4sgd.host.build import Build
from sim.p4sgd.host.job import Job
from sim.p4sgd.host.worker import Worker
from sim.p4sgd.train import cluster_params
from sim.p4sgd.training_job import NetworkSettings
from tests.hdl.vitis.cards import Card, put_in
from tests.hdl.vitis.kernel_cluster import KernelCluster, KernelClusterParams

WORKER = find_design("p4sgd-worker").params_of("tiny")
WORKERS, BITS, PATIENCE = 2, 3, 3600
OUTLIVES_RESET = "the host's software runs in a thread, which goes on when its test is cancelled"
BOX_RESET = 200  #: cycles after which OpenNIC's shell has reset its plugin
HOW = {"loss": "logistic", "batch": 16, "rate": 0.5}


@pytest.mark.parametrize(
    "boxed",
    [
        pytest.param(False, id="switch alone", marks=pytest.mark.long),
        pytest.param(True, id="switch in the box of OpenNIC"),
    ],
)
def test_kernels_train_as_the_golden_model_does(boxed):
    cluster = cluster_params(WORKER, WORKERS)
    simulate(KernelCluster(KernelClusterParams(cluster=cluster, boxed=boxed)), __name__)


async def begin(dut, monkeypatch):
    """Return a worker's host software, the switch's registers, and the cards, out of reset."""
    params, built = params_in_simulator().cluster, p4sgd_worker.software(WORKER)
    cards = [
        Card(dut, built.kernel["managers"], SimulatedRegisters(dut, f"{at}s_axil"), at)
        for at in (f"kernel_{k}_" for k in range(WORKERS))
    ]
    switch = SimulatedRegisters(dut, "s_axil_switch")
    links = NetworkSettings(latency=40, seed=1, drop=0.05, reorder=0.05)
    dut.link.value = pack(params.network.link.settings, links.fields)
    await start(dut)
    await edges(dut.clk, BOX_RESET)
    put_in(monkeypatch, xrt, cards, built.kernel["name"])
    return built, switch, cards


def attached(built, kind, build, device):
    return kind(device, driver_of(built.map, device), build)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_job_trains_through_xrt_and_pynq(dut):
    """Buffers lie where these put them, and weights come and go through memory."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        built, switch_card, cards = await begin(dut, monkeypatch)
        switch_built = p4sgd_switch.software(params_in_simulator().cluster.network.switch)
        build, kernel = Build(**built.build | built.places), xrt.Kernel(**built.kernel)

        def program():
            with (
                xrt.opened("w.xclbin", kernel) as first,
                xrt.opened("pynq:w.xclbin@1", kernel) as second,
            ):
                workers = [attached(built, Worker, build, card) for card in (first, second)]
                switch = attached(
                    switch_built, Switch, SwitchBuild(**switch_built.build), switch_card
                )
                for item in (*workers, switch):
                    item.seconds = PATIENCE
                train(Job(workers, switch, timeout=600))
                check_refusals(first)
                check_growth(first)
                check_growth(second)

        await bridge(program)()
        assert True in cards[0].waits  # a run ends with the interrupt
        assert not cards[1].waits  # PYNQ has none
        assert not any(int(getattr(dut, f"kernel_{k}_lost").value) for k in range(WORKERS))


def train(job):
    """Train twice: the second run continues from the weights of the first."""
    rng = np.random.default_rng(1)
    features = 3 * WORKER.engines * WORKER.engine.lanes - 5
    codes = rng.integers(0, 1 << BITS, (43, features))
    job.load(codes, rng.integers(0, 2, len(codes)), bits=BITS)
    once = job.golden(np.zeros(features), **HOW)
    job.run(**HOW)
    assert (job.weights() == once).all()
    assert once.any()
    weights = rng.integers(-1000, 1000, features)
    job.set_weights(weights)
    job.run(**HOW)
    assert (job.weights() == job.golden(weights, **HOW)).all()


def check_refusals(card):
    """Wrong accesses end with what is wrong."""
    place = card.kernel.model << xrt.PLACE_BITS
    with pytest.raises(ValueError, match="whole beats of 32 bytes: 8 bytes from 0"):
        card.write_memory(place, bytes(8))
    with pytest.raises(DeviceError, match=r"load_model failed: \{'failed_bursts': 1\}"):
        card.write_memory(place + (1 << 14), bytes(32))  # there is no such engine
    with pytest.raises(DeviceError, match="m_axi_words_0 reaches 268435456 bytes, not 268435457"):
        card.write_memory(1 << 28, b"x")
    with pytest.raises(DeviceError, match=r"no room for 33554432 bytes in HBM\[0\]"):
        card.write_memory((1 << 25) - 1, b"x")
    assert not card.fields.read("misaligned")
    assert card.fields.read("dropped_packets") == 1  # the first one after the reset


def check_growth(card):
    """A buffer that grows keeps its content."""
    before = card.read_memory(0, 64)
    old = card.buffers[0].address()
    card.write_memory(1 << 20, b"more")
    assert card.buffers[0].address() != old
    assert card.read_memory(0, 64) == before
    assert card.read_memory(1 << 20, 4) == b"more"
