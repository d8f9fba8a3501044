"""Runs ``ingather synth`` on small circuits.

:mod:`tests.gen.synth.test_engine_limits` has it on an engine.
"""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gen.base.errors import UserError
from gen.board import boards, placement
from gen.commands import synth as synth_command
from gen.commands.synth import synth
from gen.designs.design import Card
from gen.shells import shells
from gen.synth.clock_timing import clocks_of_design
from gen.synth.device import DEVICES, U280
from gen.synth.resources import Resources
from hdl.opennic.plugins import P4sgdPlugin
from hdl.p4sgd.switch.params import SwitchParams
from hdl.vitis.kernels import SwitchKernel
from tests.gen.console import ingather
from tests.gen.synth.circuits import CIRCUITS


@pytest.fixture(autouse=True)
def circuits(monkeypatch):
    for module in (synth_command, shells):
        monkeypatch.setattr(module, "find_design", lambda name: CIRCUITS)


def test_the_table_is_for_people(capsys):
    synth("circuits")
    out = capsys.readouterr().out
    assert "sum_16" in out
    assert "fits u280 with the shell" in out


def test_figures_are_json(capsys, tmp_path):
    synth("circuits", json_file=str(tmp_path / "a.json"))
    capsys.readouterr()
    synth("circuits", json_file="-")
    text = capsys.readouterr().out
    assert text == (tmp_path / "a.json").read_text()
    figures = json.loads(text)
    assert (figures["design"], figures["preset"], figures["top"]) == (
        "circuits",
        "only",
        "circuits",
    )
    assert figures["total"]["luts"] == 18 + 12
    assert figures["fits"] is True
    assert figures["lacks"] == []
    assert figures["device"]["slrs"][0]["free"]["uram"] == 320
    assert figures["too_slow"] == []
    assert figures["crossings"] is None


def test_what_does_not_fit_is_said_and_ends_in_an_error_only_if_strict(monkeypatch, capsys):
    offers = Resources(lut=10, ff=10_000, uram=1, dsp=1, bram18=2)
    slr = type(U280.slrs[0])(name="SLR0", offers=offers, shell=Resources())
    small = type(U280)(name="u280", part="part", slrs=(slr,), crossing_wires=0)
    monkeypatch.setitem(DEVICES, "u280", small)
    line = "does not fit u280: LUT needs 30, 10 are free, 20 too many"
    synth("circuits", json_file="-")
    assert json.loads(capsys.readouterr().out)["lacks"] == [line]
    synth("circuits")
    assert line in capsys.readouterr().out
    with pytest.raises(UserError, match=line):
        synth("circuits", strict=True)


CARD = Card(component="tests.gen.synth.circuits:Circuits", preset="only")
ON_CARD = replace(CIRCUITS, cards={"u280": CARD})


@pytest.fixture
def on_card(monkeypatch):
    """Let the circuits be their own top."""
    monkeypatch.setattr(boards, "find_design", lambda name: ON_CARD)
    return monkeypatch


def test_a_card_reports_its_dies(on_card, capsys):
    said = {"kept": (object(), []), "wrong": (None, ["no floorplan: a wire has no register"])}
    for placed in said.values():
        on_card.setattr(placement, "place", lambda *args, placed=placed: placed)
        synth("circuits", card=True)
    stored, wrong = capsys.readouterr().out.split("Estimate by module")[1:]
    assert stored.splitlines()[-1] == "every wire between dies has a register at both ends"
    assert wrong.splitlines()[-1] == "warning: no floorplan: a wire has no register"


def test_a_kernel_is_judged_at_its_own_clock_beside_its_platform(monkeypatch, capsys):
    monkeypatch.setattr(
        shells, "find_design", lambda name: replace(CIRCUITS, shells={"vitis": CARD})
    )
    for mhz in (100, 900):
        synth("circuits", board="vitis", core_mhz=mhz, json_file="-")
        figures = json.loads(capsys.readouterr().out)
        (clock,) = figures["clocks"]
        assert (clock["mhz"], bool(figures["too_slow"])) == (mhz, mhz == 900)
        assert [slr["free"]["bram18"] for slr in figures["device"]["slrs"]] == [1200, 1152, 1200]
        assert figures["crossings"] is None


@pytest.mark.parametrize(
    ("top", "clocks"),
    [
        (SwitchKernel(SwitchParams(ports=2)), {"ap_clk": ("sync", 250)}),
        (P4sgdPlugin(SwitchParams(ports=2)), {"clk": ("sync", 250), "axil_clk": ("axil", 125)}),
    ],
)
def test_tops_for_shells_have_their_clocks(top, clocks):
    emitted = SimpleNamespace(component=top, domains=top.domains)
    assert clocks_of_design(emitted) == clocks


def test_a_design_without_a_top_has_no_card():
    with pytest.raises(UserError, match="p4sgd-engine alone has no top for the u280"):
        synth("p4sgd-engine", card=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"board": "u820"}, "no board 'u820'; did you mean u280"),
        ({"board": "opennic", "core_mhz": 300}, "--core-mhz needs --card or --board vitis"),
        ({"board": "vitis"}, "circuits cannot be a kernel of vitis: it is no design with reg"),
        ({"preset": "onyl"}, "did you mean only"),
        ({"settings": ["lanes=3"]}, "lanes"),
        ({"json_file": "."}, "is a folder"),
        ({"json_file": "none/x.json"}, "there is no folder none"),
    ],
)
def test_mistakes_are_reported_before_any_work(options, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(synth_command, "estimate", None)
    with pytest.raises(UserError) as error:
        synth("circuits", **options)
    assert words in str(error.value)


def test_a_missing_yosys_is_reported_before_any_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyosys.libyosys", None)
    with pytest.raises(UserError, match="pip install ingather"):
        synth("circuits")


def test_help_has_an_example():
    result = ingather("synth", "--help")
    assert result.returncode == 0
    assert "Example: ingather synth" in result.stdout


def test_unknown_design_is_one_line():
    result = ingather("synth", "p4sgd-engin")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert "did you mean p4sgd-engine?" in result.stderr
