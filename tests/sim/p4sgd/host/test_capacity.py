"""Compares the most data that fit with images of the memories, and with the two limits."""

from dataclasses import replace

import numpy as np
import pytest

from hdl.p4sgd.network.frame import LANES
from sim.p4sgd.host.build import Build
from sim.p4sgd.host.capacity import ACTIVATIONS, Capacity, DoesNotFit
from sim.p4sgd.host.samples import Samples
from sim.workloads.layout import hbm_images

FIXED = {
    "engines": 2,
    "classes": 1,
    "banks": 8,
    "lanes": 32,
    "min_bits": 1,
    "max_bits": 4,
    "max_chunks": 5,
    "max_tile": 0,
    "fifo_words": 11,
    "address_bits": 11,
    "slots": 3,
}


def capacity(workers=1, **changes):
    return Capacity(fixed=FIXED | changes, workers=workers)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(("bits", "chunks"), [(1, 5), (2, 5), (3, 3), (4, 2)])
def test_features_are_limited_by_model_memory_and_word_fifo(workers, bits, chunks):
    held = capacity(workers)
    most = workers * 2 * chunks * 32
    assert held.features(bits) == most
    held.check(1, most, bits)
    with pytest.raises(DoesNotFit, match=f"at most {most} features at precision {bits}"):
        held.check(1, most + 1, bits)


def test_the_limit_is_named():
    with pytest.raises(DoesNotFit) as error:
        capacity().check(1, 321, 1)
    assert str(error.value).startswith(
        "321 features need 6 chunks an engine, the model memory holds 5: at most 320 features"
    )
    with pytest.raises(DoesNotFit) as error:
        capacity().check(1, 320, 4)
    assert str(error.value).startswith(
        "a micro-batch of 5 chunks x 4 bits = 20 words does not fit the word FIFO of 11 words: at"
        " most 128 features at precision 4"
    )


def largest_port(held, samples, features, bits):
    """Return the bytes of the fullest memory at a port."""
    codes = np.zeros((samples, features), int)
    labels = np.zeros((held.geometry.classes, samples), np.int64)
    images = hbm_images(codes, labels, bits, held.geometry, 0)
    return max(len(images.labels), *(len(port) for engine in images.words for port in engine))


@pytest.mark.parametrize(
    ("features", "bits", "changes"),
    [
        (1, 1, {}),
        (64, 1, {}),
        (65, 1, {}),
        (300, 2, {}),
        (128, 4, {}),
        (64, 1, {"banks": 16, "lanes": 32}),  # labels take more than words
        (64, 1, {"engines": 4, "classes": 2}),  # and so do those of two classes
        (65, 2, {"engines": 4, "classes": 4}),
    ],
)
def test_samples_are_limited_by_the_fullest_port(features, bits, changes):
    held = capacity(**changes)
    most = held.samples(features, bits)
    assert most % held.fixed["banks"] == 0
    assert largest_port(held, most, features, bits) <= held.room
    assert largest_port(held, most + 1, features, bits) > held.room
    held.check(most, features, bits)
    with pytest.raises(DoesNotFit, match=rf"port, which has 2048: at most {most} samples of"):
        held.check(most + 1, features, bits)


def test_labels_in_the_memory_of_words_take_their_room():
    apart, shared = capacity(), replace(capacity(), labels_apart=False)
    for features, bits in ((1, 1), (64, 1), (300, 2)):
        most = shared.samples(features, bits)
        assert most < apart.samples(features, bits)
        words = most // shared.fixed["banks"] * shared.word_bytes(features, bits)
        assert words + 4 * most <= shared.room < words + 4 * most + 8 * shared.room // most
        shared.check(most, features, bits)
        with pytest.raises(DoesNotFit, match=rf"at most {most} samples of"):
            shared.check(most + 1, features, bits)


def build_with(labels_end=0, **changes):
    return Build(
        fixed=capacity().fixed | {"fraction_bits": 23, "l2_built": 0} | changes,
        losses={"linear": 0},
        causes={},
        counters=(),
        words=tuple(k << 11 for k in range(2)),
        labels=0,
        model=1 << 20,
        engine_stride=1 << 10,
        chunk_stride=1 << 7,
        labels_end=labels_end,
    )


@pytest.mark.parametrize("end", [0, 1 << 11])
def test_labels_end_where_their_memory_does(end):
    build = build_with(end)
    codes = np.ones((13, 20), int)
    samples = Samples.checked(build, codes, np.arange(13), bits=1, signed=False)
    at, image = list(samples.images())[-1]
    settings = samples.settings(loss="linear", batch=8, rate=0.1)
    assert (at, settings["label_address_high"]) == (settings["label_address_low"], 0)
    assert at == (end - len(image) if end else 0)
    assert np.frombuffer(image, "<i4")[:13].tolist() == [k << 23 for k in range(13)]


def test_classes_have_labels_and_weights_of_their_own(rng):
    """They are where the programming guide says, and each class is trained by itself."""
    classes, features = 3, 70
    build = build_with(engines=6, classes=classes)
    codes, labels = rng.integers(0, 2, (13, features)), rng.integers(-9, 9, (classes, 13))
    samples = Samples.checked(build, codes, labels, bits=1, signed=False)
    held = np.frombuffer(list(samples.images())[-1][1], "<i4")
    assert len(held) == 2 * classes * 8
    for i, z in np.ndindex(13, classes):
        assert held[(i // 8 * classes + z) * 8 + i % 8] == labels[z, i] << 23
    weights = rng.integers(-1000, 1000, (classes, features))
    model = {at: np.frombuffer(image, "<i4") for at, image in samples.model(weights)}
    for j, z in np.ndindex(features, classes):
        engine = j // 64 * classes + z  # two chunks of each engine
        assert model[(1 << 20) + (engine << 10)][j % 64] == weights[z, j]
    how = {"loss": "linear", "batch": 8, "rate": 0.1, "epochs": 2}
    alone = [Samples.checked(build_with(), codes, own, bits=1, signed=False) for own in labels]
    golden = [own.golden(before, **how) for own, before in zip(alone, weights, strict=True)]
    assert (samples.golden(weights, **how) == golden).all()
    assert samples.settings(**how)["label_beats"] == 2 * classes
    with pytest.raises(ValueError, match="13 finite numbers, one for each sample of each of 3 cl"):
        Samples.checked(build, codes, labels[0], bits=1, signed=False)
    with pytest.raises(ValueError, match="70 integers, one for each feature of each of 3 classes"):
        list(samples.model(weights[0]))


def test_stored_bits_take_memory_and_read_bits_the_fifo():
    held = capacity()
    assert held.samples(64, 8) == held.samples(64, 2) // 4
    held.check(held.samples(64, 8), 64, 2, 8)
    with pytest.raises(DoesNotFit, match="memory port"):
        held.check(held.samples(64, 8) + 1, 64, 2, 8)
    held.check(8, 320, 2, 8)


def test_rows_have_all_precisions():
    rows = capacity().rows()
    assert [(row["bits"], row["features"]) for row in rows] == [
        (1, 320),
        (2, 320),
        (3, 192),
        (4, 128),
    ]
    assert [row["samples"] for row in rows] == [96, 48, 56, 64]
    assert [row["bits"] for row in capacity(fifo_words=3).rows()] == [1, 2, 3]
    assert [row["bits"] for row in capacity(min_bits=2).rows()] == [2, 3, 4]


def test_a_packet_has_as_many_activations_as_the_hardware_s():
    assert ACTIVATIONS == LANES


def test_vanilla_order_holds_a_mini_batch():
    held = capacity()
    held.check_vanilla(64, 4, 16)
    with pytest.raises(DoesNotFit, match="3 micro-batches x 4 words = 12 words do not fit its 11"):
        held.check_vanilla(64, 4, 24)
    held.check_vanilla(64, 2, 24)
    with pytest.raises(DoesNotFit, match="needs a slot: 4 of 3"):
        held.check_vanilla(64, 2, 32)
    with pytest.raises(DoesNotFit, match="needs a slot: 4 of 3"):  # two packets each
        capacity(banks=16).check_vanilla(64, 2, 32)
    each = capacity(engines=6, classes=3)
    assert each.features(4) == held.features(4)
    each.check_vanilla(64, 2, 8)
    with pytest.raises(DoesNotFit, match="needs a slot: 6 of 3"):
        each.check_vanilla(64, 2, 16)


@pytest.mark.parametrize("bits", [1, 4])
def test_a_model_in_memory_is_limited_by_no_fifo(bits):
    held = capacity(max_tile=4)
    most = held.features(bits)
    assert most == FIXED["max_chunks"] * FIXED["engines"] * FIXED["lanes"]
    held.check_features(most, bits)
    with pytest.raises(DoesNotFit, match="the model memory holds"):
        held.check_features(most + 1, bits)
