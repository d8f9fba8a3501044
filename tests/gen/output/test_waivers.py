"""Checks that what is generated lints clean by the command that its waivers name, as users do."""

import re

import pytest

from gen.designs.catalogue import designs
from gen.output.waivers import waivers
from hdl.p4sgd.worker import Worker
from hdl.vitis.kernels import WorkerKernel
from sim.harness.build_tools import BuildError, execute, verilator_command
from sim.harness.emissions import emission_of


@pytest.fixture(params=[Worker, WorkerKernel])
def folder(request, tmp_path):
    """Write a worker, which places the vendor's primitives, and a kernel, as ``generate`` does."""
    params = designs()["p4sgd-worker"].params_of("tiny")
    emission = emission_of(request.param(params), generated=True)
    for name, module in emission.modules.items():
        (tmp_path / f"{name}.v").write_text(module.verilog)
    (tmp_path / "filelist.f").write_text("".join(f"{name}.v\n" for name in emission.modules))
    (tmp_path / "lint.vlt").write_text(waivers(emission))
    return tmp_path


def lint(folder):
    command = re.search(r"^// \$ verilator (.*)$", (folder / "lint.vlt").read_text(), re.M)
    execute([*verilator_command(folder), *command[1].split()], folder)


def test_the_command_finds_nothing(folder):
    lint(folder)


@pytest.mark.parametrize(
    ("mistake", "says"),
    [("wire w; wire v = w;", "UNDRIVEN"), ("wire [1:0] w = 4'd9;", "WIDTHTRUNC")],
)
def test_it_finds_what_is_not_named(folder, mistake, says):
    path = next(folder.glob("register_block*.v"))
    path.write_text(path.read_text().replace("endmodule", f"{mistake} endmodule"))
    with pytest.raises(BuildError, match=says):
        lint(folder)
