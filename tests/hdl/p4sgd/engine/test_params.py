import pytest

from hdl.p4sgd.engine.params import EngineParams

ENGINE = {
    "banks": (1, 8),
    "lanes": (1, 512),
    "max_bits": (1, 8),
    "weight_bits": (8, 32),
    "fraction_bits": (1, 30),
    "chunks": (1, 65536),
    "fifo_words": (8, 65536),
}


@pytest.mark.parametrize("name", ENGINE)
def test_engine_sizes(name):
    low, high = ENGINE[name]
    others = {"fraction_bits": 1} if name == "weight_bits" else {}
    for value in (low, high):
        assert getattr(EngineParams(**others, **{name: value}), name) == value
    for value in (low - 1, high + 1, True, 1.0 * high, None):
        with pytest.raises(ValueError, match=f"{name} must be a whole number from {low} to {high}"):
            EngineParams(**others, **{name: value})


def test_fraction_leaves_two_bits_of_a_weight():
    with pytest.raises(ValueError, match="fraction_bits must be a whole number from 1 to 14: 15"):
        EngineParams(weight_bits=16, fraction_bits=15)


@pytest.mark.parametrize("name", ["l2", "data_parallel"])
def test_l2_and_data_parallel_are_choices(name):
    for value in (False, True):
        assert getattr(EngineParams(**{name: value}), name) is value
    for value in (1, None, "yes"):
        with pytest.raises(ValueError, match=f"{name} must be true or false: {value!r}"):
            EngineParams(**{name: value})


def test_data_parallel_excludes_l2():
    with pytest.raises(ValueError, match="l2 and data_parallel exclude each other"):
        EngineParams(l2=True, data_parallel=True)


def test_suffix_tells_sizes_apart():
    """Modules are named by it: two sizes of one name would be one module."""
    others = {"banks": 4, "lanes": 32, "max_bits": 4, "weight_bits": 30, "fraction_bits": 20}
    others |= {"chunks": 9, "fifo_words": 99, "l2": True, "data_parallel": True}
    engines = [EngineParams(), *(EngineParams(**{name: v}) for name, v in others.items())]
    assert len({engine.suffix for engine in engines}) == len(engines)
