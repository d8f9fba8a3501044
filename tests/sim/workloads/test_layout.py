import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.golden.arithmetic import Step
from sim.p4sgd.golden import sgd as p4sgd
from sim.workloads.layout import (
    Geometry,
    hbm_images,
    in_tiles,
    model_to_weights,
    pack,
    unpack,
    weights_to_model,
)
from sim.workloads.quantise import truncate

SMALL = Geometry(engines=1, banks=2, lanes=4)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Geometry, int, int, int, bool, int]:
    geometry = Geometry(
        workers=draw(st.integers(1, 3)),
        engines=draw(st.integers(1, 3)),
        banks=draw(st.sampled_from([1, 2, 3, 8, 16])),
        lanes=draw(st.sampled_from([5, 8, 16])),
    )
    samples, features = draw(st.integers(1, 20)), draw(st.integers(1, 120))
    bits, signed, seed = draw(st.integers(1, 16)), draw(st.booleans()), draw(st.integers(0, 99))
    return geometry, samples, features, bits, signed, seed


def random_codes(seed: int, samples: int, features: int, bits: int, signed: bool) -> np.ndarray:
    half = 1 << (bits - 1) if signed else 0
    rng = np.random.default_rng(seed)
    return rng.integers(-half, (1 << bits) - half, (samples, features))


def test_words_by_hand() -> None:
    codes = np.array([[1, 2, 3, 0, 2], [0, 0, 0, 3, 1], [3, 3, 3, 3, 0]])
    assert pack(codes, 2, SMALL, 0, 0).tolist() == [
        [0b1000_0110],  # micro-batch 0, chunk 0, high plane: bank 0 in the low bits
        [0b1000_0101],
        [0b0000_0001],  # chunk 1: the fifth feature and padding
        [0b0001_0000],
        [0b0000_1111],  # micro-batch 1: its second sample is absent
        [0b0000_1111],
        [0],
        [0],
    ]


def test_signed_words_are_twos_complement() -> None:
    assert pack(np.array([[-4, -1, 3, 0]]), 3, SMALL, 0, 0).tolist() == [[0b11], [0b110], [0b110]]


@given(cases())
def test_every_bit_is_where_the_formula_says(case: tuple) -> None:
    geometry, samples, features, bits, signed, seed = case
    codes = random_codes(seed, samples, features, bits, signed)
    chunks = -(-features // (geometry.workers * geometry.engines * geometry.lanes))
    rng = np.random.default_rng(seed)
    for _ in range(20):
        i, d, plane = (int(rng.integers(n)) for n in (samples, features, bits))
        part, within = divmod(d, chunks * geometry.lanes)
        worker, engine = divmod(part, geometry.engines)
        chunk, lane = divmod(within, geometry.lanes)
        address = (i // geometry.banks * chunks + chunk) * bits + plane
        bit = i % geometry.banks * geometry.lanes + lane
        words = pack(codes, bits, geometry, worker, engine)
        word = int.from_bytes(words[address].tobytes(), "little")
        assert word >> bit & 1 == (int(codes[i, d]) >> (bits - 1 - plane)) & 1


@given(cases())
def test_unpack_is_the_inverse(case: tuple) -> None:
    geometry, samples, features, bits, signed, seed = case
    codes = random_codes(seed, samples, features, bits, signed)
    chunks = geometry.chunks(features)
    parts = [
        unpack(pack(codes, bits, geometry, worker, engine), bits, geometry, chunks, signed=signed)
        for worker in range(geometry.workers)
        for engine in range(geometry.engines)
    ]
    whole = np.hstack(parts)
    assert whole.shape[0] == geometry.micro_batches(samples) * geometry.banks
    assert np.array_equal(whole[:samples, :features], codes)
    assert not whole[samples:].any()
    assert not whole[:, features:].any()


@given(cases())
def test_fewer_planes_are_truncated_codes(case: tuple) -> None:
    geometry, samples, features, bits, signed, seed = case
    codes = random_codes(seed, samples, features, bits, signed)
    words = pack(codes, bits, geometry, 0, 0)
    part = codes[:, geometry.feature_slice(0, 0, features)]
    for planes in range(1, bits + 1):
        read = unpack(
            words, bits, geometry, geometry.chunks(features), signed=signed, planes=planes
        )
        expected = truncate(part, bits, planes)
        assert np.array_equal(read[:samples, : part.shape[1]], expected)


@given(cases())
def test_parts_agree_with_the_slices(case: tuple) -> None:
    geometry, _, features, *_ = case
    worker_of, group_of = geometry.worker_of(features), geometry.group_of(features)
    covered = []
    for worker in range(geometry.workers):
        for engine in range(geometry.engines):
            part = geometry.feature_slice(worker, engine, features)
            covered += range(part.start, part.stop)
            assert set(worker_of[part]) <= {worker}
            groups = np.arange(part.stop - part.start) // geometry.lanes
            assert np.array_equal(group_of[part] - group_of[part][:1], groups)
    assert covered == list(range(features))
    assert np.bincount(group_of).max() <= geometry.lanes


@pytest.mark.parametrize(("banks", "lanes", "count"), [(8, 64, 2), (8, 5, 1), (8, 66, 3)])
def test_hbm_images(banks: int, lanes: int, count: int) -> None:
    """A word takes as many ports as it needs; beyond it there are zeros."""
    geometry = Geometry(workers=2, engines=2, banks=banks, lanes=lanes)
    codes = random_codes(9, 19, 700, 3, signed=False)
    labels = np.arange(19) - 9
    images = hbm_images(codes, labels, 3, geometry, worker=1)
    assert [len(ports) for ports in images.words] == [count, count]
    for engine, ports in enumerate(images.words):
        words = pack(codes, 3, geometry, 1, engine)
        assert len(words) == 3 * 3 * geometry.chunks(700)
        for address, word in enumerate(words):
            beats = [port[32 * address : 32 * address + 32] for port in ports]
            assert b"".join(beats) == word.tobytes().ljust(32 * count, b"\0")
    assert len(images.labels) == 24 * 4
    assert images.labels[:4] == (-9).to_bytes(4, "little", signed=True)
    assert np.frombuffer(images.labels, "<i4").tolist() == [*labels, 0, 0, 0, 0, 0]


def test_labels_fill_whole_beats() -> None:
    geometry = Geometry(engines=1, banks=2, lanes=128)
    images = hbm_images(np.zeros((9, 1), dtype=int), np.ones(9), 1, geometry)
    assert np.frombuffer(images.labels, "<i4").tolist() == [1] * 9 + [0] * 7


@given(cases())
def test_model_there_and_back(case: tuple) -> None:
    geometry, _, features, _, _, seed = case
    rng = np.random.default_rng(seed)
    weights = rng.integers(-(1 << 31), 1 << 31, features)
    chunks = geometry.chunks(features)
    for depth in (None, chunks, chunks + 3):
        models = [
            weights_to_model(weights, geometry, worker, depth) for worker in range(geometry.workers)
        ]
        assert models[0].shape == (geometry.engines, depth or chunks, geometry.lanes)
        assert models[0].dtype == np.int32
        assert model_to_weights(models, geometry, features).tolist() == weights.tolist()
        assert sum(np.count_nonzero(model) for model in models) == np.count_nonzero(weights)


def test_model_by_hand() -> None:
    geometry = Geometry(workers=2, engines=2, banks=1, lanes=2)
    models = [weights_to_model(np.arange(1, 14), geometry, worker).tolist() for worker in (0, 1)]
    assert models == [
        [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
        [[[9, 10], [11, 12]], [[13, 0], [0, 0]]],
    ]


def test_training_does_not_depend_on_engines_and_chunks() -> None:
    rng = np.random.default_rng(10)
    codes, labels = rng.integers(0, 16, (40, 50)), rng.integers(0, 2, 40) << 23
    weights = rng.integers(-(1 << 31), 1 << 31, 50) >> 6
    training = p4sgd.Training(
        loss=p4sgd.Loss.LOGISTIC, bits=4, signed=False, batch=16, banks=8, step=Step.of(0.1)
    )
    for workers in (1, 2):
        results = set()
        for engines, lanes in ((1, 8), (2, 8), (4, 4), (8, 1)):
            geometry = Geometry(workers=workers, engines=engines, banks=8, lanes=lanes)
            parts = p4sgd.Parts(np.arange(50) // (50 // workers), geometry.group_of(50))
            results.add(tuple(p4sgd.epoch(codes, labels, weights, training, parts)[0].tolist()))
        assert len(results) == 1


def test_errors() -> None:
    codes = np.zeros((2, 3), dtype=int)
    with pytest.raises(ValueError, match=r"^lanes must be at least 1, not 0$"):
        Geometry(engines=1, banks=1, lanes=0)
    with pytest.raises(ValueError, match=r"^codes must fit 4 bits, found 0\.\.16$"):
        pack(np.array([[0, 16]]), 4, SMALL, 0, 0)
    with pytest.raises(ValueError, match=r"^worker and engine must be below 1 and 1, not 0 and 1$"):
        pack(codes, 1, SMALL, 0, 1)
    with pytest.raises(ValueError, match=r"^9 features need 3 chunks, not 2$"):
        weights_to_model(np.arange(9), SMALL, 0, 2)
    with pytest.raises(ValueError, match=r"^models of 1 workers are needed, not 2$"):
        model_to_weights([np.zeros((1, 1, 4), dtype=int)] * 2, SMALL, 4)


def test_tiles_have_the_chunks_of_all_their_micro_batches():
    """Of five micro-batches in tiles of two, the last one is a tile alone."""
    words = np.arange(5 * 3 * 2).reshape(-1, 1)  # three chunks of two planes
    place = [(0, 2), (2, 4), (4, 5)]
    expected = [
        (micro_batch * 3 + chunk) * 2 + plane
        for first, end in place
        for chunk in range(3)
        for micro_batch in range(first, end)
        for plane in range(2)
    ]
    assert in_tiles(words, 2, 3, 2).ravel().tolist() == expected
    assert (in_tiles(words, 2, 3, 1) == words).all()


def test_engines_of_all_classes_for_the_same_features_follow_each_other() -> None:
    geometry = Geometry(workers=2, engines=2, banks=1, lanes=2, classes=3)
    weights = np.arange(3 * 7).reshape(3, 7)
    models = [weights_to_model(weights, geometry, worker) for worker in (0, 1)]
    assert [engine[0].tolist() for engine in models[0]] == [
        [0, 1],
        [7, 8],
        [14, 15],
        [2, 3],
        [9, 10],
        [16, 17],
    ]
    assert (model_to_weights(models, geometry, 7) == weights).all()
