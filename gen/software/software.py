"""Makes the host software of a design: a Python package, and a bench that runs it on the RTL."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from gen.base.registers.python_driver import class_name, python_driver
from gen.base.templates import environment
from gen.software.copies import closure, copied, file_name, source_of, standing
from hdl.common.registers import RegisterMap
from sim.harness.host_side import HostSide
from sim.host.xrt import BUILT

BENCH = "gen.software.bench"
#: what builds the Verilog and runs the bench, and what looks for outputs that are unknown
RUN = (f"{BENCH}.run", f"{BENCH}.known")
COMMON = ("host.device", "host.fake")  #: modules of every package
HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Software:
    """Describes the host software of a design with certain parameters."""

    about: str  #: what it drives, with an article
    map: RegisterMap
    main: str  #: class that drives the design
    modules: Sequence[str]  #: modules of ``sim`` to copy, with all of ours that they import
    exports: Mapping[str, Sequence[str]]  #: what a program imports beside, by module's name
    build: Mapping[str, Any]  #: fields of the class Build in the package's module ``build``
    bench: str  #: module to copy from BENCH; empty if there is none
    reach: str  #: module that reaches a card: xdma, vfio, or register_window
    interrupts: bool = False  #: whether a program can wait for interrupt 0, of MSI-X
    selftest: str  #: module of ``sim`` whose ``main`` is the package's program
    kernel: Mapping[str, Any] | None = None  #: fields of sim.host.xrt.Kernel, if there is one
    places: Mapping[str, Any] = field(default_factory=dict)  #: fields of the build that differ then
    kernel_checks: Sequence[str] = ()  #: checks of the package's program that a kernel passes
    parts: Sequence["Software"] = ()  #: those of parts with pages of registers

    @property
    def registers_built(self) -> str:
        """Return the command that builds the library for a kernel's registers."""
        return BUILT

    @property
    def package(self) -> str:
        """Return the name of the Python package."""
        return f"{self.map.name}_host"

    def package_files(self) -> dict[str, str]:
        """Return the files of the package by path, with packages and drivers of its parts."""
        modules = (*COMMON, f"host.{self.reach}", self.selftest, *self.modules)
        main = environment(HERE).get_template("main.py.j2")
        selftest = self.selftest.rpartition(".")[2]
        if self.kernel is not None:
            modules = (*modules, "host.xrt")
        registers = files("sim.host").joinpath("xrt_registers.cpp").read_text()
        of_parts: dict[str, str] = {}
        for part in self.parts:
            driver = python_driver(part.map)
            of_parts |= part.package_files() | {f"{part.map.name}_driver.py": driver}
        return {
            **of_parts,
            **({f"{self.package}/xrt_registers.cpp": registers} if self.kernel else {}),
            **copied((f"sim.{name}" for name in modules), self.package),
            f"{self.package}/__init__.py": self.init(),
            f"{self.package}/__main__.py": main.render(
                about=self.about, package=self.package, reach=self.reach, selftest=selftest
            ),
        }

    def bench_files(self, verilog: str) -> dict[str, str]:
        """Return the files of the bench, if there is one, with models of primitives, by path."""
        if not self.bench:
            return {}
        return {
            **{f"bench/{file_name(m)}": standing(text, "") for m, text in closure(RUN).items()},
            f"bench/{self.bench}.py": source_of(f"{BENCH}.{self.bench}"),
            **primitives(verilog),
        }

    def init(self) -> str:
        """Return the text of the package's ``__init__.py``."""
        device = "Registers" if self.reach == "register_window" else "Device"
        names = {"Build", device, "DeviceError", "Fake", "BUILD", "attach", "open_card"}
        return (
            environment(HERE)
            .get_template("init.py.j2")
            .render(
                about=self.about,
                driver=f"{self.map.name}_driver",
                registers=class_name(self.map.name),
                main=self.main,
                exports=self.exports,
                all=sorted(names.union(*self.exports.values())),
                build=build_text(self.build),
                kernel=self.kernel and build_text(self.kernel, "Kernel"),
                places=literal(self.places, 4),
                reach=self.reach,
                device=device,
                ready=self.build.get("board", {}).get("memory_ready"),
                interrupts=self.interrupts,
            )
        )


def of_side(side: HostSide, **more: Any) -> dict[str, Any]:
    """Return what a :class:`Software` has of the host's side of its design.

    ``more`` are fields of the build that only a card has.
    """
    return {"map": side.map, "main": side.main.__name__, "build": {**side.build, **more}}


def build_text(fields: Mapping[str, Any], kind: str = "Build") -> str:
    """Return Python that makes an object of a class of these fields, one a line or more."""
    parts = (f"    {name}={literal(value)},\n" for name, value in fields.items())
    return f"{kind}(\n{''.join(parts)})"


def literal(value: Any, indent: int = 8) -> str:
    """Return numbers, texts, and tuples and mappings of them, as Python inside a call.

    Entries of a mapping stand on lines of their own, ``indent`` columns in.
    """
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        before, deeper = " " * indent, indent + 4
        lines = (f"{before}{literal(k)}: {literal(item, deeper)},\n" for k, item in value.items())
        return f"{{\n{''.join(lines)}{before[4:]}}}"
    if isinstance(value, tuple):
        return "(" + "".join(f"{literal(item, indent)}, " for item in value).removesuffix(" ") + ")"
    return repr(value)


def primitives(verilog: str) -> dict[str, str]:
    """Return a model of each of the vendor's primitives that ``verilog`` has an instance of."""
    models = (m for m in files("sim.harness.primitives").iterdir() if m.name.endswith(".v"))
    return {
        f"bench/{model.name}": model.read_text()
        for model in sorted(models, key=lambda model: model.name)
        if re.search(rf"^\s*{model.name[:-2]}\b", verilog, re.MULTILINE)
    }
