"""The head of a file: in the comments of its language, and nowhere else."""

import pytest

from gen.output.heads import own_version, with_heads

HEAD = f"SPDX-License-Identifier: Apache-2.0; made by ingather {own_version()}"


@pytest.mark.parametrize("name", ["rtl/a.v", "far_end.sv", "a.h", "a.rdl"])
def test_slashes(name):
    assert with_heads({name: "text\n"}) == {name: f"// {HEAD}\ntext\n"}


@pytest.mark.parametrize("name", ["tcl/build.tcl", "xdc/pins.xdc", "driver.py", "Makefile"])
def test_number_signs(name):
    assert with_heads({name: "text\n"}) == {name: f"# {HEAD}\ntext\n"}


@pytest.mark.parametrize("name", ["filelist.f", "registers.json", "datasheet.html", "README.md"])
def test_others_are_as_they_were(name):
    assert with_heads({name: "text\n", "a.v": b"text"}) == {name: "text\n", "a.v": b"text"}
