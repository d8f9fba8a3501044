import pytest
from amaranth.hdl import Signal

from hdl.u280.hbm_ip import HBM_BUS, axi_wires, enabled_ports, hbm_ip


@pytest.mark.parametrize(
    ("used", "enabled"),
    [([0, 3], (0, 3, 16)), ([20], (0, 20)), ([1, 31], (1, 31)), (range(32), tuple(range(32)))],
)
def test_each_stack_has_a_port(used, enabled):
    assert enabled_ports(used) == enabled


def test_configuration():
    config = dict(hbm_ip([2, 20]).config)
    assert config["USER_CLK_SEL_LIST0"] == "AXI_02_ACLK"
    assert config["USER_CLK_SEL_LIST1"] == "AXI_20_ACLK"
    assert [k for k in range(32) if config[f"USER_SAXI_{k:02}"] == "true"] == [2, 20]
    assert (config["USER_HBM_DENSITY"], config["USER_AXI_INPUT_CLK_FREQ"]) == ("8GB", "450")


def test_ports_are_wired_or_idle():
    ip = hbm_ip([0])
    clock, reset = Signal(), Signal()
    used = axi_wires(0, clock, reset, HBM_BUS.create())
    idle = axi_wires(16, clock, reset, None)
    stacks = {port.name: Signal(port.bits) for port in ip.ports if "AXI" not in port.name}
    assert set(ip.place(**used, **idle, **stacks).ports) >= {"AXI_00_RDATA", "AXI_16_ARVALID"}
    assert "AXI_16_RDATA" not in idle
    with pytest.raises(ValueError, match="hbm: port AXI_00_"):
        ip.place(**idle, **stacks)
