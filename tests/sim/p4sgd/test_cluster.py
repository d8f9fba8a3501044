"""Trains on many workers in RTL: weights are the loss-free golden model's, whatever links do."""

import os
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import Loss, Schedule
from sim.harness.payloads import pack
from sim.harness.streams import cycle
from sim.harness.verilator import Simulation, params_in_simulator, run
from sim.p4sgd.cluster_driver import StuckError
from sim.p4sgd.host.job import EPOCHS
from sim.p4sgd.host.worker import WorkerStopped
from sim.p4sgd.surroundings.cluster import ClusterSystem
from sim.p4sgd.surroundings.worker_system import memory_params
from sim.p4sgd.train import build_cluster, cluster_params, memory_arguments, simulate_training
from sim.p4sgd.train_in_simulator import start_cluster
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import MemorySettings, NetworkSettings
from sim.p4sgd.training_report import Comparison
from sim.p4sgd.training_workload import TrainingWorkload
from tests.hdl.p4sgd.bench import random_data
from tests.long import short_and_long, short_products
from tests.sim.p4sgd.reproduce.figures import DATA_PARALLEL

# That of preset tiny: the command's tests simulate it, too.
HARDWARE = WorkerParams(engines=1, engine=EngineParams(lanes=32, chunks=16, fifo_words=256))
WORKERS = [2, 4, 8]


def train(
    tmp_path,
    rng,
    workers,
    *,
    hardware=HARDWARE,
    samples=100,
    features=500,
    batch=16,
    schedule=Schedule.PIPELINED,
    **network,
):
    """Train for two epochs; every epoch's weights and counts are the golden model's."""
    data = random_data(rng, samples, features, Loss.LOGISTIC)
    options = TrainingWorkload(
        eta=1.0, bits=4, batch=batch, epochs=2, schedule=schedule, workers=workers
    )
    training = TrainingRun(data, hardware, options)
    comparison = Comparison(training)
    epochs = []

    def check(epoch):
        assert comparison.add(epoch).bit_exact, f"epoch {epoch.number}: {epoch.counters}"
        epochs.append(epoch)

    simulator = build_cluster(hardware, workers)
    settings = NetworkSettings(seed=int(rng.integers(1 << 31)), **network)
    simulate_training(training, simulator, tmp_path, check, network=settings)
    assert len(epochs) == options.epochs
    return training, epochs


@pytest.mark.each_size  # without faults and with them
@pytest.mark.parametrize(
    ("rate", "workers"), short_products([0.0, 0.01, 0.1, 0.3], WORKERS, short=[(0.0, 2), (0.1, 2)])
)
def test_weights_are_the_loss_free_golden_ones(tmp_path, rng, workers, rate):
    """Drop, duplicate and reorder at ``rate`` each; a packet is at most 64 cycles late, far below
    the 255 uses of a slot that the rule allows.
    """
    training, epochs = train(
        tmp_path, rng, workers, latency=30, drop=rate, duplicate=rate, reorder=rate
    )
    for epoch in epochs:
        packets, counters = epoch.network, epoch.counters
        assert counters["full_packets"] == workers * training.micro_batches
        if rate == 0:
            assert packets["sent"] == packets["delivered"] == 4 * workers * training.micro_batches
            assert counters["retransmissions"] == counters["repeated_packets"] == 0
        if rate >= 0.1:
            assert counters["retransmissions"] > 0
    # What a link draws for a packet of an epoch is few; for those of all epochs it is the rate.
    total = sum((Counter(epoch.network) for epoch in epochs), Counter())
    for name in ("dropped", "duplicated", "reordered") if rate >= 0.1 else ():
        expected = rate * total["sent"]
        assert 0.3 * expected < total[name] < 2 * expected, (name, total)


@pytest.mark.parametrize("workers", short_and_long(WORKERS, [2]))
def test_few_slots_on_a_corrupting_network(tmp_path, rng, workers):
    """Three slots wrap their 256 uses within two epochs of 400 micro-batches."""
    training, epochs = train(
        tmp_path, rng, workers, samples=3200, features=60, slots=3, latency=5, corrupt=0.02
    )
    assert 2 * training.micro_batches > 3 * 256
    assert sum(epoch.counters["corrupt_packets"] for epoch in epochs) > 0


def test_shadow_copies_on_bad_links(tmp_path, rng):
    """SwitchML's rule is as exact: five slots wrap their 256 uses, and frames are lost and late."""
    training, epochs = train(
        tmp_path,
        rng,
        2,
        hardware=replace(HARDWARE, shadow=True),
        samples=6000,
        features=60,
        slots=5,
        latency=5,
        **dict.fromkeys(("drop", "duplicate", "reorder", "corrupt"), 0.02),
    )
    assert 2 * training.micro_batches > 5 * 256
    counts = sum((Counter(epoch.counters) for epoch in epochs), Counter())
    assert counts["full_packets"] == 2 * 2 * training.micro_batches
    assert min(counts["retransmissions"], counts["repeated_packets"], counts["corrupt_packets"]) > 0
    assert not counts["freed_packets"]


@pytest.mark.parametrize("workers", short_and_long([1, 2, 4], [2]))
def test_vanilla_order(tmp_path, workers):
    """Without overlap, weights are the same, and a mini-batch takes (B/K - 1) C s cycles more."""
    training, cycles = None, {}
    for schedule in (Schedule.PIPELINED, Schedule.VANILLA):
        training, (_, epoch) = train(
            tmp_path / schedule,
            np.random.default_rng(1),
            workers,
            samples=128,
            features=250,
            schedule=schedule,
            latency=20,
        )
        cycles[schedule] = epoch.counters["cycles"]
    batches = -(-training.samples // training.requested.batch)
    micro_batches = training.requested.batch // HARDWARE.engine.banks
    words = max(6, training.chunks * training.requested.bits)
    longer = (cycles[Schedule.VANILLA] - cycles[Schedule.PIPELINED]) / batches
    assert abs(longer - (micro_batches - 1) * words) <= 2


@pytest.mark.parametrize(
    ("workers", "rate"), short_and_long([(1, 0.0), (2, 0.1), (4, 0.0)], [(2, 0.1)])
)
def test_data_parallelism(tmp_path, rng, workers, rate):
    """Models are exchanged, bit for bit as in the golden model of data parallelism."""
    training, epochs = train(
        tmp_path,
        rng,
        workers,
        hardware=DATA_PARALLEL,
        samples=101,
        features=500,
        batch=8 * workers,
        schedule=Schedule.DATA_PARALLEL,
        latency=20,
        drop=rate,
        reorder=rate,
    )
    batches = -(-training.samples // training.requested.batch)
    groups = training.chunks * DATA_PARALLEL.engines * DATA_PARALLEL.engine.lanes // 8
    for epoch in epochs:
        assert epoch.counters["full_packets"] == workers * batches * groups


@pytest.mark.parametrize("schedule", [Schedule.PIPELINED, Schedule.DATA_PARALLEL])
def test_saturated_sums_are_counted_once(tmp_path, rng, schedule):
    """Sums leave the range at the switch, whose packets are lost and sent again."""
    rate, shared = 0.2, schedule is Schedule.DATA_PARALLEL
    data = random_data(rng, 40, 200, Loss.LINEAR, signed=True, extreme=True)
    options = TrainingWorkload(
        loss=Loss.LINEAR,
        workers=2,
        bits=4,
        batch=16,
        eta=1e6 if shared else 1e-3,
        epochs=2,
        schedule=schedule,
    )
    hardware = DATA_PARALLEL if shared else HARDWARE
    training = TrainingRun(data, hardware, options)
    comparison, total = Comparison(training), []
    comparison.golden = rng.choice([-(1 << 31), (1 << 31) - 1], size=training.features)
    initial = comparison.golden

    def check(epoch):
        assert comparison.add(epoch).bit_exact, f"epoch {epoch.number}: {epoch.counters}"
        total.append(epoch.counters["full_saturations"])

    simulate_training(
        training,
        build_cluster(hardware, 2),
        tmp_path,
        check,
        initial=initial,
        network=NetworkSettings(latency=20, drop=rate, duplicate=rate, reorder=rate),
    )
    assert sum(total) > 0


FAILURES = "INGATHER_TEST_FAILURES"


def test_failures(tmp_path, rng):
    data = random_data(rng, 64, 100, Loss.LINEAR)
    training = TrainingRun(
        data, HARDWARE, TrainingWorkload(eta=1.0, bits=4, batch=16, epochs=1, workers=2)
    )
    (tmp_path / "training.pickle").write_bytes(pickle.dumps(training))
    run(
        build_cluster(HARDWARE, 2),
        Simulation(
            test_module=__name__,
            params=cluster_params(HARDWARE, 2),
            component=ClusterSystem,
            plusargs=memory_arguments(training, tmp_path),
            env={FAILURES: str(tmp_path / "training.pickle")},
        ),
    )


async def begin(dut, **network):
    training = pickle.loads(Path(os.environ[FAILURES]).read_bytes())
    dut.memory.value = pack(memory_params(HARDWARE).settings, MemorySettings().fields)
    dut.fail_index.value = 255
    cluster = await start_cluster(dut, params_in_simulator(), NetworkSettings(**network), 2)
    for worker in cluster.workers:
        await worker.write(**training.settings(epochs=1) | {"join": 0})
    return training, cluster


async def train_once(training, cluster):
    weights = np.zeros(training.features, dtype=np.int64)
    for worker, model in zip(cluster.workers, training.models(weights), strict=True):
        await worker.load(model)
    await cluster.train()
    models = [await worker.model(training.chunks) for worker in cluster.workers]
    assert (training.weights(models) == training.golden(weights)[0]).all()


async def failure_of(task):
    """Return the cause with which a worker's run ends, and what the driver says."""
    with pytest.raises(WorkerStopped) as failure:
        await task
    return Cause[failure.value.cause], str(failure.value)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_worker_that_is_gone_stops_the_others(dut):
    """They stop after the set repetitions, with a cause; a new run of the job trains as ever."""
    training, cluster = await begin(dut, latency=10, retries=4, peer_retries=30)
    dut.cut.value = 0b10
    tasks = [cocotb.start_soon(worker.train()) for worker in cluster.workers]
    for task, cause in ((tasks[1], Cause.NETWORK), (tasks[0], Cause.PEERS)):
        result, text = await failure_of(task)
        assert result is cause
        assert text.endswith(": slot 0")
    assert await cluster.workers[0].read("retransmissions") >= 30
    assert await cluster.workers[0].read("pending_packets") >= 30
    assert await cluster.workers[1].read("pending_packets") == 0
    dut.cut.value = 0
    await ClockCycles(dut.clk, 2000)
    for worker in cluster.workers:
        await worker.reset()
    cluster.epoch = EPOCHS - 2
    for epoch in (EPOCHS - 1, 0):  # behind the last one the first comes again
        await cluster.start_job(NetworkSettings(latency=10, retries=4), 2)
        reported = [await cluster.switch.read("job_epoch")]
        reported += [await worker.read("epoch") for worker in cluster.workers]
        assert reported == [epoch] * 3
        await train_once(training, cluster)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_worker_that_starts_late_harms_nobody(dut):
    """It starts fifty times later than a silent switch would be given up."""
    retries = 4
    training, cluster = await begin(dut, latency=10, retries=retries)
    early, late = cluster.workers
    weights = np.zeros(training.features, dtype=np.int64)
    for worker, model in zip(cluster.workers, training.models(weights), strict=True):
        await worker.load(model)
    waiting = cocotb.start_soon(early.train())
    timeout = await early.read("timeout")
    await ClockCycles(dut.clk, 50 * retries * timeout)
    await late.train()
    await waiting
    models = [await worker.model(training.chunks) for worker in cluster.workers]
    assert (training.weights(models) == training.golden(weights)[0]).all()
    counters = await early.counters()
    # A timer runs late by a look at every slot.
    again = 50 * retries * timeout // (timeout + HARDWARE.slots + 64)
    assert counters["pending_packets"] >= again > 10 * retries
    assert await late.read("pending_packets") <= retries


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_switch_that_goes_away_is_noticed_while_peers_are_late(dut):
    """It takes the time for all retries, however long it has answered before."""
    retries = 4
    _, cluster = await begin(dut, latency=10, retries=retries)
    worker = cluster.workers[0]
    timeout = await worker.read("timeout")
    running = cocotb.start_soon(worker.train())
    await ClockCycles(dut.clk, 20 * retries * timeout)
    assert dut.busy_0.value
    began, dut.cut.value = cycle(), 0b01
    assert (await failure_of(running))[0] is Cause.NETWORK
    assert cycle() - began <= (retries + 1) * (timeout + HARDWARE.slots + 64)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def workers_of_an_earlier_run_are_not_heard(dut):
    """A worker is not restarted: its packets are counted, and the others' new run waits."""
    _, cluster = await begin(dut, latency=10, retries=4)
    far = cluster.epoch ^ EPOCHS // 2  # another in its highest bit alone
    await cluster.switch.start_job(0, ports=[0, 1], epoch=far, base=0, slots=16)
    with pytest.raises(WorkerStopped) as failure:
        await cluster.train()
    assert Cause[failure.value.cause] is Cause.NETWORK
    verdicts = await cluster.switch.verdicts()
    assert verdicts[0]["WRONG_RUN"] >= 5
    assert verdicts[0]["ADDED"] == 0


@cocotb.test(timeout_time=9, timeout_unit="ms")
async def the_watchdog_names_the_slot(dut):
    """These workers never give up, and a link is down for ever."""
    _, cluster = await begin(dut, latency=10, retries=0)
    dut.cut.value = 0b01
    with pytest.raises(StuckError, match="worker 1 waits in slot 0 after 0 micro-batches"):
        await cluster.train()
