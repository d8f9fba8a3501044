import pytest

from hdl.u280.board import Clock, pins
from hdl.u280.mac import MacParams


@pytest.mark.parametrize("where", [{}, {"port": "a", "pin": "b/c"}])
def test_a_clock_comes_from_one_place(where):
    with pytest.raises(ValueError, match="clock x must have either a port or a pin"):
        Clock(name="x", mhz=100.0, **where)


def test_only_cages_in_use_have_pins():
    item = pins([MacParams(cage=1)])
    assert "qsfp1_rx_p" in item
    assert not any(name.startswith("qsfp0") for name in item)
    assert item["pcie_tx_p"].shape == 16
    assert "pcie_refclk_1_p" in item
