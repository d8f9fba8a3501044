"""Checks that the guide is enough: a model made from it does what the golden model says.

``worker_from_the_guide`` imports nothing of the project and was written by somebody who had seen
only the guide's text.
"""

import re

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from gen.guides.p4sgd_worker import CAUSES, WRITTEN, guide, values
from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.host.registers import setting_registers
from sim.golden.arithmetic import Step
from sim.p4sgd.golden.sgd import Loss, Parts, Training, epoch
from sim.p4sgd.golden.sigmoid import sigmoid
from sim.workloads.layout import Geometry, hbm_images, model_to_weights, weights_to_model
from tests.gen.guides import worker_from_the_guide as independent

DESIGN = find_design("p4sgd-worker")
SIZES = {"tiny": {}, "small": {}, "u280": {"engines": 3}}
LOSSES = list(Loss)


@pytest.fixture(params=SIZES)
def params(request):
    return DESIGN.params_of(request.param, **SIZES[request.param])


@pytest.fixture
def build(params):
    told = values(params)
    names = ("N", "K", "L", "F", "S", "P", "W", "engine_stride", "chunk_stride")
    return independent.Build(**{name: told[name] for name in names})


def geometry_of(params, workers=1):
    engine = params.engine
    return Geometry(workers=workers, engines=params.engines, banks=engine.banks, lanes=engine.lanes)


def drawn(params, seed, bits, signed, workers=1):
    """Draw codes, labels and weights of samples, the last of which fill neither batch nor banks."""
    rng = np.random.default_rng(seed)
    geometry = geometry_of(params, workers)
    features = 2 * workers * params.engines * params.engine.lanes - 5
    samples = 3 * 16 + geometry.banks // 2 + 1
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    codes = rng.integers(low, high, (samples, features))
    one = 1 << params.engine.fraction_bits
    labels = rng.integers(0, 2, samples) * one
    weights = rng.integers(-one, one, features)
    return codes, labels, weights, geometry


@pytest.mark.parametrize(("bits", "signed"), [(1, False), (4, True), (8, False)])
def test_memory_is_laid_out_alike(params, build, bits, signed):
    workers = 2
    codes, labels, weights, geometry = drawn(params, bits, bits, signed, workers)
    for worker in range(workers):
        golden = hbm_images(codes, labels, bits, geometry, worker)
        ports = [port for engine in golden.words for port in engine]
        assert independent.word_images(codes, bits, build, workers, worker) == ports
        model = weights_to_model(weights, geometry, worker)
        written = independent.model_image(
            weights, build, geometry.chunks(len(weights)), workers, worker
        )
        stored = dict(enumerate(model.astype("<i4").reshape(params.engines, -1)))
        assert written == {n * build.engine_stride: part.tobytes() for n, part in stored.items()}
    assert independent.label_image(labels, build) == golden.labels


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("bits", "signed", "stored"), [(1, False, 1), (4, True, 8), (8, False, 8)])
def test_an_epoch_is_bit_exact(params, build, loss, bits, signed, stored):
    codes, labels, weights, geometry = drawn(params, bits, stored, signed)
    one = 1 << params.engine.fraction_bits
    if loss is Loss.HINGE:
        labels = 2 * labels - one
    step = Step(mantissa=98_765, exponent=22)
    fields = independent.settings(
        *(*codes.shape, bits, signed, LOSSES.index(loss), 16, step.mantissa, step.exponent, build),
        stored_bits=stored,
    )
    words = independent.word_images(codes, stored, build)
    model = weights_to_model(weights, geometry, 0).astype(np.int64)
    found = independent.train_epoch(
        fields, words, independent.label_image(labels, build), model, build
    )
    training = Training(
        loss=loss,
        bits=bits,
        signed=signed,
        batch=16,
        banks=params.engine.banks,
        step=step,
        fraction_bits=params.engine.fraction_bits,
    )
    expected, _ = epoch(
        codes >> stored - bits, labels, weights, training, Parts.single(codes.shape[1])
    )
    assert (model_to_weights([found], geometry, codes.shape[1]) == expected).all()
    assert (expected != weights).any()


def test_the_sigmoid_is_bit_exact(params):
    fraction_bits = params.engine.fraction_bits
    one = 1 << fraction_bits
    x = np.r_[np.arange(-17 * one, 17 * one, one // 64 + 1), -(1 << 31), (1 << 31) - 1, -1, 0, 1]
    told = [int(independent.sigmoid(int(each), fraction_bits)) for each in x]
    assert told == sigmoid(x, fraction_bits).tolist()


def test_every_setting_and_cause_is_told():
    fields = {field.name for one in setting_registers() for field in one.fields}
    assert fields - set(WRITTEN) == {"memory_timeout"}
    assert set(Cause) - set(CAUSES) == {Cause.NONE}


@pytest.mark.parametrize("preset", DESIGN.presets)
def test_the_text_is_whole(preset):
    text = guide(DESIGN.params_of(preset))
    assert not re.search(r"\{[{%]|None|\bTODO\b", text)
    assert text.count("\n## ") == 13


def test_the_known_answer_is_right(params, build):
    known = values(params)["known"]
    codes, one = np.array(known["codes"]), 1 << params.engine.fraction_bits
    labels = np.array(known["labels"]) * one
    words = independent.word_images(codes, 2, build)
    told = [
        int(word, 16).to_bytes(params.engine.word_bits // 8, "little") for word in known["words"]
    ]
    ports = [b"".join(word[32 * q : 32 * q + 32] for word in told) for q in range(build.P)]
    assert words[: build.P] == ports
    assert not any(map(any, words[build.P :]))
    fields = independent.settings(*codes.shape, 2, True, 1, 8, 65536, 19, build)
    model = np.zeros((params.engines, 1, params.engine.lanes), np.int64)
    found = independent.train_epoch(
        fields, words, independent.label_image(labels, build), model, build
    )
    assert tuple(found[0, 0, :2]) == known["weights"]
    assert np.count_nonzero(found) == 2
