"""Runs a job of two workers and their switch on the RTL, or one alone, by host software alone.

The simulated memories are filled from files before the simulation begins, with data that the
project lays out itself. The software must write the same data, byte for byte.
"""

import os
from pathlib import Path
from types import SimpleNamespace

import cocotb
import numpy as np
import pytest
from cocotb.task import bridge
from cocotbext.axi import AxiBus, AxiMaster

from gen.base.registers.python_driver import driver_of
from gen.designs.catalogue import find_design
from gen.guides.p4sgd_worker import values
from gen.software import p4sgd_switch, p4sgd_worker
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import Simulation, params_in_simulator, run
from sim.host.device import wait_until
from sim.host.quiet import quiet
from sim.host.simulated import SimulatedRegisters, read_bus, write_bus
from sim.host.switch.build import Build as SwitchBuild
from sim.host.switch.switch import Switch
from sim.p4sgd.host.build import Build
from sim.p4sgd.host.job import Job
from sim.p4sgd.host.worker import TRANSPORT, Worker, WorkerStopped
from sim.p4sgd.surroundings.cluster import ClusterSystem
from sim.p4sgd.surroundings.worker_system import memory_count, memory_params
from sim.p4sgd.train import build_cluster, cluster_params
from sim.p4sgd.training_job import NetworkSettings
from sim.surroundings.axi_ram import ram_file
from sim.workloads.layout import Geometry, hbm_images
from sim.workloads.quantise import to_fixed

WORKER = find_design("p4sgd-worker").params_of("tiny")
WORKERS, BITS = 2, 3
HOW = {"loss": "logistic", "batch": 16, "rate": 0.5}
KNOWN = values(WORKER)["known"]  #: codes, labels and memory of the guide, and weights
PATIENCE = 3600  #: seconds: large, since the simulation has its own limit of simulated time
FOLDER, SEED = "INGATHER_TEST_JOB", "INGATHER_TEST_SEED"


def drawn(seed):
    """Draw codes and labels that do not fill the last mini-batch or the second worker."""
    rng = np.random.default_rng(seed)
    features = 3 * WORKER.engines * WORKER.engine.lanes - 5
    codes = rng.integers(0, 1 << BITS, (43, features))
    return codes, rng.integers(0, 2, len(codes))


def simulate(case, images, tmp_path, seed):
    """Run a case beside memories with these bytes, those of one worker behind those before."""
    arguments = []
    for number, image in enumerate(images):
        path = tmp_path / f"memory_{number}.bin"
        path.write_bytes(image)
        arguments.append(ram_file(number, path))
    simulation = Simulation(
        test_module=__name__,
        params=cluster_params(WORKER, WORKERS),
        component=ClusterSystem,
        plusargs=arguments,
        env={FOLDER: str(tmp_path), SEED: str(seed)},
        test_filter=case,
    )
    run(build_cluster(WORKER, WORKERS), simulation, folder=tmp_path / "run")


def test_two_workers_train_as_the_golden_model_does(tmp_path, seed):
    codes, labels = drawn(seed)
    engine = WORKER.engine
    geometry = Geometry(
        workers=WORKERS, engines=WORKER.engines, banks=engine.banks, lanes=engine.lanes
    )
    fixed = to_fixed(np.asarray(labels, float), engine.fraction_bits)
    images = []
    for worker in range(WORKERS):
        built = hbm_images(codes, fixed, BITS, geometry, worker)
        images += [*(port for ports in built.words for port in ports), built.labels]
    simulate("a_job_is_loaded_run_and_read_back", images, tmp_path, seed)


def test_the_known_answer_of_the_guide_is_right(tmp_path, seed):
    words = b"".join(int(word, 16).to_bytes(32, "little") for word in KNOWN["words"])
    item = 1 << WORKER.engine.fraction_bits
    labels = b"".join((label * item).to_bytes(4, "little") for label in KNOWN["labels"])
    images = [words, labels.ljust(64, b"\0")] * WORKERS
    simulate("a_worker_alone_finds_the_known_answer", images, tmp_path, seed)


class Card(SimulatedRegisters):
    """Stands in for a worker's card; its memories were filled before the simulation began."""

    def __init__(self, dut, number, build):
        super().__init__(dut, f"s_axil_{number}")
        bus = f"s_axi_model_{number}"
        quiet(dut, bus)
        self.axi = AxiMaster(AxiBus.from_prefix(dut, bus), dut.clk, dut.rst)
        first = number * memory_count(WORKER)
        folder = Path(os.environ[FOLDER])
        self.build, self.seen = build, set()
        self.held = {
            place: (folder / f"memory_{first + k}.bin").read_bytes()
            for k, place in enumerate((*build.words, build.labels))
        }

    def read_memory(self, address, size):
        return read_bus(self.axi, address - self.build.model, size)

    def write_memory(self, address, data):
        if address >= self.build.model:
            write_bus(self.axi, address - self.build.model, data)
            return
        assert data == self.held[address], hex(address)
        self.seen.add(address)


def attached(built, kind, build, card):
    return kind(card, driver_of(built.map, card), build)


async def begin(dut):
    """Return the cards, out of reset, and what made them."""
    params = params_in_simulator()
    dut.memory.value = pack(memory_params(WORKER).settings, {"read_latency": 20})
    links = NetworkSettings(latency=40, seed=1, drop=0.05, reorder=0.05)
    dut.link.value = pack(params.network.link.settings, links.fields)
    dut.cut.value, dut.fail_index.value = 0, 0
    built = p4sgd_worker.software(WORKER)
    cards = [Card(dut, number, Build(**built.build)) for number in range(WORKERS)]
    switch_card = SimulatedRegisters(dut, "s_axil_switch")
    await start(dut)
    return params, built, cards, switch_card


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_worker_alone_finds_the_known_answer(dut):
    _, built, (card, _), _ = await begin(dut)
    how = {"loss": "logistic", "batch": 8, "rate": 1.0}  # the step is 65536 / 2^19

    def program():
        worker = attached(built, Worker, card.build, card)
        worker.seconds = PATIENCE
        for _ in range(2):  # the second time after a failure
            worker.load(KNOWN["codes"], KNOWN["labels"], bits=2, signed=True)
            worker.run(**how)
            assert tuple(worker.weights()) == KNOWN["weights"]
            assert np.count_nonzero(worker.model()) == 2
            worker.begin(worker.samples.settings(**how) | TRANSPORT | {"word_beats": 1})
            with pytest.raises(WorkerStopped, match="SHORT_PLAN"):
                wait_until(card, worker.ended, "the run", PATIENCE)
        assert card.seen == {*card.build.words, card.build.labels}

    await bridge(program)()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_job_is_loaded_run_and_read_back(dut):
    params, built, cards, switch_card = await begin(dut)
    build = cards[0].build
    switch_built = p4sgd_switch.software(params.network.switch)

    def program():
        workers = [attached(built, Worker, build, card) for card in cards]
        switch = attached(switch_built, Switch, SwitchBuild(**switch_built.build), switch_card)
        for item in (*workers, switch):
            item.seconds = PATIENCE
        job = Job(workers, switch, timeout=600)
        codes, labels = drawn(int(os.environ[SEED]))
        job.load(codes, labels, bits=BITS)
        assert all(card.seen == {*build.words, build.labels} for card in cards)
        once = job.golden(np.zeros(codes.shape[1]), **HOW)
        job.run(**HOW)
        assert (job.weights() == once).all()
        assert once.any()
        job.run(**HOW)  # continues the same job
        assert (job.weights() == job.golden(once, **HOW)).all()
        job.load(codes, labels, bits=BITS, weights=once)  # begins another run of the job
        job.run(**HOW)
        assert (job.weights() == job.golden(once, **HOW)).all()
        assert job.epoch == 2

    await bridge(program)()


@pytest.fixture
def fakes():
    """Return stand-ins for two workers' cards and a switch, and the list of the switch's calls."""
    from tests.gen.software.worker_card import Card as FakeWorker

    cards = [FakeWorker(WORKER) for _ in range(WORKERS)]
    reported = []
    switch = SimpleNamespace(
        build=SimpleNamespace(fixed={"shadow_built": 0}),
        set_addresses=lambda switch, group: reported.append((switch, group)),
        start_job=lambda job, **how: reported.append((job, how)),
    )
    for card in cards:
        card.commands["start_job"] = lambda card=card: card.say(job_open=1)
    return cards, switch, reported


def test_what_a_job_reports_switch_and_workers(fakes):
    cards, switch, reported = fakes
    job = Job([card.attach() for card in cards], switch, number=1, base=4, epoch=(1 << 16) - 2)
    codes, labels = drawn(1)
    slots = cards[0].build.fixed["slots"]
    for epoch in ((1 << 16) - 1, 0):
        reported.clear()
        job.load(codes, labels, bits=BITS)
        (own, group), (number, how) = reported
        assert (number, how) == (1, {"ports": [0, 1], "epoch": epoch, "base": 4, "slots": slots})
        for index, card in enumerate(cards):
            fields = {"worker": index, "workers": 3, "job": 1, "epoch": epoch}
            fields |= {"slot_base": 4, "slot_count": slots, "timeout": 25_000}
            assert {name: card.heard(name) for name in fields} == fields
            addresses = {"switch_address": own, "group_address": group}
            addresses |= {"address": bytes([2, 0, 0, 0, 0, index])}
            for name, octets in addresses.items():
                assert card.heard_wide(name).to_bytes(6, "little") == octets
    weights = np.arange(codes.shape[1])
    job.set_weights(weights)
    assert (job.weights() == weights).all()
    job.run(**HOW)
    assert [card.heard("join") for card in cards] == [0, 0]
    cards[1].end = {"failed": 1, "cause": 9}
    cards[0].end = {"busy": 1}
    with pytest.raises(WorkerStopped, match="worker 1 stopped: MEMORY_SILENT"):
        job.run(**HOW)


def test_jobs_that_cannot_be(fakes):
    cards, switch, reported = fakes
    workers = [card.attach() for card in cards]
    with pytest.raises(ValueError, match="at least one worker"):
        Job([], switch)
    with pytest.raises(ValueError, match="slots must be from 1 to"):
        Job(workers, switch, slots=0)
    other = SimpleNamespace(build=SimpleNamespace(fixed={"shadow_built": 1}))
    with pytest.raises(ValueError, match="the workers acknowledge sums, but the switch is for"):
        Job(workers, other)
    job = Job(workers, switch)
    for codes, labels, weights, text in (
        (np.zeros((3, 1025), int), np.zeros(3), None, "at most 1024 features at precision"),
        (np.zeros((3, 3), int), np.zeros(3), [1], "weights must be 3 integers"),
    ):
        with pytest.raises(ValueError, match=text):
            job.load(codes, labels, bits=BITS, weights=weights)
    assert not reported
    assert not any(card.memory.pages for card in cards)
