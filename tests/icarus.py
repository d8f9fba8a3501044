"""Marks tests that need Icarus Verilog, which ``ingather doctor`` looks for."""

import shutil

import pytest

__all__ = ["STANDARDS", "with_icarus"]

STANDARDS = ("2005", "2012")  #: as of which it reads Verilog
with_icarus = pytest.mark.skipif(
    not shutil.which("iverilog"), reason="Icarus Verilog is not there: apt-get install iverilog"
)
