import pytest

from hdl.p4sgd.engine.params import EngineParams


def test_fraction_leaves_two_bits_of_a_weight():
    with pytest.raises(ValueError, match="fraction_bits must be a whole number from 1 to 14: 15"):
        EngineParams(weight_bits=16, fraction_bits=15)


def test_data_parallel_excludes_l2():
    with pytest.raises(ValueError, match="l2 and data_parallel exclude each other"):
        EngineParams(l2=True, data_parallel=True)


def test_ping_pong_has_two_ports_for_three_accesses():
    assert EngineParams(ping_pong=True).min_bits == 2
    with pytest.raises(ValueError, match="max_bits must be at least 2 with ping_pong"):
        EngineParams(ping_pong=True, max_bits=1)
    with pytest.raises(ValueError, match="banks must be at least 3 with ping_pong and l2"):
        EngineParams(ping_pong=True, l2=True, banks=2)


def test_pair_sums_feed_slices():
    with pytest.raises(ValueError, match="pair_sums are for dsp"):
        EngineParams(pair_sums=True)


@pytest.mark.parametrize(("banks", "most"), [(8, 11), (16, 10)])
def test_a_slice_adds_48_bits(banks, most):
    EngineParams(banks=banks, max_bits=most, dsp=True)
    with pytest.raises(ValueError, match=f"max_bits must be at most {most} with dsp"):
        EngineParams(banks=banks, max_bits=most + 1, dsp=True)
