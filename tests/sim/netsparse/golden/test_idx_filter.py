import numpy as np
import pytest

from sim.netsparse.golden.idx_filter import image, line_address, line_count


def test_lines():
    assert [line_count(columns) for columns in (0, 1, 512, 513, 1 << 40)] == [0, 1, 1, 2, 1 << 31]
    assert [line_address(idx, 0x1000) for idx in (0, 511, 512, 1 << 39)] == [
        0x1000,
        0x1000,
        0x1040,
        0x1000 + (1 << 36),
    ]


@pytest.mark.parametrize(("idx", "byte", "value"), [(0, 0, 1), (9, 1, 2), (519, 64, 128)])
def test_image(idx, byte, value):
    bits = np.zeros(600, bool)
    bits[idx] = True
    result = image(bits)
    assert len(result) == 128
    assert result[byte] == value
    assert result.sum() == value
