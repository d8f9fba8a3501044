"""Calls the command as a user does: what it writes, and what it says of mistakes."""

import hashlib
import json
import shlex
import subprocess
import sys
from importlib.metadata import version

import pytest

from gen.cli import COMMANDS
from gen.designs.catalogue import commands
from tests.gen.console import ingather, tree

VERSION = version("ingather")
ENGINE = ("generate", "p4sgd-engine", "--preset", "tiny")


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated") / "out put"
    result = ingather(*ENGINE, "--set", "fraction_bits=20", "-o", folder)
    assert result.returncode == 0, result.stderr
    assert str(folder) in result.stdout
    return folder


def test_files_and_manifest_agree(generated):
    files = tree(generated)
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest["parameters"]["fraction_bits"] == 20
    assert manifest["parameters"]["lanes"] == 32
    assert manifest["settings"] == {"fraction_bits": "20"}
    assert {n: hashlib.sha256(t).hexdigest() for n, t in files.items()} == manifest["files"]
    modules = {m["name"]: m for m in manifest["modules"]}
    assert modules[manifest["top"]]["instances"] == 1
    assert {m["file"] for m in modules.values()} == {n for n in files if n.startswith("rtl/")}
    for module in modules.values():
        assert files[module["file"]].decode().count("\nendmodule") == 1
        assert manifest["files"][module["file"]] == module["sha256"]
        head = files[module["file"]].decode().partition("\n")[0]
        assert head == f"// SPDX-License-Identifier: Apache-2.0; made by ingather {VERSION}"
    assert {"clk", "rst", "words_payload"} <= {port["name"] for port in manifest["ports"]}
    # Without registers there are no files of them.
    rest = {name for name in files if not name.startswith("rtl/")}
    parts = {"component.xml", "p4sgd_engine.core", "p4sgd_engine_amaranth.py"}
    assert rest == {"filelist.f", "lint.vlt", "datasheet.html", *parts}


@pytest.mark.parametrize("design", ["p4sgd-worker", "netsparse-snic"])
def test_some_come_with_registers(design, tmp_path):
    result = ingather("generate", design, "--preset", "tiny", "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n") == 1
    registers = json.loads((tmp_path / "out" / "registers.json").read_text())["registers"]
    assert registers[0]["address"] == 0
    assert all(register["fields"] for register in registers)
    name = json.loads((tmp_path / "out" / "registers.json").read_text())["name"]
    sheet = (tmp_path / "out" / "datasheet.html").read_text()
    for file in (f"{name}.rdl", f"{name}.h", f"{name}_driver.py", "registers_html/index.html"):
        assert (tmp_path / "out" / file).is_file()
        assert f'href="{file}"' in sheet


def test_file_list_has_children_before_parents(generated):
    listed = (generated / "filelist.f").read_text().split()
    seen = set()
    names = [name.removeprefix("rtl/").removesuffix(".v") for name in listed]
    for name in names:
        text = (generated / f"rtl/{name}.v").read_text()
        placed = {other for other in names if f"\n  {other} " in text}
        assert placed <= seen
        seen.add(name)


def test_second_run_is_byte_identical(generated, tmp_path):
    before = tree(generated)
    result = ingather(*ENGINE, "--set", "fraction_bits=20", "-o", generated)
    assert result.returncode == 0
    assert tree(generated) == before
    assert [path.name for path in generated.parent.iterdir()] == [generated.name]


#: libraries that take seconds to load and are for other commands
HEAVY = {"dask", "highspy", "matplotlib", "pandas", "pyosys", "sklearn"}


def loaded(result):
    """Return the top packages that a run with ``-X importtime`` has imported."""
    lines = result.stderr.splitlines()
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_all_commands_and_loads_none(option):
    result = ingather(option, python=("-X", "importtime"))
    assert "gen" in loaded(result)
    assert not loaded(result) & {*HEAVY, "amaranth", "numpy"}
    assert result.returncode == 0
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines() if line]
    about = {line[0]: line[1] for line in lines if len(line) > 1}
    assert set(about) >= {*COMMANDS, *commands()}
    assert [text for text in about.values() if text.endswith("...") and "ARGS" not in text] == []


def test_version():
    result = ingather("--version")
    assert result.returncode == 0
    assert result.stdout == f"ingather {VERSION}\n"


COMPLETIONS = [
    ("tr", ["train"]),
    ("train --workers 2 --da", ["--data"]),
    ("sweep diff --com", ["--common"]),
]


@pytest.mark.parametrize(("line", "words"), COMPLETIONS)
def test_a_shell_completes_commands_and_options(line, words):
    count = len(line.split(" "))
    shell = {"COMP_WORDS": f"ingather {line}", "COMP_CWORD": str(count)}
    result = ingather(env={"_INGATHER_COMPLETE": "complete_bash", **shell})
    assert result.returncode == 0
    assert result.stdout.split() == words


def test_list_is_one_line_each_and_loads_nothing_heavy():
    result = ingather("list", "--params", python=("-X", "importtime"))
    assert "gen" in loaded(result)
    assert not loaded(result) & HEAVY
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert any(line.startswith("p4sgd-worker") for line in lines)
    assert any(line.startswith("  tiny") and "lanes=32" in line for line in lines)
    assert any("--set property_buffer_bytes=4096 " in line for line in lines)
    assert any("--set banks=8" in line and "1..16" in line for line in lines)


def test_list_has_the_same_names_for_people_and_programs():
    from gen.designs.catalogue import designs

    lines = ingather("list").stdout.splitlines()
    named = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert named == list(designs())
    known = json.loads(ingather("list", "--json").stdout)
    assert list(known) == named
    worker = known["p4sgd-worker"]
    assert worker["presets"]["tiny"]["lanes"] == 32
    held = {row["bits"]: row["features"] for row in worker["capacity"]["small"]}
    small = designs()["p4sgd-worker"].params_of("small")
    most = [min(small.engine.chunks, small.engine.fifo_words // bits) for bits in (4, 8)]
    lanes = small.engines * small.engine.lanes
    assert [held[4], held[8]] == [lanes * chunks for chunks in most]
    assert worker["capacity"].keys() == worker["presets"].keys()
    assert known["p4sgd-switch"]["capacity"] == {}
    banks = worker["parameters"]["engine.banks"]
    assert (banks["type"], banks["default"], "1..16" in banks["about"]) == ("int", 8, True)
    assert {"samples_per_second", "luts"} <= worker["metrics"][""].keys()
    assert (worker["commands"], list(worker["cards"])) == (["train"], ["u280"])


@pytest.mark.parametrize("command", ["list", "generate", "train", "spmm", "doctor"])
def test_help_has_an_example(command, called):
    result = called(command, "--help")
    assert result.returncode == 0
    assert f"Example: ingather {command}" in result.stdout


@pytest.mark.parametrize("module", ["gen", "gen.cli"])
def test_no_arguments_show_help(module):
    result = ingather(module=module)
    assert result.returncode == 0
    assert "generate" in result.stdout


MISTAKES = [
    (("generate", "p4sgd-workr", "-o", "out"), "did you mean p4sgd-worker?"),
    (("generate", "p4sgd-engine", "--preset", "tiy", "-o", "out"), "did you mean tiny?"),
    ((*ENGINE, "--set", "lans=3", "-o", "out"), "did you mean lanes?"),
    ((*ENGINE, "--set", "lanes", "-o", "out"), "name=value"),
    ((*ENGINE, "--set", "lanes=few", "-o", "out"), "lanes should be a valid integer"),
    ((*ENGINE, "--set", "lanes=0", "-o", "out"), "from 1 to 512"),
    ((*ENGINE, "--set", "l2=perhaps", "-o", "out"), "l2 should be a valid boolean"),
    (("generate", "p4sgd-worker", "--set", "lanes=500", "-o", "out"), "engines x ports must be"),
    (("generate", "-o", "out"), "Missing argument"),
    (ENGINE, "Missing option"),
    ((*ENGINE, "--bogus", "-o", "out"), "No such option"),
    ((*ENGINE, "-o", "taken"), "not made by ingather"),
    ((*ENGINE, "-o", "taken/file"), "not a folder"),
    ((*ENGINE, "-o", "taken/file/out"), "cannot write"),
    (("compile",), "No such command"),
]


@pytest.mark.parametrize(("arguments", "text"), MISTAKES)
def test_mistakes_are_one_line_and_leave_nothing(arguments, text, tmp_path, called):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("precious")
    result = called(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("ingather: ")
    assert result.stderr.count("\n") == 1
    assert text in result.stderr
    assert result.stdout == ""
    assert tree(tmp_path) == {"taken/file": b"precious"}
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_reader_that_stops_is_no_error():
    command = f"{shlex.quote(sys.executable)} -m gen list --params | head -1"
    result = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    )
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1


def test_doctor_finds_what_this_suite_needs():
    result = ingather("doctor")
    assert result.returncode == 0, result.stdout
    assert "verilator" in result.stdout


def test_doctor_names_what_lacks(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "gen", "doctor"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": str(tmp_path)},
    )
    assert result.returncode == 1
    assert "missing: g++, make, perl" in result.stderr
    assert "apt-get install g++" in result.stdout
