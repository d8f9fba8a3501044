import pytest

from hdl.u280.pcie import PcieParams


def test_rejects():
    with pytest.raises(ValueError, match="register_bits must be from 12 to 16: 17"):
        PcieParams(register_bits=17)
