import re

import pytest

from hdl.u280.pcie import MODEL_BASE, PcieBridge, PcieDma, PcieParams
from tests.hdl.u280.lint import lint_with_stubs


def check(link):
    from hdl.u280.clock_ip import REFCLK_BUFFER

    return lint_with_stubs(link, (*link.vendor_ips, REFCLK_BUFFER)).top.verilog


def instance(text, name):
    return re.search(rf" {name} \((.*?)^  \);", text, re.M | re.S)[1]


def test_dma():
    link = PcieDma(PcieParams(register_bits=12, model_bits=22))
    text = check(link)
    config = dict(link.memories.config)
    assert int(config["M01_A00_BASE_ADDR"], 16) == MODEL_BASE == 1 << 33
    assert config["M01_A00_ADDR_WIDTH"] == "22"
    assert len(re.findall(r"^  dma_width ", text, re.M)) == 2
    # All of the core's clock.
    for name in ("decoder", "memories", "hbm_bursts"):
        assert ".aclk(clk)" in instance(text, name)


def test_bridge():
    link = PcieBridge(PcieParams(register_bits=13))
    text = check(link)
    assert dict(link.decoder.config)["M00_A00_ADDR_WIDTH"] == "13"
    assert ".s_axib_araddr(host_araddr)" in text
    assert ".s_axib_awid(4'h0)" in text


def test_rejects():
    with pytest.raises(ValueError, match="register_bits must be from 12 to 16: 17"):
        PcieParams(register_bits=17)
