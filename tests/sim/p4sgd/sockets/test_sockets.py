"""Lets processes add up and train through a switch behind sockets, whose links are bad."""

import io
import re
import socket
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

from sim.golden.arithmetic import FRACTION_BITS
from sim.golden.reduction.allreduce import HIGHEST
from sim.golden.reduction.switch_model import SwitchModel
from sim.golden.reduction.wide_switch import WideSwitchModel
from sim.harness.pcapng import CaptureWriter
from sim.p4sgd.golden.sgd import Parts, epoch
from sim.p4sgd.host.job import GROUP, SWITCH
from sim.p4sgd.sockets import endpoint as endpoints
from sim.p4sgd.sockets.endpoint import Endpoint, WideEndpoint
from sim.p4sgd.sockets.switch import SocketSwitch
from tests.sim.harness.captured_frames import read
from tests.sim.p4sgd.sockets.ports import two_free_ports
from tests.sim.p4sgd.sockets.trainer import SLOTS, TRAINING

EPOCHS, FEATURES, SAMPLES = 3, 40, 100
BAD = ("--drop", "0.05", "--duplicate", "0.05")


@pytest.fixture
def kind():
    """Return the model of the switch, which a test may replace."""
    return SwitchModel


@pytest.fixture
def switch(kind):
    """Return a switch of two ports, and serve it in a thread of its own."""
    model = kind(2, SLOTS, 1, SWITCH, GROUP)
    model.start_job(0, ports=3, epoch=1, base=0, count=SLOTS)
    served = SocketSwitch(model=model)
    over = threading.Event()

    def serve():
        while not over.is_set():
            served.serve(0.05)

    thread = threading.Thread(target=serve)

    def stop():
        over.set()
        thread.join()

    thread.start()
    served.stop = stop
    yield served
    stop()
    served.close()


def endpoints_of(switch):
    return [Endpoint(place=place, port=k, slots=SLOTS) for k, place in enumerate(switch.places)]


def together(*calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(("drop", "duplicate"), [(0, 0), (0.3, 0.2)])
def test_sums_of_any_length(rng, switch, drop, duplicate):
    """More numbers than slots hold, a last frame that is not full, and a sum that is clamped."""
    switch.drop, switch.duplicate = drop, duplicate
    switch.record(CaptureWriter(capture := io.BytesIO()))
    both = endpoints_of(switch)
    for count in (1, 8, 9, 8 * SLOTS + 3, 3 * 8 * SLOTS):
        numbers = rng.integers(-1000, 1000, (2, count))
        numbers[:, 0] = HIGHEST
        sums = {}

        def add_up(k, numbers=numbers, sums=sums):
            sums[k] = both[k].all_reduce(numbers[k])

        together(lambda: add_up(0), lambda: add_up(1))
        expected = np.minimum(numbers.sum(axis=0), HIGHEST).tolist()
        assert sums == {0: expected, 1: expected}
    switch.stop()
    assert switch.model.saturations == 5
    assert (switch.lost > 0) == (drop > 0)
    frames = read(capture.getvalue())
    came = [(end, fate) for end, _, _, direction, fate in frames if direction == "inbound"]
    assert sum(fate != [] for *_, fate in frames) == switch.lost
    for port in range(2):
        taken = sum(n for (k, _), n in switch.model.counters.items() if k == port)
        assert came.count((f"port {port}", [])) == taken


def test_other_frames_are_counted_and_do_not_stop_it(switch):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for data in (b"", b"hello", bytes(60), bytes(9000)):
            stranger.sendto(data, switch.places[0])
    both, sums = endpoints_of(switch), {}

    def add_up(k):
        sums[k] = both[k].all_reduce([1, 2])

    together(lambda: add_up(0), lambda: add_up(1))
    assert sums == {0: [2, 4], 1: [2, 4]}
    counts = {verdict.value: n for (port, verdict), n in switch.model.counters.items() if not port}
    assert (counts["malformed"], counts["foreign"]) == (2, 2)


def test_a_worker_alone_gives_up(switch, monkeypatch):
    monkeypatch.setattr(endpoints, "PATIENCE", 0.1)
    with pytest.raises(TimeoutError, match="no sum came from"):
        endpoints_of(switch)[0].all_reduce([1])


@pytest.mark.parametrize("kind", [WideSwitchModel])
def test_workers_train_with_floats(rng, switch):
    """Each has half of the samples of a linear model, and both add up their gradients."""
    switch.drop, switch.duplicate = 0.2, 0.2
    samples = rng.normal(size=(2, 200, 30)).astype(np.float32)
    truth = rng.normal(size=30)
    labels = samples @ truth
    weights = [np.zeros(30, np.float32) for _ in range(2)]

    def train(k):
        endpoint = WideEndpoint(place=switch.places[k], port=k, slots=SLOTS)
        for _ in range(30):
            errors = samples[k] @ weights[k] - labels[k]
            gradient = endpoint.add_up((errors @ samples[k]).astype(np.float32), 2)
            weights[k] -= np.float32(1e-3) * gradient

    together(lambda: train(0), lambda: train(1))
    assert weights[0].tobytes() == weights[1].tobytes()
    reference = np.zeros(30)
    for _ in range(30):
        errors = samples @ reference - labels
        reference -= 1e-3 * np.einsum("ws,wsf->f", errors, samples)
    assert np.abs(weights[0] - reference).max() < 1e-5
    assert np.abs(reference - truth).max() < 0.1
    assert switch.lost > 10


@pytest.mark.parametrize("kind", [partial(WideSwitchModel, most=2048)])
def test_long_frames_have_more_numbers(rng, switch):
    """A worker sends 2,048 numbers at a time, which a switch must have been made for."""
    numbers = rng.integers(-(1 << 20), 1 << 20, (2, 5000), dtype=np.int32)
    results = [[], []]

    def add_up(k):
        endpoint = WideEndpoint(place=switch.places[k], port=k, slots=SLOTS, length=2048)
        results[k] = endpoint.all_reduce(numbers[k], "SUM").tolist()

    together(lambda: add_up(0), lambda: add_up(1))
    assert results == [numbers.sum(axis=0).tolist()] * 2


def begun(*arguments):
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_train_over_it(rng, tmp_path):
    """The switch begins last, so that first frames find nobody; weights are those of one run."""
    first = two_free_ports()
    codes = rng.integers(0, 16, (SAMPLES, FEATURES))
    labels = rng.integers(0, 2, SAMPLES) << FRACTION_BITS
    worker_of = (np.arange(FEATURES) >= FEATURES // 3).astype(np.int64)
    file = tmp_path / "data.npz"
    np.savez(file, codes=codes, labels=labels, worker_of=worker_of)
    trainer = "tests.sim.p4sgd.sockets.trainer", "127.0.0.1"
    workers = [begun(*trainer, first + k, k, file, EPOCHS) for k in range(2)]
    time.sleep(0.1)
    slots = "--slots", SLOTS
    switch = begun("gen.cli", "switch", "--first-port", first, *slots, *BAD, "--seconds", 300)
    try:
        assert [worker.wait(300) for worker in workers] == [0, 0]
    finally:
        switch.terminate()
    said = switch.communicate()[0]
    weights, parts = np.zeros(FEATURES, np.int64), Parts(worker_of, worker_of)
    for _ in range(EPOCHS):
        weights, _ = epoch(codes, labels, weights, TRAINING, parts)
    assert weights.any()
    for worker in range(2):
        own = np.load(f"{file}.{worker}.npy")
        assert own.tolist() == weights[worker_of == worker].tolist()
    frames = EPOCHS * -(-SAMPLES // 8)
    assert re.search(rf"port 0: {frames} added$", said, re.M), said
