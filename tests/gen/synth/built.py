"""Makes estimates and netlists by hand; cells are (type, connections), wires are numbers.

Wire 1 is port ``clk``.
"""

from pathlib import Path

from gen.synth.depth import Depth
from gen.synth.mapping import MappedModule
from gen.synth.memories import MemoryUse
from gen.synth.resources import Resources
from gen.synth.synthesis import ModuleEstimate, Synthesis


def module(name, component, own=None, count=1, children=None, memory=None, depth=None, crowded=()):
    memories = (memory,) if memory else ()
    return ModuleEstimate(
        name=name,
        component=component,
        own=own or Resources(),
        count=count,
        depth=depth or Depth(),
        memories=memories,
        children=children or {},
        unknown={},
        crowded=crowded,
    )


def memory(bits, depth, style="auto", became="lutram"):
    return MemoryUse(name="words", bits=bits, depth=depth, style=style, became=became, cells={})


def synthesis_of(*modules, clocks=()):
    return Synthesis(modules={module.name: module for module in modules}, clocks=clocks)


REPORTS = Path(__file__).parent / "reports"


ENGINE = Resources(lut=9_000, lutram=1_000, ff=18_000, dsp=512, uram=66)


def worker(engines, classes=1):
    """Return the estimate of a worker, whose engines are in sets if there are several classes."""
    count, sets = engines // classes, []
    if classes > 1:
        sets = [
            module("set", "EngineSet", Resources(lut=classes * 200), count, {"engine": classes})
        ]
    return synthesis_of(
        module("memory", "DualPortMemory", Resources(uram=6), count=engines),
        module("engine", "Engine", ENGINE - Resources(uram=6), engines, {"memory": 1}),
        *sets,
        module("transport", "Transport", Resources(lut=1_250, ff=800, bram18=57)),
        module("worker", "Worker", children={"set" if sets else "engine": count, "transport": 1}),
    )


def netlist(cells, ports=None, names=None):
    return MappedModule(
        ports={
            port: {"direction": direction, "bits": bits}
            for port, (direction, bits) in ({"clk": ("input", [1])} | (ports or {})).items()
        },
        cells={
            cell: {"type": kind, "connections": dict(wires), **dict(*more)}
            for cell, (kind, wires, *more) in cells.items()
        },
        names=names or {},
    )


def flip_flop(d, q):
    return "FDRE", {"C": [1], "CE": ["1"], "D": [d], "Q": [q], "R": ["0"]}


def lut(o, *inputs):
    return f"LUT{len(inputs)}", {"O": [o], **{f"I{i}": [bit] for i, bit in enumerate(inputs)}}
