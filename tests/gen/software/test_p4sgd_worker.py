"""Runs a worker's host software on a stand-in for a card: what it writes, and what it refuses."""

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from gen.guides.p4sgd_worker import values
from sim.host.device import DeviceError
from sim.p4sgd.host.worker import WorkerStopped
from tests.gen.software.worker_card import Card

SIZES = {"tiny": {}, "small": {"address_bits": 29}, "u280": {"engines": 3}}
LABELS = "labels"  #: the port of labels
HOW = {"loss": "logistic", "batch": 16, "rate": 0.5}


@pytest.fixture(params=SIZES)
def card(request):
    params = find_design("p4sgd-worker").params_of(request.param, **SIZES[request.param])
    card = Card(params)
    card.reported = values(params)
    return card


@pytest.fixture
def tiny():
    return Card(find_design("p4sgd-worker").params_of("tiny"))


def drawn(card, signed=False, bits=4):
    rng = np.random.default_rng(bits)
    fixed = card.build.fixed
    features = 2 * fixed["engines"] * fixed["lanes"] - 5
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    codes = rng.integers(low, high, (3 * 16 + fixed["banks"] // 2 + 1, features))
    return codes, rng.integers(0, 2, len(codes)), rng.integers(-99, 99, features)


def place_of(card, port):
    """Return where the guide has the memory behind a port, of words unless it is the labels'."""
    reported, memory = card.reported, card.reported["card"]
    if port is LABELS:  # of up to 16 samples
        return memory["labels"] + (memory["labels_end"] and memory["labels_end"] - 64)
    engine, half = divmod(port, reported["P"])
    return memory["engine"] * engine + memory["port"] * half


def test_the_known_answer_of_the_guide_is_written(card):
    reported, known, worker = card.reported, card.reported["known"], card.attach()
    worker.load(known["codes"], known["labels"], bits=2, signed=True)
    words = [int(word, 16).to_bytes(reported["P"] * 32, "little") for word in known["words"]]
    for port in range(reported["N"] * reported["P"]):
        half = slice(32 * port, 32 * port + 32)
        image = b"".join(word[half].ljust(32, b"\0") for word in words)
        assert card.read_memory(place_of(card, port), len(image)) == image
    image = b"".join((label << reported["F"]).to_bytes(4, "little") for label in known["labels"])
    assert card.read_memory(place_of(card, LABELS), 64) == image.ljust(64, b"\0")
    weights = np.zeros(2, int)
    assert (worker.golden(weights, loss="logistic", batch=8, rate=1.0) == known["weights"]).all()
    worker.run(loss="logistic", batch=8, rate=1.0, epochs=3)
    written = {"bits": 2, "signed_features": 1, "chunks": 1, "loss": 1, "l2_shift": 0}
    written |= {"join": 1, "vanilla": 0, "data_parallel": 0, "from_zero": 0}
    written |= {"mantissa": 65536, "exponent": 19, "batch_micro_batches": 1, "tail_samples": 1}
    written |= {"epoch_micro_batches": 2, "epochs": 3, "word_beats": 4, "word_stride": 2}
    written |= {"word_runs": 1, "label_beats": 2, "word_address_low": 0, "label_address_high": 0}
    assert {name: card.heard(name) for name in written} == written
    assert card.starts == 1
    worker.load(known["codes"][:8], known["labels"][:8], bits=2, signed=True)
    worker.run(loss="logistic", batch=8, rate=1.0)
    assert (card.heard("tail_samples"), card.heard("epoch_micro_batches")) == (8, 1)


def test_the_example_of_the_guide_is_right(card):
    """A bit of a code, and the weights of all features, are where the guide says."""
    reported, ex, worker = card.reported, card.reported["ex"], card.attach()
    codes = np.zeros((ex["i"] + 1, ex["D"]), int)
    codes[ex["i"], ex["j"]] = 1 << ex["s"] - 1 - ex["p"]
    weights = np.arange(ex["D"]) - 99
    worker.load(codes, np.zeros(len(codes)), bits=ex["s"], weights=weights)
    port = reported["P"] * ex["n"] + ex["port"]
    assert card.read_memory(place_of(card, port) + ex["byte"], 1) == bytes([1 << ex["bit_of_byte"]])
    base = int(reported["model_base"], 16)
    for feature, weight in enumerate(weights.tolist()):
        chunk, lane = divmod(feature, reported["L"])
        engine, chunk = divmod(chunk, ex["C"])
        at = base + engine * reported["engine_stride"] + chunk * reported["chunk_stride"] + 4 * lane
        assert int.from_bytes(card.read_memory(at, 4), "little", signed=True) == weight
    assert (worker.weights() == weights).all()
    worker.set_weights(weights + 1)
    assert (worker.weights() == weights + 1).all()


def test_another_design_is_refused(tiny):
    tiny.say(engines=7)
    with pytest.raises(DeviceError, match="another design: engines is 7, not 1"):
        tiny.attach()


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ({"failed": 1, "cause": 9}, "stopped: MEMORY_SILENT, a memory port did not move"),
        ({"failed": 1, "cause": 15}, "the worker stopped: 15"),
        ({"busy": 1}, r"the run has not ended within 0\.01 s"),
        ({}, "did not begin the run"),
    ],
)
def test_failures_are_reported_by_cause(tiny, end, text):
    codes, labels, _ = drawn(tiny)
    tiny.end = end
    worker = tiny.attach()
    worker.load(codes, labels, bits=4)
    worker.seconds = 0.01
    with pytest.raises(DeviceError, match=text):
        worker.run(**HOW)


def test_a_cause_has_its_name(tiny):
    codes, labels, _ = drawn(tiny)
    tiny.end = {"failed": 1, "cause": 2}
    worker = tiny.attach()
    worker.load(codes, labels, bits=4)
    with pytest.raises(WorkerStopped) as stopped:
        worker.run(**HOW)
    assert stopped.value.cause == "WORD_READ"


def test_counters(tiny):
    tiny.say(cycles=7)
    worker = tiny.attach()
    assert worker.counters()["cycles"] == 7
    assert worker.counters()["words"] == 0


def ones(samples=20, features=3):
    return np.ones((samples, features), int)


@pytest.mark.parametrize(
    ("codes", "labels", "how", "text"),
    [
        (ones(), np.zeros(20), {"bits": 9}, "bits must be from 1 to 8: 9"),
        (ones() * 16, np.zeros(20), {"bits": 4}, "from 0 to 15, not 16 to 16"),
        (ones() * 8, np.zeros(20), {"bits": 4, "signed": True}, "from -8 to 7, not 8 to 8"),
        (ones() * 0.5, np.zeros(20), {"bits": 4}, "codes must be integers"),
        (ones()[0], np.zeros(3), {"bits": 4}, "codes must be integers"),
        (ones()[:0], np.zeros(0), {"bits": 4}, "at least one of each"),
        (ones(), np.zeros(19), {"bits": 4}, "labels must be 20 finite numbers"),
        (ones(), np.full(20, np.nan), {"bits": 4}, "labels must be 20 finite numbers"),
        (
            ones(features=513),
            np.zeros(20),
            {"bits": 1},
            "513 features need 17 chunks",
        ),
        (ones(), np.zeros(20), {"bits": 4, "weights": [1, 2]}, "weights must be 3 integers"),
        (ones(), np.zeros(20), {"bits": 4, "weights": [0.5] * 3}, "weights must be 3 integers"),
        (ones(), np.zeros(20), {"bits": 4, "weights": [1 << 31] * 3}, "must fit 32 bits"),
    ],
)
def test_bad_data_are_refused_before_anything_is_written(tiny, codes, labels, how, text):
    worker = tiny.attach()
    before = dict(tiny.words)
    with pytest.raises(ValueError, match=text):
        worker.load(codes, labels, **how)
    assert (tiny.words, tiny.memory.pages) == (before, {})


def test_data_that_fill_a_queue_or_a_port_are_refused():
    params = find_design("p4sgd-worker").params_of("tiny", address_bits=16)
    worker = Card(params).attach()
    with pytest.raises(ValueError, match="need 65664 bytes on each memory port, which has 65536"):
        worker.load(ones(samples=8 * 513), np.zeros(8 * 513), bits=4)
    worker.build.fixed["fifo_words"] = 3
    with pytest.raises(ValueError, match="4 bits = 4 words does not fit the word FIFO of 3 words"):
        worker.load(ones(), np.zeros(20), bits=4)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"loss": "square"}, "loss must be one of linear, logistic, hinge: 'square'"),
        ({"loss": "hinge"}, "labels of the hinge loss must be -1 or 1"),
        ({"batch": 12}, "batch must be at least 8 and a multiple of banks"),
        ({"batch": 0}, "batch must be below 524288: 0"),
        ({"rate": 0}, "must be above 0"),
        ({"epochs": 0}, "epochs must be from 1 to 4294967295: 0"),
        ({"l2_shift": 4}, "this build has no L2 term"),
    ],
)
def test_bad_settings_are_refused(tiny, how, text):
    worker = tiny.attach()
    worker.load(ones(), np.zeros(20), bits=4)
    with pytest.raises(ValueError, match=text):
        worker.run(**HOW | how)
    assert not tiny.starts


def test_without_data_nothing_runs(tiny):
    worker = tiny.attach()
    for call in (lambda: worker.run(**HOW), worker.weights, lambda: worker.set_weights([1])):
        with pytest.raises(ValueError, match="no data are loaded"):
            call()
