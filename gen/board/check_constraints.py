"""Checks constraints against the ports, pins, clocks and cells that they constrain."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gen.base.emission.emit import Port
from gen.board.hierarchy import Hierarchy, glob
from gen.board.pins import Pin, bits_of
from gen.board.tcl import Command, TclError, commands, elements

#: what a file of constraints may say: Vivado takes no other Tcl in it
STATEMENTS = (
    "add_cells_to_pblock",
    "create_clock",
    "create_generated_clock",
    "create_pblock",
    "resize_pblock",
    "set",
    "set_bus_skew",
    "set_clock_groups",
    "set_false_path",
    "set_input_delay",
    "set_max_delay",
    "set_multicycle_path",
    "set_operating_conditions",
    "set_output_delay",
    "set_property",
)
QUERIES = (
    "current_design",
    "expr",
    "get_cells",
    "get_clocks",
    "get_pblocks",
    "get_pins",
    "get_ports",
    "get_property",
    "list",
)
WITH_VALUE = ("-of_objects", "-filter", "-hsc", "-match_style")  #: options of queries


@dataclass(frozen=True)
class Constraint:
    """Holds one command of a file of constraints."""

    file: str
    command: Command

    def __str__(self) -> str:
        return f"{self.file}:{self.command.line}"

    @property
    def queries(self) -> list[Command]:
        """List all queries that the command makes."""
        return self.command.calls

    def names(self, query: str) -> list[str]:
        """Return the names that all of the command's queries of that kind look for."""
        return [name for call in self.queries if call.name == query for name in searched(call)]


def searched(query: Command) -> list[str]:
    """Return the names that a query looks for."""
    names: list[str] = []
    words = iter(query.words[1:])
    for word in words:
        if word in WITH_VALUE:
            next(words, None)
        elif word.startswith("[list") or not word.startswith(("-", "[")):
            names += elements(word)
    return names


def read_constraints(files: Sequence[Path], wrong: list[str]) -> list[Constraint]:
    """Return all commands of ``files``; add to ``wrong`` what is not XDC."""
    result: list[Constraint] = []
    for path in files:
        try:
            parsed = commands(path.read_text())
        except TclError as error:
            wrong.append(f"{path.name} is not Tcl: {error}")
            continue
        for command in parsed:
            near = Constraint(path.name, command)
            result.append(near)
            if command.name not in STATEMENTS:
                wrong.append(f"{near}: {command.name} is no constraint")
            for call in near.queries:
                if call.name not in QUERIES:
                    wrong.append(f"{near}: {call.name} is no query")
    return result


def check_pins(
    constraints: Sequence[Constraint], ports: Sequence[Port], table: Mapping[str, Pin]
) -> Iterator[str]:
    """Report bits of ports that do not have their pin of the table, once, with its standard."""
    expected = [name for port in ports for name in bits_of(port, table)]
    provided: dict[str, list[dict[str, str]]] = {name: [] for name in expected}
    for constraint in constraints:
        for name in constraint.names("get_ports"):
            if name not in provided:
                yield f"{constraint}: the top has no port {name}"
        if constraint.command.name == "set_property":
            properties = properties_of(constraint.command)
            if "PACKAGE_PIN" in properties:
                for name in constraint.names("get_ports"):
                    provided.setdefault(name, []).append(properties)
    for name, placed in provided.items():
        if len(placed) != 1:
            yield (
                f"port {name} has {len(placed) or 'no'} pins"
                if placed
                else (f"port {name} has no pin")
            )
        elif name not in table:
            yield f"port {name} is not in the table of pins"
        else:
            yield from check_pin(table[name], placed[0])
    used = Counter(p["PACKAGE_PIN"] for placed in provided.values() for p in placed)
    yield from (f"pin {pin} is used {times} times" for pin, times in used.items() if times > 1)


def check_pin(pin: Pin, properties: Mapping[str, str]) -> Iterator[str]:
    """Report properties of a port that are not those of the table."""
    if properties["PACKAGE_PIN"] != pin.pin:
        yield f"port {pin.port} is at {properties['PACKAGE_PIN']}, in the table at {pin.pin}"
    if (standard := properties.get("IOSTANDARD", "")) != pin.iostandard:
        yield f"port {pin.port} has standard {standard!r}, in the table {pin.iostandard!r}"
    for name, value in [pin.properties] if pin.properties else []:
        if properties.get(name) != value:
            yield f"port {pin.port} has no {name} {value}"


def properties_of(command: Command) -> dict[str, str]:
    """Map the properties that a ``set_property`` sets to their values."""
    if (pairs := command.option("-dict")) is not None:
        words = elements(pairs)
        return dict(zip(words[::2], words[1::2], strict=False))
    words = [word for word in command.words[1:] if not word.startswith("-")]
    return {words[0]: words[1]} if len(words) > 1 else {}


def check_clocks(
    constraints: Sequence[Constraint], at_pins: Mapping[str, float], by_ips: Mapping[str, str]
) -> Iterator[str]:
    """Report clocks of ``at_pins`` (port: ns) not made once at their period, and unknown names.

    Those of ``by_ips`` (port: IP) are made by an IP, so they are not made again.
    """
    built = [
        c for c in constraints if c.command.name.startswith("create_") and "clock" in c.command.name
    ]
    names = [name for c in built if (name := c.command.option("-name"))]
    periods: dict[str, list[str | None]] = {}
    for constraint in built:
        for port in constraint.names("get_ports"):
            periods.setdefault(port, []).append(constraint.command.option("-period"))
    yield from (f"clock {name} is defined {n} times" for name, n in Counter(names).items() if n > 1)
    for port, provided in periods.items():
        yield from check_clock_port(port, len(provided), at_pins, by_ips)
    for port, period in at_pins.items():
        yield from check_period(port, periods.get(port, []), f"{period:.3f}")
    yield from check_clock_names(constraints, names)


def check_clock_port(
    port: str, times: int, at_pins: Mapping[str, float], by_ips: Mapping[str, str]
) -> Iterator[str]:
    """Report a port with several clocks, with one that an IP makes, or that is no clock input."""
    if times > 1:
        yield f"port {port} has {times} clocks"
    if port in by_ips:
        yield f"port {port} has the clock of {by_ips[port]}, which another would replace"
    elif port not in at_pins:
        yield f"port {port} is no clock of the top"


def check_period(port: str, provided: Sequence[str | None], required: str) -> Iterator[str]:
    """Report a clock of ``port`` whose period, in ns, is not the one wanted."""
    if not provided:
        yield f"clock port {port} has no clock"
    elif any(period != required for period in provided):
        yield f"clock of port {port} has period {provided[0]}, not {required}"


def check_clock_names(constraints: Sequence[Constraint], names: Sequence[str]) -> Iterator[str]:
    """Report clocks that a constraint looks for and that are not among ``names``."""
    for constraint in constraints:
        for name in constraint.names("get_clocks"):
            if not any(glob(name).fullmatch(known) for known in names):
                yield f"{constraint}: no clock {name} is defined"


def check_cells(constraints: Sequence[Constraint], hierarchy: Hierarchy) -> Iterator[str]:
    """Report cells and pins that a constraint names and that do not exist."""
    for constraint in constraints:
        for call in constraint.queries:
            if call.name not in ("get_cells", "get_pins"):
                continue
            find = hierarchy.cells if call.name == "get_cells" else hierarchy.pins
            for name in searched(call):
                if not find(name):
                    kind = call.name.removeprefix("get_").removesuffix("s")
                    yield f"{constraint}: there is no {kind} {name}"


def check_boundaries(constraints: Sequence[Constraint], hierarchy: Hierarchy) -> Iterator[str]:
    """Report registers that a constraint names in a module whose boundary synthesis does not keep.

    Such a register may be merged with one of another module, or move there.
    """
    for constraint in constraints:
        names = constraint.names("get_cells")
        names += [name.rpartition("/")[0] for name in constraint.names("get_pins")]
        flops = (path for name in names for path, kind in hierarchy.cells(name) if kind is None)
        for around in dict.fromkeys(path.rpartition("/")[0] for path in flops):
            ((_, module),) = hierarchy.cells(around) if around else [("", hierarchy.top)]
            if not hierarchy.modules[str(module)].stored:
                yield f"{constraint}: {module} has no keep_hierarchy, so its registers may move"


def check_blocks(constraints: Sequence[Constraint]) -> Iterator[str]:
    """Report pblocks that are made twice, or used and not made."""
    built = Counter(c.command.words[1] for c in constraints if c.command.name == "create_pblock")
    yield from (f"pblock {name} is made {n} times" for name, n in built.items() if n > 1)
    for constraint in constraints:
        used = constraint.names("get_pblocks")
        if constraint.command.name in ("resize_pblock", "add_cells_to_pblock"):
            used += [word for word in constraint.command.words[1:2] if word[0] not in "[-"]
        yield from (f"{constraint}: there is no pblock {n}" for n in used if n not in built)


def check_crossings(
    constraints: Sequence[Constraint], paths: Sequence[str], hierarchy: Hierarchy
) -> Iterator[str]:
    """Report crossings that do not exist, or have no timing exception at their cells or pins."""
    named = [
        name
        for constraint in constraints
        if constraint.command.name in ("set_false_path", "set_max_delay", "set_bus_skew")
        for name in constraint.names("get_cells") + constraint.names("get_pins")
    ]
    for path in paths:
        if not hierarchy.cells(path):
            yield f"there is no crossing at {path}"
        elif not any(name.startswith(f"{path}/") for name in named):
            yield f"the crossing at {path} has no exception"
