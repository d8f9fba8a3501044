"""Two workers and a switch, cards whole: training on what the hosts wrote into HBM."""

import cocotb
import numpy as np
from cocotb.triggers import Timer

from hdl.p4sgd.engine import Engine
from hdl.p4sgd.params import EngineParams
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.worker import Worker
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.hbm_ip import CHANNEL_BITS
from sim.surroundings.card.cards import CardsParams, build_cards
from sim.surroundings.card.host import CardCluster, CardSwitch, CardWorker, switch_on
from sim.surroundings.cluster import ClusterParams
from sim.surroundings.network import NetworkParams
from sim.training import Options, TrainingRun
from sim.training_job import NetworkSettings
from sim.verilator import run
from sim.workloads.datasets import DataSet

# Two engines with two ports each: neither may be taken for another.
WORKER = WorkerParams(engines=2, engine=EngineParams(lanes=64, chunks=2, fifo_words=32), slots=16)
SWITCH = SwitchParams(ports=2, slots=256, jobs=2, ingress_depth=64)
CARDS = CardsParams(
    cards=(("worker", WORKER), ("worker", WORKER), ("switch", SWITCH)),
    fibres=(((0, 0), (2, 0)), ((1, 0), (2, 1))),
)
PORTS = (0, 1, 4, 5, 2)  #: of HBM: the words of engine 0 and of engine 1, the labels
HOST_PORT = 3


def test_workers_and_switch():
    blocks = [Engine(WORKER.engine), Worker(WORKER), Switch(SWITCH)]
    run(build_cards(CARDS, blocks), __name__, params=CARDS)


def training_run(workers, features):
    rng = np.random.default_rng(features)
    values = rng.random((20, features))
    data = DataSet("random", values, (values[:, 0] > 0.5).astype(float), "")
    return TrainingRun(data, WORKER, Options(bits=2, batch=8, epochs=1), workers=workers)


async def begin(dut):
    """The three cards' drivers; every link is up."""
    first, second, switch_card = await switch_on(dut)
    workers = [CardWorker(card, WORKER) for card in (first, second)]
    switch = CardSwitch(switch_card, SWITCH)
    for driver, links in ((workers[0], 1), (workers[1], 1), (switch, 0b11)):
        assert await driver.board.read("links") == links
    return workers, switch


async def load(worker, images, model, settings):
    """What a host does before a run: 256 MB of HBM for each port, the model, the registers."""
    for port, image in zip(PORTS, images, strict=True):
        await worker.write_memory(port << CHANNEL_BITS, image)
    await worker.load(model)
    await worker.write(**settings)


def hbm(dut, card):
    return getattr(dut, f"card_{card}").memory.ip


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_card_trains_alone(dut):
    workers, _ = await begin(dut)
    worker = workers[0]
    assert await worker.board.read("memory_ready")
    assert [await worker.board.read(f"degrees_{k}") for k in (0, 1)] == [40, 41]
    training = training_run(1, 200)
    weights = np.zeros(training.features, dtype=np.int64)
    (model,) = training.models(weights)
    await load(worker, training.images, model, training.settings(1))
    for port, image in zip(PORTS, training.images, strict=True):
        assert await worker.read_memory(port << CHANNEL_BITS, len(image)) == image
    await worker.run()
    found = training.weights([await worker.read_model(training.chunks)])
    assert (found == training.golden(weights)[0]).all()
    assert found.any()
    # Bytes of a part of a beat are all that a write changes.
    await worker.write_memory(35, b"abc")
    expected = training.images[0][:35] + b"abc" + training.images[0][38:64]
    assert await worker.read_memory(0, 64) == expected
    # Only the host's port reaches beyond its own 256 MB, and nobody reads what nobody wrote.
    assert int(hbm(dut, 0).lateral.value) == 1 << HOST_PORT
    assert int(hbm(dut, 0).unwritten.value) == 0


@cocotb.test(timeout_time=200, timeout_unit="us")
async def two_cards_train_together(dut):
    workers, switch = await begin(dut)
    training = training_run(2, 300)
    weights = np.zeros(training.features, dtype=np.int64)
    count = len(PORTS)
    for k, (worker, model) in enumerate(zip(workers, training.models(weights), strict=True)):
        images = training.images[k * count : (k + 1) * count]
        await load(worker, images, model, training.settings(1, k))
    cluster = CardCluster(
        workers, switch, ClusterParams(worker=WORKER, network=NetworkParams(workers=2, slots=256))
    )
    await cluster.start_job(NetworkSettings(latency=300), training.under_way)
    await cluster.run()
    found = training.weights([await worker.read_model(training.chunks) for worker in workers])
    assert (found == training.golden(weights)[0]).all()
    for driver, cages in ((workers[0], 1), (workers[1], 1), (switch, 2)):
        for cage in range(cages):
            for event in ("dropped", "broken", "foreign"):
                assert await driver.board.read(f"{event}_{cage}") == 0


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_damaged_packet_is_counted_and_sent_again(dut):
    """At the cage where it came in, and nowhere else."""
    workers, switch = await begin(dut)
    dut.card_2.mac_1.cmac.core.corrupt.value = 1
    training = training_run(2, 300)
    weights = np.zeros(training.features, dtype=np.int64)
    count = len(PORTS)
    for k, (worker, model) in enumerate(zip(workers, training.models(weights), strict=True)):
        images = training.images[k * count : (k + 1) * count]
        await load(worker, images, model, training.settings(1, k))
    cluster = CardCluster(
        workers, switch, ClusterParams(worker=WORKER, network=NetworkParams(workers=2, slots=256))
    )
    await cluster.start_job(NetworkSettings(latency=300), training.under_way)
    await cluster.run()
    found = training.weights([await worker.read_model(training.chunks) for worker in workers])
    assert (found == training.golden(weights)[0]).all()
    assert [await switch.board.read(f"broken_{k}") for k in (0, 1)] == [0, 1]
    assert await workers[1].read("retransmissions") >= 1


@cocotb.test(timeout_time=50, timeout_unit="us")
async def heat_reaches_the_pin(dut):
    """Each stack's alarm reaches the pin that takes the card's power away, of that card alone."""
    await begin(dut)
    assert int(dut.cattrip.value) == 0
    for card in (0, 1):
        for stack in (0, 1):
            alarm = getattr(hbm(dut, card), f"stack_{stack}").hot
            alarm.value = 1
            await Timer(50, "ns")
            assert int(dut.cattrip.value) == 1 << card
            alarm.value = 0
            await Timer(50, "ns")
    assert int(dut.cattrip.value) == 0
