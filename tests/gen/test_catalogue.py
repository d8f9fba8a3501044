"""Checks every design and preset: it emits, lints, and has the ports that were reviewed."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from cocotbext.axi.axi_channels import AxiARBus, AxiAWBus, AxiBBus, AxiRBus, AxiWBus
from pyslang.driver import Driver

from gen.base.emission.emit import emit
from gen.base.settings import make_params
from gen.designs.catalogue import designs
from gen.output.manifest import port_list
from sim.harness import emissions
from sim.harness.primitives import models_of
from sim.harness.verilator import lint
from tests.gen.sample import Pair, PairParams
from tests.icarus import STANDARDS, with_icarus

PORTS = Path(__file__).parent / "ports"
#: what a commit leaves to the long form
BETWEEN = {"small", "8-port", "paper", "spine", "least", "u280-classes"}
#: designs whose largest preset is made of those of others
JOINS = {"network-switch"}


def is_long(design, preset):
    return preset in BETWEEN or (design.name in JOINS and preset != design.preset)


PRESETS = [
    pytest.param(design, preset, marks=pytest.mark.long if is_long(design, preset) else [])
    for design in designs().values()
    for preset in design.presets
]
of_presets = pytest.mark.parametrize(
    ("design", "preset"), PRESETS, ids=lambda value: getattr(value, "name", value)
)


@cache
def emission_of(name, preset):
    design = designs()[name]
    params = make_params(design.params_class, design.settings_of(preset))
    return emissions.emission_of(design.make(params), generated=True)


@of_presets
def test_verilator_accepts(design, preset):
    lint(emission_of(design.name, preset))


def written(emission, folder):
    """Return the files of a design, with models of primitives, of which the first are written."""
    for name, module in emission.modules.items():
        (folder / f"{name}.v").write_text(module.verilog)
    return [*(folder / f"{name}.v" for name in emission.modules), *models_of(emission.verilog)]


def slang_findings(emission, tmp_path):
    driver = Driver()
    driver.addStandardArgs()
    files = " ".join(f'"{path}"' for path in written(emission, tmp_path))
    assert driver.parseCommandLine(f"slang --top {emission.top.name} {files}")
    assert driver.processOptions()
    assert driver.parseAllSources()
    diagnostics = driver.createCompilation().getAllDiagnostics()
    return {str(d.code).removeprefix("DiagCode(").removesuffix(")") for d in diagnostics}


@of_presets
def test_slang_accepts(design, preset, tmp_path):
    assert not slang_findings(emission_of(design.name, preset), tmp_path)


def test_slang_would_complain(tmp_path):
    emission = emit(Pair(PairParams()))
    module = emission.modules["leaf_4"]
    module.verilog = module.verilog.replace("  input wire [3:0] a,\n", "")
    assert slang_findings(emission, tmp_path)


def icarus_findings(emission, folder, standard):
    """Return what Icarus Verilog says of a design's own files."""
    options = [f"-g{standard}", "-Wall", "-Wno-timescale", "-t", "null", "-s", emission.top.name]
    command = ["iverilog", *options, *written(emission, folder)]
    reported = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    return [line for line in reported.splitlines() if str(folder) in line]


@with_icarus
@of_presets
def test_icarus_accepts(design, preset, tmp_path):
    emission = emission_of(design.name, preset)
    assert [icarus_findings(emission, tmp_path, item) for item in STANDARDS] == [[], []]


@with_icarus
def test_icarus_would_complain(tmp_path):
    emission = emit(Pair(PairParams()))
    module = emission.modules["leaf_4"]
    module.verilog = module.verilog.replace("input wire [3:0] a,", "input wire [4:0] a,")
    assert all(icarus_findings(emission, tmp_path, item) for item in STANDARDS)


@of_presets
def test_no_signal_has_a_name_of_cpp(design, preset):
    """Verilator cannot show a signal to C++ (``--public-flat-rw``) that is named by a keyword."""
    keywords = "new|delete|class|this|union|struct|template|private|public|friend|int|char|bool"
    declared = re.compile(rf"^ *(?:input|output|reg|wire)\b.*?\b({keywords}) *[;,=)]", re.M)
    result = {
        (name, *declared.findall(module.verilog))
        for name, module in emission_of(design.name, preset).modules.items()
        if declared.search(module.verilog)
    }
    assert not result


@of_presets
def test_ports_are_as_reviewed(design, preset, request):
    ports = port_list(emission_of(design.name, preset))
    path = PORTS / f"{design.name}-{preset}.txt"
    if request.config.getoption("--update-lists"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(ports)
    assert path.read_text() == ports, "if this change is meant: pytest --update-lists"


def test_models_of_buses_find_all_that_they_insist_on():
    """At every AXI4 port there is what cocotbext-axi's ``from_prefix`` looks for: identifiers too.

    Benches in generated folders (``tests/gen/software/test_benches.py``) put its memories there.
    """
    kinds = {"ar": (AxiARBus, AxiRBus), "aw": (AxiAWBus, AxiWBus, AxiBBus)}
    masters = set()
    for path in PORTS.glob("*.txt"):
        ways = dict(reversed(line.split()[::2]) for line in path.read_text().splitlines()[1:])
        for name in [name for name in ways if name.endswith(("_arlen", "_awlen"))]:
            port, _, channel = name.removesuffix("len").rpartition("_")
            missing = [s for k in kinds[channel] for s in k._signals if f"{port}_{s}" not in ways]
            assert not missing, f"{path.name}: {port} has no {missing}"
            design = next(name for name in designs() if path.stem.startswith(f"{name}-"))
            masters |= {design} if ways[name] == "output" else set()
    own = {"gather-engine", "netsparse-snic", "p4sgd-worker"}
    assert masters == {*own, "switchgnn-endpoint", "switchgnn-switch"}


@of_presets
def test_each_module_is_detected_again(design, preset):
    """Each module of any design is elaborated once, and found again in the cache."""
    emission = emission_of(design.name, preset)
    result = emissions.ModuleCache(asserts=False).find(emission.top.component)
    assert {module.name: module for module in result} == emission.modules


def test_presets_differ_from_each_other():
    for design in designs().values():
        built = [make_params(design.params_class, s) for s in design.presets.values()]
        assert len(set(built)) == len(built)
        assert design.preset in design.presets
