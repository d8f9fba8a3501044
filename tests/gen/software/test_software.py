"""Checks what every host package holds, and that it needs nothing of the project."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gen.designs.catalogue import find_design
from gen.designs.design import load
from gen.software.software import primitives
from tests.gen.software.generated import WITH_SOFTWARE, run, write

SIMULATOR = {"cocotb", "cocotbext", "cocotb_tools"}


#: arguments of a card that is not there, by how it would be reached
NOWHERE = {"xdma": "('nowhere')", "vfio": "('nowhere', 4096)", "register_window": "('nowhere')"}


def software_of(name):
    design = find_design(name)
    return load(design.software)(design.params_of())


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
    files = software.package_files()
    simulated = {
        path
        for path, text in files.items()
        if SIMULATOR & {*needed(text)} or "from .simulated" in text
    }
    assert simulated
    for path in files.keys() - simulated:
        assert {*needed(files[path])} <= {"numpy", f"{software.map.name}_driver"}, path
    assert not {*re.findall(r"^from \.(\w+)", files[f"{software.package}/__init__.py"])} & simulated
    known = {"numpy", software.package, *SIMULATOR, "verilator_tool"}
    for text in software.bench_files("").values():
        assert {*needed(text)} <= known


@pytest.mark.parametrize("name", WITH_SOFTWARE)
def test_the_same_parameters_give_the_same_files(name):
    one, other = software_of(name), software_of(name)
    assert one.package_files() == other.package_files()
    assert one.bench_files("") == other.bench_files("")


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
    assert {f"{software_of(name).package}/__init__.py", "bench/run.py"} <= files.keys()
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


#: what the example of a guide needs: its data, and a stand-in where it opens a card
EXAMPLES = {
    "p4sgd-worker": """
import numpy as np
import p4sgd_worker_host as host
from contextlib import contextmanager
from p4sgd_worker_driver import FIELDS
features, labels = np.ones((99, 5)), np.zeros(99)

def end(address, word):  # every run ends well
    if address == FIELDS["start"].address:
        fake.words[FIELDS["done"].address] = 1 << FIELDS["done"].offset

fake = host.Fake(end)
for name, value in host.BUILD.fixed.items():
    place = FIELDS[name]
    fake.words[place.address] = fake.words.get(place.address, 0) | value << place.offset
host.open_card = contextmanager(lambda prefix: iter([host.attach(fake)]))
""",
    "netsparse-snic": """
import netsparse_snic_host as host
from contextlib import contextmanager
from netsparse_snic_driver import FIELDS

waiting = []

def end(address, word):  # requests end at once, in their order
    if address != FIELDS["submit"].address:
        return
    if word >> FIELDS["submit"].offset & 1:
        tag = FIELDS["request_tag"]
        waiting.append(fake.words[tag.address] >> tag.offset & (1 << tag.bits) - 1)
    if word >> FIELDS["next_completion"].offset & 1:
        waiting.pop(0)
    valid, tag = FIELDS["completion_valid"], FIELDS["completion_tag"]
    fake.words[valid.address] = bool(waiting) << valid.offset
    fake.words[tag.address] = waiting[0] << tag.offset if waiting else 0

fake = host.Fake(end)
for name, value in host.BUILD.fixed.items():
    place = FIELDS[name]
    fake.words[place.address] = fake.words.get(place.address, 0) | value << place.offset
host.open_card = contextmanager(lambda address, size: iter([host.attach(fake)]))
""",
    "gather-engine": """
import gather_engine_host as host
from contextlib import contextmanager
from gather_engine_driver import FIELDS

class Card(host.Fake):
    def wait_interrupt(self, seconds):
        return True

def end(address, word):  # requests end at once
    submit, place = FIELDS["submit"], FIELDS["completion_low"]
    if address == submit.address and word >> submit.offset & 1:
        fake.write_memory(fake.words[place.address] + 15, bytes([0x80]))

fake = Card(end)
for name, value in host.BUILD.fixed.items():
    place = FIELDS[name]
    for k in range(place.words):
        word = value << place.offset >> 32 * k & 0xFFFF_FFFF
        at = place.address + 4 * k
        fake.words[at] = fake.words.get(at, 0) | word
host.open_card = contextmanager(lambda address, size: iter([host.attach(fake)]))
""",
    "switchgnn-endpoint": """
import numpy as np
import switchgnn_endpoint_host as host
from contextlib import contextmanager
from switchgnn_endpoint_driver import FIELDS
features = np.ones((1, host.BUILD.fixed["lanes"]), int)

def end(address, word):  # a job is over at once
    if address == FIELDS["start"].address:
        fake.words[FIELDS["state"].address] = 3 << FIELDS["state"].offset

fake = host.Fake(end)
for name, value in host.BUILD.fixed.items():
    place = FIELDS[name]
    fake.words[place.address] = fake.words.get(place.address, 0) | value << place.offset
host.open_card = contextmanager(lambda prefix: iter([host.attach(fake)]))
""",
}
for name in ("p4sgd-switch", "mina-switch", "netsparse-switch", "switchgnn-switch"):
    EXAMPLES[name] = f"""
import {software_of(name).package} as host
from contextlib import contextmanager
from {software_of(name).map.name}_driver import FIELDS
fake = host.Fake()
for name, value in host.BUILD.fixed.items():
    place = FIELDS[name]
    fake.words[place.address] = fake.words.get(place.address, 0) | value << place.offset
host.open_card = contextmanager(lambda path: iter([host.attach(fake)]))
"""
#: the build of which the guide speaks, where it is not the smallest one, and what it prints first
OF_THE_GUIDE = {"netsparse-snic": "small", "gather-engine": "small"}
PRINTED = {
    "p4sgd-worker": "{'cycles': 0, ",
    "netsparse-snic": "{'consumed': 0, ",
    "p4sgd-switch": "{'ADDED': 0, ",
    "mina-switch": "{'ADDED': 0, ",
    "netsparse-switch": "{'reads_in_packets': 0, ",
    "switchgnn-switch": "{'ADDED': 0, ",
    "switchgnn-endpoint": "{1: array([0, 0]",
    "gather-engine": "Completion(tag=0, outcome='DONE', cause='NONE', beyond=0, failed=0)\n{",
}


def test_the_example_of_the_guide_runs(generated):
    name, folder = generated
    (example,) = re.findall(r"```python\n(.*?)```", (folder / "GUIDE.md").read_text(), re.DOTALL)
    done = run(EXAMPLES[name] + example, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(PRINTED[name])


def test_models_of_primitives_come_with_a_bench_that_needs_them():
    assert primitives("  DSP48E2 #(\n").keys() == {"bench/DSP48E2.v"}
    assert primitives("module dsp48e2_user;\n") == {}
