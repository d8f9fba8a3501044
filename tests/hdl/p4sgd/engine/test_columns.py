import pytest

from hdl.p4sgd.engine.columns import ULTRA_BITS, columns

SIZES = [(2048, 512), (1, 1), (96, 64), (640, 192), (16384, 4096), (72, 8), (160, 64), (2048, 2048)]


def ultras(bits):
    return -(-bits // ULTRA_BITS)


@pytest.mark.parametrize(("bits", "group"), SIZES)
def test_columns_cover_all_bits_in_order(bits, group):
    result = columns(bits, group)
    ends = [0, *(column.high for column in result)]
    assert [column.low for column in result] == ends[:-1]
    assert ends[-1] == bits
    for column in result:
        pieces = column.pieces
        assert [low for _, low, _ in pieces] == [column.low, *(high for *_, high in pieces[:-1])]
        assert pieces[-1][2] == column.high


@pytest.mark.parametrize(("bits", "group"), SIZES)
def test_no_bit_comes_late(bits, group):
    for column in columns(bits, group):
        for skew, low, high in column.pieces:
            assert low // group == (high - 1) // group == skew >= column.skew


@pytest.mark.parametrize(("bits", "group"), SIZES)
def test_columns_take_no_more_memories(bits, group):
    assert sum(ultras(column.bits) for column in columns(bits, group)) == ultras(bits)


def test_the_card_s_model():
    assert [column.bits for column in columns(2048, 512)] == [576, 504, 504, 464]
