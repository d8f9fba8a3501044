import dataclasses
import sys

import pytest

from gen.base.emission.emit import Port, emit
from gen.base.errors import UserError
from gen.synth import mapping
from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams
from sim.harness.cache import cached_folder
from tests.gen.synth.circuits import Bits, Parity


@pytest.fixture(scope="module")
def parity():
    return emit(Parity(Bits(bits=6))).top


def test_a_module_is_mapped_once(parity, monkeypatch, tmp_path):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    source = mapping.source_of(parity, {})
    first = mapping.map_module("parity", source, cached_folder)
    assert first.count() == {"LUT6": 1}
    assert first.ports["i"]["bits"] == first.names["i"]
    monkeypatch.setattr(mapping, "run_yosys", None)
    assert mapping.map_module("parity", source, cached_folder) == first


def test_a_key_is_of_all_that_the_netlist_depends_on(parity, monkeypatch):
    leaf = dataclasses.replace(parity, name="leaf")
    wide = dataclasses.replace(leaf, ports=[Port("i", "input", 7)])
    above = dataclasses.replace(parity, instances={"leaf": 1})
    changed = dataclasses.replace(parity, rtlil=parity.rtlil + "\n")
    runs = [(parity, {}), (changed, {}), (above, {"leaf": leaf}), (above, {"leaf": wide})]
    keys = {mapping.key_of(mapping.source_of(*run)) for run in (*runs, *runs)}
    assert len(keys) == 4
    monkeypatch.setattr(mapping, "yosys_version", lambda: "another")
    assert mapping.key_of(mapping.source_of(parity, {})) not in keys


def test_what_yosys_says_is_reported(parity):
    broken = dataclasses.replace(parity, rtlil="module \\parity_6\n  nonsense\nend\n")
    with pytest.raises(UserError, match=r"Yosys cannot map parity_6: .*nonsense"):
        mapping.map_module("parity_6", mapping.source_of(broken, {}), cached_folder)


def test_a_black_box_has_its_ports(parity):
    text = mapping.black_box(parity)
    assert "attribute \\blackbox 1\nmodule \\parity_6\n" in text
    assert "wire width 6 input 1 \\i\n" in text
    assert "wire width 1 output 2 \\o\n" in text


def test_a_missing_yosys_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyosys.libyosys", None)
    with pytest.raises(UserError, match="Yosys is missing: pip install"):
        mapping.yosys_version()


def test_registers_that_must_stay_are_no_shift_register():
    top = emit(WirePipeline(WirePipelineParams(shape=2, stages=5))).top
    netlist = mapping.map_module(top.name, mapping.source_of(top, {}), cached_folder)
    assert netlist.count() == {"FDRE": 10}
