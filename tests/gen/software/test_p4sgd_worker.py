"""Runs a worker's host software on a stand-in for a card: what it writes, and what it refuses."""

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from gen.guides.p4sgd_worker import values
from gen.software.emitted.device import DeviceError
from gen.software.emitted.p4sgd.build import Build
from gen.software.emitted.p4sgd.worker import WorkerStopped
from gen.software.p4sgd_worker import software
from tests.gen.guides import worker_from_the_guide as independent
from tests.gen.software.fake_card import FakeCard

SIZES = {"tiny": {}, "small": {}, "u280": {"engines": 3}}
HOW = {"loss": "logistic", "batch": 16, "rate": 0.5}


class Card(FakeCard):
    """A card with a worker that says what it is told to say at the end of each run."""

    def __init__(self, params):
        super().__init__(software(params), start=self.end_a_run)
        self.build = Build(**self.software.build)
        self.end = {"done": 1}

    def end_a_run(self):
        self.say(**self.end)

    @property
    def starts(self):
        return self.log.count("start")


@pytest.fixture(params=SIZES)
def card(request):
    params = find_design("p4sgd-worker").params_of(request.param, **SIZES[request.param])
    card = Card(params)
    card.told = values(params)
    return card


@pytest.fixture
def tiny():
    return Card(find_design("p4sgd-worker").params_of("tiny"))


def build_of_the_guide(told):
    names = ("N", "K", "L", "F", "S", "P", "W", "engine_stride", "chunk_stride")
    return independent.Build(**{name: told[name] for name in names})


def drawn(card, signed=False, bits=4):
    rng = np.random.default_rng(bits)
    fixed = card.build.fixed
    features = 2 * fixed["engines"] * fixed["lanes"] - 5
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    codes = rng.integers(low, high, (3 * 16 + fixed["banks"] // 2 + 1, features))
    return codes, rng.integers(0, 2, len(codes)), rng.integers(-99, 99, features)


@pytest.mark.parametrize(("bits", "signed"), [(4, False), (3, True)])
def test_memory_and_registers_are_those_of_the_guide(card, bits, signed):
    codes, labels, weights = drawn(card, signed, bits)
    guide = build_of_the_guide(card.told)
    worker = card.attach()
    worker.load(codes, labels, bits=bits, signed=signed, weights=weights)
    channel = card.told["channel_bytes"]
    for port, image in enumerate(independent.word_images(codes, bits, guide)):
        engine, half = divmod(port, guide.P)
        place = channel * (card.told["channels"] * engine + half)
        assert card.read_memory(place, len(image)) == image
    image = independent.label_image(labels << guide.F, guide)
    assert card.read_memory(channel * card.told["label_channel"], len(image)) == image
    chunks = independent.chunks_of(codes.shape[1], guide)
    base = int(card.told["model_base"], 16)
    for address, image in independent.model_image(weights, guide, chunks).items():
        assert card.read_memory(base + address, len(image)) == image
    assert (worker.weights() == weights).all()
    worker.set_weights(weights + 1)
    assert (worker.weights() == weights + 1).all()
    worker.run(**HOW, epochs=3)
    step = (1 << 16, 21)  # 0.5 / 16
    expected = independent.settings(*codes.shape, bits, signed, 1, 16, *step, guide, epochs=3)
    assert {name: card.heard(name) for name in expected} == expected
    assert card.starts == 1


def test_the_golden_model_is_that_of_the_guide(card):
    codes, labels, weights = drawn(card)
    guide = build_of_the_guide(card.told)
    worker = card.attach()
    worker.load(codes, labels, bits=4)
    fields = independent.settings(*codes.shape, 4, False, 1, 16, 1 << 16, 21, guide)
    chunks = independent.chunks_of(codes.shape[1], guide)
    model = np.zeros((guide.N, chunks, guide.L), np.int64)
    model.ravel()[: len(weights)] = weights
    words, told = independent.word_images(codes, 4, guide), labels << guide.F
    image = independent.label_image(told, guide)
    found = independent.train_epoch(fields, words, image, model, guide)
    assert (worker.golden(weights, **HOW) == found.ravel()[: len(weights)]).all()


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
def test_failures_are_told_by_cause(tiny, end, text):
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
        (ones(features=513), np.zeros(20), {"bits": 1}, "room for 512 features: 513"),
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
    with pytest.raises(ValueError, match="1 chunks x 4 bits = 4 words does not fit the 3 words"):
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
