"""Checks with the tools themselves what Vivado, FuseSoC and Amaranth take a design from."""

import os
import shlex
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth.back import rtlil
from peakrdl_ipxact.importer import IPXACTImporter
from systemrdl import RDLCompiler

from gen.base.emission.yosys import Yosys, apart
from gen.base.registers.system_rdl import compiled
from gen.board.check_ipxact import check_component
from gen.board.hierarchy import read_verilog
from gen.designs.catalogue import designs
from gen.ip.files import ip_files
from gen.output.manifest import write_design
from sim.harness.emissions import emission_of
from sim.harness.verilator_tool import find_verilator


def written(folder, name, **changes):
    """Write the smallest form of a design as ``ingather generate`` does; return its emission."""
    emission = emitted(name, **changes)
    write_design(folder, emission, design=name, preset="tiny", settings=changes)
    return emission


def emitted(name, **changes):
    design = designs()[name]
    return emission_of(design.make(design.params_of("tiny", **changes)), generated=True)


def registers_of(emission):
    component = emission.top.component
    make_map = getattr(component, "register_map", None)
    return make_map(component.params) if make_map else None


@pytest.mark.parametrize("name", designs())
def test_each_design_is_a_part_for_other_tools(name, tmp_path):
    emission = emitted(name)
    registers = registers_of(emission)
    files = {f"rtl/{module.name}.v": module.verilog for module in emission.modules.values()}
    (tmp_path / "rtl").mkdir()
    for path, text in (files | ip_files(emission, name, "a < b", registers, files)).items():
        (tmp_path / path).write_text(text)
    component = tmp_path / "component.xml"
    modules = read_verilog(tmp_path.glob("rtl/*.v"))
    assert list(check_component(component, modules, tmp_path)) == []
    if registers is not None:
        assert imported(component, emission.top, registers) == seen(compiled(registers).children())
    wrapper = wrapper_of(tmp_path, name)
    ports = {
        ("_".join(str(part) for part in path), f"{member.flow.name.lower()}put", member.shape)
        for path, member, _ in wrapper.signature.flatten(wrapper)
    }
    assert ports | clocks(emission) == {
        (port.name, port.direction, port.bits) for port in emission.top.ports
    }


def imported(path, top, registers):
    """Return the registers that PeakRDL reads from ``component.xml``."""
    compiler = RDLCompiler()
    IPXACTImporter(compiler).import_file(str(path))
    buses = {port.name.partition("_awaddr")[0] for port in top.ports}
    name = "s_axil" if "s_axil" in buses else registers.name
    (block,) = compiler.elaborate(top_def_name=f"{top.name}__{name}").top.children()
    return seen(block.children())


def seen(nodes):
    """Return what software sees of registers: address, width, and each field's place and values."""
    return [
        (
            node.inst_name,
            node.raw_address_offset,
            node.get_property("regwidth"),
            [
                (
                    *(field.inst_name, field.low, field.width, field.get_property("sw").name),
                    *(field.get_property("reset"), values(field.get_property("encode"))),
                )
                for field in node.fields()
            ],
        )
        for node in nodes
    ]


def values(enum):
    return {member.name: member.value for member in enum} if enum else {}


def wrapper_of(folder, name):
    """Return the class of a design in the module for Amaranth."""
    path = folder / f"{name.replace('-', '_')}_amaranth.py"
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, module.__all__[0])()


def clocks(emission):
    return {(port.name, "input", 1) for port in emission.top.ports if port.name in ("clk", "rst")}


def test_an_amaranth_design_places_the_verilog(tmp_path):
    """Yosys connects the wrapper's instance with the Verilog, and refuses what does not fit."""
    emission = written(tmp_path, "p4sgd-switch")
    files = {}
    platform = SimpleNamespace(add_file=files.__setitem__)
    wrapper = wrapper_of(tmp_path, "p4sgd-switch")
    text = rtlil.convert(wrapper, platform=platform, name="placed")
    assert sorted(files) == sorted(f"{name}.v" for name in emission.modules)

    def joined():
        yosys = Yosys()
        yosys.read(emission.verilog, "read_verilog")
        yosys.read(text)
        yosys.run("hierarchy -check -top placed")
        return yosys.run("select -list placed/core").splitlines()[-1]

    assert apart(joined) == "placed/core"


@pytest.mark.parametrize(
    ("name", "changes"), [("p4sgd-switch", {}), ("p4sgd-worker", {"dsp": True})]
)
def test_fusesoc_lints(name, changes, tmp_path):
    written(tmp_path, name, **changes)
    core = f"ingather:ip:{name.replace('-', '_')}"
    fusesoc = Path(sys.executable).with_name("fusesoc")
    command = [fusesoc, "--cores-root", tmp_path, "run", "--target", "lint", core]
    environment = os.environ | verilator_on_path(tmp_path)
    environment["XDG_CONFIG_HOME"] = str(tmp_path)  # what FuseSoC keeps for a user
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "%Warning" not in done.stdout + done.stderr
    assert list(tmp_path.glob("build/**/*.vc")), "FuseSoC has not come to Verilator"


def verilator_on_path(folder):
    """Make Verilator, wherever it is installed, a program that a PATH leads to."""
    tool, programs = find_verilator(), folder / "programs"
    programs.mkdir()
    command = shlex.join(tool.command(folder / "links"))
    script = programs / "verilator"
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    script.chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    return tool.environment(folder / "links") | {"PATH": path}
