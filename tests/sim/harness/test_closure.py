"""Tests what a digest of modules follows: edits that change figures, and no others."""

import shutil
import sys

import pytest

from gen.sweep.subject import find_subject
from sim.harness.cache import CHECKOUT
from sim.harness.closure import OWN, SOURCES, Sources, digest_of, names_in
from sim.harness.emissions import EMITTERS

FIGURES = {"rtl"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of our packages."""
    root = tmp_path_factory.mktemp("checkout")
    for package in OWN:
        ignored = shutil.ignore_patterns("__pycache__", "*.png", "*.svg")
        shutil.copytree(CHECKOUT / package, root / package, ignore=ignored)
    return root


@pytest.fixture
def changes(checkout):
    """Whether an edit of a file changes the digest of some modules."""

    def edited(path, modules):
        before = Sources(checkout).digest(modules)
        text = (checkout / path).read_text()
        (checkout / path).write_text(text + "\n# edited\n")
        after = Sources(checkout).digest(modules)
        (checkout / path).write_text(text)
        return before != after

    return edited


@pytest.mark.parametrize(
    "path",
    [
        "hdl/common/memory.py",
        "hdl/p4sgd/engine/bank.py",
        "gen/base/emission/names.py",
        "sim/p4sgd/training_session.py",
        "sim/harness/verilate.py",
        "sim/harness/primitives/DSP48E2.v",
        "sim/p4sgd/golden/float_sgd.py",
        "sim/p4sgd/golden/formula.py",
        "sim/p4sgd/train_in_simulator.py",
        "sim/surroundings/axi_ram_array.sv",
    ],
)
def test_an_edit_of_what_a_worker_is_measured_with_changes_its_points(path, changes):
    assert changes(path, find_subject("p4sgd-worker").sources(FIGURES))


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "netsparse/rig/unit.py",
        "netsparse/protocol.py",
    ],
)
def test_an_edit_of_something_else_leaves_its_points(path, changes):
    assert not changes(f"hdl/{path}", find_subject("p4sgd-worker").sources(FIGURES))


def test_estimates_follow_the_synthesis(changes):
    worker = find_subject("p4sgd-worker")
    assert changes("gen/synth/mapping.py", worker.sources({"synth"}))
    assert not changes("gen/synth/mapping.py", worker.sources({"rtl"}))


def test_an_edit_of_hardware_leaves_what_does_not_import_it(changes):
    snic, fifo = ["hdl.netsparse.snic", *EMITTERS], ["hdl.common.fifo", *EMITTERS]
    assert not changes("hdl/p4sgd/engine/bank.py", snic)
    assert not changes("hdl/common/round_robin.py", fifo)
    assert changes("hdl/common/round_robin.py", snic)
    assert changes("gen/base/emission/narrowing.py", fifo)


def test_a_users_package_is_followed(tmp_path, monkeypatch):
    package = tmp_path / "closure_of_a_user"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "design.py").write_text("from . import parts\nimport numpy\n")
    (package / "parts.py").write_text("def late():\n    from hdl.common import fifo\n")
    (package / "table.toml").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    files = SOURCES.files(["closure_of_a_user.design"])
    assert {package / name for name in ("design.py", "parts.py", "table.toml")} <= files
    assert CHECKOUT / "hdl/common/fifo.py" in files
    for module in ("closure_of_a_user.none", "closure_of_nobody"):
        with pytest.raises(LookupError, match=rf"no file is of module {module}"):
            digest_of([module])


def test_names():
    text = 'import a.b\nfrom c import d\nx = "e.f:G"\ny = "no. name"\ndef f():\n'
    text += "    from ..g import h\n"
    assert names_in(text) == {"a.b", "c", "c.d", "e.f", "..g", "..g.h"}
