"""Asks Yosys which nets of an emitted module are constant, have several names, or are unread."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.base.emission.yosys import YosysError, described
from sim.coverage.data import CoverageError
from sim.coverage.source import Source
from sim.harness.cache import cache_root, cached_folder, digest

#: No pass may rename or remove what has a name. A constant that a register takes under a condition
#: must not become its reset, or what stands before it would look unread. Of `opt`, dead branches of
#: multiplexers are not looked for: that takes many minutes for a table of registers.
PASSES = ("proc", "opt_expr", "opt_merge -nomux", *("opt_dff -nosdff", "opt_clean", "opt_expr") * 2)
KINDS = ("constant", "again", "unread")
NET_FORMAT = "6"  #: version of the format of what the cache holds
POWER_UP = re.compile(r"\(\* init = \S+ \*\)")


@dataclass(frozen=True)
class Nets:
    """Holds what Yosys finds of the bits of a module's signals, by signal."""

    constant: Mapping[str, frozenset[int]]  #: bits that no input of the module can change
    again: Mapping[str, frozenset[int]]  #: bits that are the same net as one with a better name
    unread: Mapping[str, frozenset[int]]  #: bits that nothing in the module reads


def nets_of(sources: Iterable[Source]) -> dict[str, Nets]:
    """Analyse modules; return the answers by key, which are kept in the cache.

    Constants are propagated, also out of instances. An instance's input counts as read if the
    instance reads it. The best name of a net is that of the innermost field of a structure, then
    the shortest. Raises CoverageError where Yosys fails.
    """
    ordered = {source.key: source for whole in sources for source in all_parts(whole)}
    missing = [source for source in ordered.values() if not kept_in(source).is_dir()]
    modules = netlists([source.text for source in missing])
    new = {source.key: module for source, module in zip(missing, modules, strict=True)}
    nets: dict[str, Nets] = {}
    for key, source in ordered.items():

        def write(target: Path, key: str = key, source: Source = source) -> None:
            result = analyse(new[key], {part.name: nets[part.key] for part in source.parts})
            (target / "nets.json").write_text(json.dumps(result, sort_keys=True))

        cached_folder("nets", kept_in(source).name, write)
        result = json.loads((kept_in(source) / "nets.json").read_text())
        nets[key] = Nets(*(bits_by_signal(result[kind]) for kind in KINDS))
    return nets


def all_parts(source: Source) -> Iterator[Source]:
    """Yield a module and all modules below it, parts first."""
    for part in source.parts:
        yield from all_parts(part)
    yield source


def kept_in(source: Source) -> Path:
    """Return the cache's folder for what is known of a module."""
    return cache_root() / "nets" / digest(source.key, *PASSES, NET_FORMAT)


def bits_by_signal(result: Mapping[str, list[int]]) -> dict[str, frozenset[int]]:
    """Turn the list of each signal's bits into a set."""
    return {signal: frozenset(bits) for signal, bits in result.items()}


def analyse(
    module: Mapping[str, Any], parts: Mapping[str, Nets]
) -> dict[str, dict[str, list[int]]]:
    """Return the fields of :class:`Nets` for a netlist and its parts, by name."""
    names = {name: net["bits"] for name, net in module["netnames"].items()}
    best: dict[int, str] = {}
    for name in sorted(names, key=worth):
        for bit in names[name]:
            best.setdefault(bit, name)
    needed, tied = read_nets(module, parts), tied_nets(module, parts)
    result: dict[str, dict[str, list[int]]] = {kind: defaultdict(list) for kind in KINDS}
    for name, bits in names.items():
        for place, bit in enumerate(bits):
            if isinstance(bit, str) or bit in tied:
                result["constant"][name].append(place)
            elif best[bit] != name:
                result["again"][name].append(place)
            elif bit not in needed:
                result["unread"][name].append(place)
    return result


def tied_nets(module: Mapping[str, Any], parts: Mapping[str, Nets]) -> set[int]:
    """Return the nets that are constant because an instance's output is."""
    tied: set[int] = set()
    for cell in module["cells"].values():
        if cell["type"] in parts:
            constant = parts[cell["type"]].constant
            for port, bits in cell["connections"].items():
                tied.update(bits[place] for place in constant.get(port, ()))
    return tied


def read_nets(module: Mapping[str, Any], parts: Mapping[str, Nets]) -> set[int]:
    """Return the nets that a cell, an output, or an instance's read input reads."""
    read: set[int] = set()
    for port in module["ports"].values():
        if port["direction"] != "input":
            read.update(port["bits"])
    for cell in module["cells"].values():
        directions = cell.get("port_directions", {})
        unread = parts[cell["type"]].unread if cell["type"] in parts else {}
        for port, bits in cell["connections"].items():
            if directions.get(port) != "output":
                idle = unread.get(port, ())
                read.update(bit for place, bit in enumerate(bits) if place not in idle)
    return read


def worth(name: str) -> tuple[bool, int, int, str]:
    """Return a key that sorts the names of a net, the best first."""
    return (name.startswith(("$", "_")), -name.count(".") - name.count("["), len(name), name)


def netlists(texts: Sequence[str]) -> list[Any]:
    """Return modules as Yosys' JSON has them: a bit is a net's number, "0", "1" or "x"."""
    # A wire that two registers make up could have two values at power-up.
    plain = [POWER_UP.sub("", text) for text in texts]
    try:
        result = [described(text, *PASSES, language="verilog") for text in plain]
    except YosysError as error:
        raise CoverageError(f"Yosys cannot analyse a module: {error}") from error
    return [next(iter(modules.values())) for modules in result]
