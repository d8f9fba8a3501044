"""Trains on cards in one simulation."""

import cocotb
import numpy as np

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.hbm_ip import CHANNEL_BITS
from sim.p4sgd.card import CardCluster, CardSwitch, CardWorker
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.surroundings.network import NetworkParams
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import NetworkSettings
from sim.p4sgd.training_workload import TrainingWorkload
from sim.surroundings.card.cards import CardsParams
from sim.surroundings.card.host import switch_on
from sim.workloads.datasets import DataSet

# Two engines with four ports each: neither may be taken for another, and one of the first engine's
# carries labels, too, and another one what the host reads and writes.
WORKER = WorkerParams(
    engines=2,
    engine=EngineParams(banks=16, lanes=64, chunks=2, fifo_words=32, ping_pong=True),
    slots=16,
)
SWITCH = SwitchParams(ports=2, slots=256, jobs=2, ingress_depth=64)
CARDS = CardsParams(
    cards=(("worker", WORKER), ("worker", WORKER), ("switch", SWITCH)),
    fibres=(((0, 0), (2, 0)), ((1, 0), (2, 1))),
)
#: channels in which the memories begin of the words of engine 0 and of engine 1, and of labels
CHANNELS = (*range(8), 1)
WORDS, LABELS = 0x05A5_A5A0, 0x0A5A_5A40  #: where they lie in a port's 256 MB


def training_run(workers, features):
    rng = np.random.default_rng(features)
    values = rng.random((20, features))
    data = DataSet("random", values, (values[:, 0] > 0.5).astype(float), "")
    return TrainingRun(
        data, WORKER, TrainingWorkload(eta=1.0, bits=2, batch=16, epochs=1, workers=workers)
    )


async def begin(dut):
    """Return the three cards' drivers when every link is up."""
    switch = CardSwitch(dut.card_2, SWITCH)
    cards = await switch_on(dut, switch)
    workers = [CardWorker(card, WORKER) for card in cards[:2]]
    for driver, links in ((workers[0], 1), (workers[1], 1), (switch, 0b11)):
        assert await driver.board.read("links") == links
    return workers, switch


def places(images):
    """Return address in HBM and content of each port's words or labels."""
    offsets = (*(WORDS for _ in CHANNELS[:-1]), LABELS)
    addresses = [(k << CHANNEL_BITS) + at for k, at in zip(CHANNELS, offsets, strict=True)]
    return list(zip(addresses, images, strict=True))


async def load(worker, images, model, settings):
    """Do what a host does before a run: write HBM, the model and the registers."""
    for address, image in places(images):
        await worker.write_memory(address, image)
    await worker.load(model)
    await worker.write(**settings | {"word_address_low": WORDS, "label_address_low": LABELS})


def transceiver(dut, card, cage):
    return getattr(getattr(dut, f"card_{card}"), f"mac_{cage}").cmac.core


async def train_together(workers, switch, meanwhile=None):
    """Train for an epoch over the network; its weights are the golden model's.

    ``meanwhile`` runs beside the training, until it ends.
    """
    training = training_run(len(workers), 100 + 100 * len(workers))
    weights = np.zeros(training.features, dtype=np.int64)
    count = len(CHANNELS)
    for k, (worker, model) in enumerate(zip(workers, training.models(weights), strict=True)):
        images = training.images[k * count : (k + 1) * count]
        await load(worker, images, model, training.settings(1, k))
    cluster = CardCluster(
        workers,
        switch,
        ClusterParams(worker=WORKER, network=NetworkParams(workers=len(workers), sums=256)),
    )
    await cluster.start_job(NetworkSettings(latency=300), training.under_way)
    beside = cocotb.start_soon(meanwhile()) if meanwhile else None
    await cluster.train()
    if beside:
        beside.cancel()
    result = training.weights([await worker.model(training.chunks) for worker in workers])
    assert (result == training.golden(weights)[0]).all()
