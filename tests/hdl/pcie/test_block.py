"""Checks what AMD's PCIe block has, by the list of cells that Yosys took from AMD's own library."""

import re
from importlib.resources import files

import pytest

from hdl.pcie.params import ReadRequesterParams

#: ports of PCIE4CE4, the block behind ``pcie4c_uscale_plus``
WIDTHS = {"PCIERQTAG0": 8, "CFGFLRINPROCESS": 4, "CFGFLRDONE": 4, "PCIETFCNPHAV": 4}


@pytest.fixture(scope="module")
def block():
    cells = files("pyosys").joinpath("share", "xilinx", "cells_xtra.v").read_text()
    (result,) = re.findall(r"^module PCIE4CE4\b.*?^endmodule", cells, re.DOTALL | re.MULTILINE)
    return result


@pytest.mark.parametrize("port", WIDTHS)
def test_widths(block, port):
    (high,) = re.findall(rf"\[(\d+):0\] {port};", block)
    assert int(high) + 1 == WIDTHS[port]


def test_tags(block):
    """It has 256 of them and no more: a later block (AM012) has an attribute for ten bits."""
    assert "parameter AXISTEN_IF_ENABLE_256_TAGS" in block
    assert "10B_TAGS" not in block
    assert ReadRequesterParams().tags == 1 << WIDTHS["PCIERQTAG0"]


def test_poisoned_writes(block):
    """By default they never come to CQ."""
    assert 'parameter AXISTEN_IF_CQ_EN_POISONED_MEM_WR = "FALSE"' in block
