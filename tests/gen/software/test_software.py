"""Checks what every host package holds, and that it needs nothing of the project."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gen.designs.catalogue import find_design
from gen.software.software import primitives
from tests.gen.software.generated import WITH_SOFTWARE, run, software_of, write

SIMULATOR = {"cocotb", "cocotbext", "cocotb_tools"}


#: arguments of a card that is not there, by how it would be reached
NOWHERE = {"xdma": "('nowhere')", "vfio": "('nowhere', 4096)", "register_window": "('nowhere')"}


def needed(text):
    """Return the packages that a module imports, without those of Python itself."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        else:
            continue
        yield from {name.partition(".")[0] for name in names} - sys.stdlib_module_names


@pytest.mark.parametrize("name", WITH_SOFTWARE)
def test_it_needs_numpy_alone(name):
    software = software_of(name)
    files = {p: text for p, text in software.package_files().items() if p.endswith(".py")}
    simulated = {
        path
        for path, text in files.items()
        if SIMULATOR & {*needed(text)} or "from .simulated" in text
    }
    assert simulated
    drivers = {f"{each.map.name}_driver" for each in (software, *software.parts)}
    for path in files.keys() - simulated:
        assert {*needed(files[path])} <= {"numpy", *drivers}, path
    assert not {*re.findall(r"^from \.(\w+)", files[f"{software.package}/__init__.py"])} & simulated
    known = {"numpy", software.package, *SIMULATOR, "verilator_tool"}
    for text in software.bench_files("").values():
        assert {*needed(text)} <= known


@pytest.mark.parametrize("name", WITH_SOFTWARE)
def test_the_same_parameters_give_the_same_files(name):
    first, second = software_of(name), software_of(name)
    assert first.package_files() == second.package_files()
    assert first.bench_files("") == second.bench_files("")


@pytest.mark.parametrize("name", WITH_SOFTWARE)
def test_it_is_clean(name, tmp_path):
    software = software_of(name)
    for path, text in (software.package_files() | software.bench_files("")).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "100"]
    subprocess.run(
        [*ruff, "--select", "E,F,UP,B,D1", "--ignore", "D102,D105,D107", tmp_path], check=True
    )


@pytest.fixture(scope="module", params=WITH_SOFTWARE)
def generated(request, tmp_path_factory):
    """Return a design's name, and its folder as its guide speaks of it."""
    folder = tmp_path_factory.mktemp(request.param)
    write(request.param, OF_THE_GUIDE.get(request.param, "tiny"), folder)
    return request.param, folder


def test_the_manifest_lists_it(generated):
    name, folder = generated
    files = json.loads((folder / "manifest.json").read_text())["files"]
    software = software_of(name)
    listed = {f"{software.package}/__init__.py", *(["bench/run.py"] if software.bench else [])}
    assert listed <= files.keys()
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")} <= files.keys()
    assert all(text.startswith("# SPDX") for text in map(Path.read_text, folder.rglob("*.py")))


def test_it_is_imported_without_the_project(generated):
    name, folder = generated
    software = software_of(name)
    done = run(
        f"from {software.package} import *\n"
        f"from {software.package} import DeviceError, Fake, attach, open_card\n"
        "try:\n    attach(Fake())\n"
        "except DeviceError as error:\n    print(error)\n"
        f"try:\n    open_card{NOWHERE[software.reach]}.__enter__()\n"
        "except DeviceError as error:\n    print(error)\n"
        "assert not {'gen', 'hdl', 'sim', 'ingather'} & {*sys.modules}\n",
        folder,
    )
    assert done.returncode == 0, done.stderr
    other, missing = done.stdout.splitlines()
    assert other.startswith("the device holds another design: identity is 0, not ")
    assert re.fullmatch("cannot open .*: No such file or directory", missing)


#: what the example of a guide needs: a stand-in where it opens a card, and its data
STAND_IN = """
from contextlib import contextmanager
from importlib import import_module
from {driver} import FIELDS
import {package} as host

class Card(host.Fake):
    def wait_interrupt(self, seconds):
        return True

fake = Card(lambda address, word: end(address, word))

def say(fixed, fields, base=0):
    for name, value in fixed.items():
        place = fields[name]
        for k in range(place.words):
            at, word = base + place.address + 4 * k, value << place.offset >> 32 * k & 0xFFFF_FFFF
            fake.words[at] = fake.words.get(at, 0) | word

say(host.BUILD.fixed, FIELDS)
for page, package, _ in getattr(host.BUILD, "parts", {{}}).values():
    driver = import_module(package.replace("_host", "_driver"))
    say(import_module(package).BUILD.fixed, driver.FIELDS, page << 12)
host.open_card = contextmanager(lambda *where: iter([host.attach(fake)]))

def set_field(name, value):
    fake.words[FIELDS[name].address] = value << FIELDS[name].offset

def told(name, address, word):
    return address == FIELDS[name].address and word >> FIELDS[name].offset & 1

def end(address, word):
    pass
"""
EXAMPLES = {
    "p4sgd-worker": """
import numpy as np
features, labels = np.ones((99, 5)), np.zeros(99)

def end(address, word):  # every run ends well
    if told("start", address, word):
        set_field("done", 1)
""",
    "netsparse-snic": """
waiting = []

def end(address, word):  # requests end at once, in their order
    if told("submit", address, word):
        tag = FIELDS["request_tag"]
        waiting.append(fake.words[tag.address] >> tag.offset & (1 << tag.bits) - 1)
    if told("next_completion", address, word):
        waiting.pop(0)
    set_field("completion_valid", bool(waiting))
    set_field("completion_tag", waiting[0] if waiting else 0)
""",
    "gather-engine": """
def end(address, word):  # requests end at once
    if told("submit", address, word):
        fake.write_memory(fake.words[FIELDS["completion_low"].address] + 15, bytes([0x80]))
""",
    "switchgnn-endpoint": """
import numpy as np
features = np.ones((1, host.BUILD.fixed["lanes"]), int)

def end(address, word):  # a job is over at once
    if told("start", address, word):
        set_field("state", 3)
""",
}
#: the build of which the guide speaks, where it is not the smallest one, and what it prints first
OF_THE_GUIDE = {"netsparse-snic": "small", "gather-engine": "small"}
PRINTED = {
    "forwarding-switch": "{'in_octets': 0, 'in_unicast_pkts': 0",
    "allreduce-switch": "{'ADDED': 0",
    "p4sgd-worker": "{'cycles': 0, ",
    "netsparse-snic": "{'consumed': 0, ",
    "p4sgd-switch": "{'ADDED': 0, ",
    "mina-switch": "{'ADDED': 0, ",
    "netsparse-switch": "{'reads_in_packets': 0, ",
    "network-switch": "{'in_octets': 0, ",
    "switchgnn-switch": "{'ADDED': 0, ",
    "switchgnn-endpoint": "{1: array([0, 0]",
    "gather-engine": "Completion(tag=0, outcome='DONE', cause='NONE', beyond=0, failed=0)\n{",
}


def test_the_example_of_the_guide_runs(generated):
    name, folder = generated
    if not find_design(name).guide:
        assert name not in PRINTED
        return
    (example,) = re.findall(r"```python\n(.*?)```", (folder / "GUIDE.md").read_text(), re.DOTALL)
    software = software_of(name)
    stand_in = STAND_IN.format(driver=f"{software.map.name}_driver", package=software.package)
    done = run(stand_in + EXAMPLES.get(name, "") + example, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(PRINTED[name])


def test_models_of_primitives_come_with_a_bench_that_needs_them():
    assert primitives("  DSP48E2 #(\n").keys() == {"bench/DSP48E2.v"}
    assert primitives("module dsp48e2_user;\n") == {}
