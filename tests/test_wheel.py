"""Tests the distribution as a user has it: a wheel, installed outside of the checkout.

Its environment sees the packages that this one has, but not the checkout. Simulators are shared
with all other tests by the cache.
"""

import json
import os
import shutil
import site
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sim.harness.cache import cache_root

ROOT = Path(__file__).parents[1]
SOURCES = ("gen", "hdl", "sim", "constraints", "ingather.py", "pyproject.toml")
SOURCES += ("README.md", "LICENSE", "NOTICE")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
TINY = ("--preset", "tiny")
SWEEP = """
design = "p4sgd-worker"
preset = "tiny"
metrics = ["cycles_per_epoch"]
set = {samples = 64, features = 64}
grid = {bits = [2]}
"""


def called(*command, **options):
    result = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, **options
    )
    assert "Traceback" not in result.stderr, result.stderr
    return result


def copy_of_checkout(folder):
    """Return what a wheel is built from, as a build in the checkout would mix with its caches."""
    with tarfile.open(folder / "sources.tar", "w") as archive:
        for name in SOURCES:
            archive.add(ROOT / name, name, filter=lambda f: None if "__pycache__" in f.name else f)
    shutil.unpack_archive(folder / "sources.tar", folder / "sources")
    return folder / "sources"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a folder with the environment of an installed wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    sources = copy_of_checkout(folder)
    offline = ("--no-deps", "--no-index")
    build = called(*PIP, "wheel", *offline, "--no-build-isolation", "-w", folder, sources)
    assert build.returncode == 0, build.stderr
    environment = folder / "environment"
    called(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    (wheel,) = folder.glob("*.whl")
    install = called(*PIP, "--python", python, "install", *offline, wheel)
    assert install.returncode == 0, install.stderr
    (packages,) = environment.glob("lib/python*/site-packages")
    # A folder that a .pth names is searched for packages; what its own .pth files say is not done,
    # which is where the checkout would come from.
    (packages / "locked.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    (folder / "home").mkdir()
    (folder / "work").mkdir()
    return folder


@pytest.fixture(scope="module")
def ingather(installed):
    """Call the installed command, in a folder of a user who has no checkout."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(installed / "home"),
        "INGATHER_CACHE": str(cache_root()),
        "INGATHER_OPTIMISE": "0",
    }
    command = installed / "environment" / "bin" / "ingather"

    def run(*arguments):
        return called(command, *arguments, cwd=installed / "work", env=environment, timeout=600)

    return run


def built(ingather, *arguments):
    result = ingather(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_an_installed_wheel_does_what_the_checkout_does(installed, ingather):
    work = installed / "work"
    card = ("generate", "p4sgd-worker", "--board", "u280", "--no-estimate", *TINY, "-o", "card")
    built(ingather, *card)
    assert {"Makefile", "README.md", "rtl", "tcl", "xdc"} <= {
        p.name for p in (work / "card").iterdir()
    }
    trained = built(ingather, "train", *TINY, "--epochs", 1, "-o", "trained")
    assert "equal the golden model's bit for bit" in " ".join(trained.split())
    product = built(ingather, "spmm", *TINY, "--matrix", "queen:rows=80", "-o", "product")
    assert "the product equals scipy's" in product
    (work / "bits.toml").write_text(SWEEP)
    assert "1 points done" in built(
        ingather, "sweep", "bits.toml", "--jobs", 1, "-o", "bits.sqlite"
    )
    report = built(ingather, "report", "trained", "product", "bits.sqlite", "-o", "report.html")
    assert "left out" not in report
    page = (work / "report.html").read_text()
    assert "p4sgd-worker" in page
    assert "queen" in page
    module = json.loads((work / "card" / "manifest.json").read_text())["modules"][0]
    assert (work / "card" / module["file"]).is_file()


def test_its_metadata_report_licence_and_purpose(installed):
    (reported,) = installed.glob("environment/lib/python*/site-packages/ingather-*.dist-info")
    metadata = (reported / "METADATA").read_text()
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert "Description-Content-Type: text/markdown" in metadata
    assert "## What it is not" in metadata
    licences = {
        path.relative_to(reported / "licenses").as_posix() for path in reported.rglob("LICENSE")
    }
    assert licences == {"LICENSE", "sim/mina/data/LICENSE"}


def test_it_came_from_the_wheel_alone(installed):
    code = "import gen, hdl, sim; print(gen.__file__, hdl.__file__, sim.__file__)"
    python = installed / "environment" / "bin" / "python"
    places = called(python, "-c", code, cwd=installed / "work").stdout.split()
    assert len(places) == 3
    assert all(Path(place).is_relative_to(installed / "environment") for place in places)
    assert (Path(places[0]).parent / "tutorials/own_matrix.ipynb").is_file()


@pytest.mark.parametrize("name", ["gen", "hdl", "sim"])
@pytest.mark.parametrize("route", ["script", "module"])
def test_a_package_of_the_user_in_the_path_is_named(installed, tmp_path, name, route):
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    programs = installed / "environment" / "bin"
    command = {
        "script": [programs / "ingather"],
        "module": [programs / "python", "-m", "ingather"],
    }
    path = {"PYTHONPATH": str(tmp_path)} if route == "script" else {}
    result = called(*command[route], "list", cwd=tmp_path, env={"PATH": os.environ["PATH"], **path})
    assert result.returncode == 2
    assert result.stderr.startswith(f"ingather: {tmp_path / name} hides ingather's own package")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["verify", "mutate"])
def test_what_needs_the_tests_says_so_in_one_line(ingather, command):
    result = ingather(command)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "checkout" in result.stderr
