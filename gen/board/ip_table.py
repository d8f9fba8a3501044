"""Holds what the vendor's product guides say of an IP: its properties, ports and rules."""

import ast
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from amaranth.utils import ceil_log2

from gen.base.errors import UserError
from hdl.u280.vendor import VendorIp, VendorPort

FOLDER = Path(__file__).parents[1] / "constraints" / "ip"
PLACES = {"nn": "02", "n": ""}  #: what stands for a number in a name, and how the number is written
FORMS = {"hex": r"(0x)?[0-9A-Fa-f_]+", "real": r"\d+(\.\d+)?", "text": r".*"}
#: what expressions may call; ``max_of`` is the largest of several properties
FUNCTIONS: dict[str, Callable] = {
    "ceil_log2": ceil_log2,
    "int": int,
    "max": max,
    "max_of": max,
    "min": min,
}
Values = Mapping[str, float | str]  #: values of all properties of an IP, numbers as such


class UnsetError(ValueError):
    """Reports a property that decides something, is not set, and has no default."""


@dataclass(frozen=True, kw_only=True)
class IpProperty:
    """Describes a CONFIG property of an IP, or several if ``{nn}`` or ``{n}`` is in ``name``."""

    name: str
    source: str  #: guide and table
    default: str | None = None  #: value unless set; none where it depends on other properties
    n: tuple[int, int] = (0, 0)  #: the first and the last of several
    values: tuple[str, ...] = ()
    range: tuple[int, int] | None = None
    form: str = "text"

    @property
    def names(self) -> list[str]:
        """List the names by which Tcl sets it, one for each number."""
        return [numbered(self.name, k) for k in range(self.n[0], self.n[1] + 1)]

    def value(self, text: str) -> float | str:
        """Return ``text``, as a number if it is one."""
        if self.form == "hex":
            return int(text, 16)
        if text.isdecimal():
            return int(text)
        return float(text) if re.fullmatch(FORMS["real"], text) else text

    def allows(self, value: str) -> bool:
        """Return whether the IP takes ``value``."""
        if self.values:
            return value in self.values
        if self.range is not None:
            low, high = self.range
            return value.isdecimal() and low <= int(value) <= high
        return re.fullmatch(FORMS[self.form], value) is not None

    @property
    def pattern(self) -> str:
        """Return a regular expression that its legal values match."""
        if self.values:
            return "|".join(map(re.escape, self.values))
        return r"\d+" if self.range is not None else FORMS[self.form]


@dataclass(frozen=True, kw_only=True)
class IpPort:
    """Describes a port of an IP, which exists if ``when`` is true of the IP's properties."""

    name: str
    direction: str  #: seen from the IP
    source: str
    bits: str = "1"  #: an expression over the properties
    n: tuple[int, int] = (0, 0)
    when: str = "True"
    required: bool = True  #: an input that may not be left open

    def each(self) -> Iterator["IpPort"]:
        """Yield a port for each number."""
        for k in range(self.n[0], self.n[1] + 1):
            texts = {name: numbered(getattr(self, name), k) for name in ("name", "bits", "when")}
            yield replace(self, n=(0, 0), **texts)


@dataclass(frozen=True, kw_only=True)
class IpRule:
    """A relation that must hold between the properties of an IP."""

    holds: str
    why: str
    source: str


@dataclass(frozen=True, kw_only=True)
class IpTable:
    """Describes an IP as its product guide does."""

    ip: str
    versions: tuple[str, ...]
    guide: str
    property: tuple[IpProperty, ...] = ()
    port: tuple[IpPort, ...] = ()
    rule: tuple[IpRule, ...] = ()

    @cached_property
    def properties(self) -> dict[str, IpProperty]:
        """Map the names that Tcl sets to the IP's properties."""
        return {name: item for item in self.property for name in item.names}

    @cached_property
    def ports(self) -> dict[str, IpPort]:
        """Map the names of all ports to them, whether the IP's settings give it them or not."""
        return {item.name: item for some in self.port for item in some.each()}

    def check(self, ip: VendorIp, config: Mapping[str, str]) -> Iterator[str]:
        """Yield a line for each way in which ``ip``, set up by ``config``, is unlike the guide."""
        lines = list(self.check_properties(config))
        if not lines:
            values = self.values(config)
            lines += self.check_rules(values)
            for port in ip.ports:
                lines += self.check_port(port, values)
            lines += self.check_open({port.name for port in ip.ports}, values)
        yield from (f"{ip.name}: {line}" for line in dict.fromkeys(lines))

    def check_rules(self, values: Values) -> Iterator[str]:
        """Yield a line for each relation between properties that does not hold."""
        for rule in self.rule:
            try:
                if not evaluate(rule.holds, values):
                    yield f"{rule.why} ({rule.holds}; {rule.source})"
            except UnsetError as error:
                yield str(error)

    def check_open(self, provided: Collection[str], values: Values) -> Iterator[str]:
        """Yield the inputs that the IP has and that are not ``provided``."""
        for port in self.ports.values():
            if port.direction == "input" and port.required and port.name not in provided:
                try:
                    if evaluate(port.when, values):
                        yield f"input {port.name} is left open ({port.source})"
                except UnsetError as error:
                    yield str(error)

    def check_properties(self, config: Mapping[str, str]) -> Iterator[str]:
        """Report names that the IP does not have, and values that it does not take."""
        for name, value in config.items():
            known = self.properties.get(name)
            if known is None:
                yield f"{self.ip} has no property {name} ({self.guide})"
            elif not known.allows(value):
                yield f"{name} cannot be {value} ({known.source})"

    def check_port(self, port: VendorPort, values: Values) -> Iterator[str]:
        """Report a port that the IP does not have with these properties, or of another width."""
        known = self.ports.get(port.name)
        if known is None:
            yield f"{self.ip} has no port {port.name} ({self.guide})"
            return
        try:
            present, bits = evaluate(known.when, values), evaluate(known.bits, values)
        except UnsetError as error:
            yield str(error)
            return
        if not present:
            yield f"there is no port {port.name} unless {known.when} ({known.source})"
        elif port.direction != known.direction:
            yield f"{port.name} is an {known.direction} ({known.source})"
        elif port.bits != bits:
            yield f"{port.name} has {bits} bits, not {port.bits}: {known.bits} ({known.source})"

    def values(self, config: Mapping[str, str]) -> Values:
        """Return the value of each property: that of ``config``, or else its default."""
        defaults = {name: item.default for name, item in self.properties.items()}
        provided = {
            name: text for name, text in (defaults | dict(config)).items() if text is not None
        }
        return {name: self.properties[name].value(text) for name, text in provided.items()}


def numbered(name: str, number: int) -> str:
    """Return ``name`` with ``number`` in place of ``{n}`` or ``{nn}``."""
    for place, form in PLACES.items():
        name = name.replace(f"{{{place}}}", f"{number:{form}}")
    return name


def evaluate(expression: str, values: Values) -> Any:
    """Evaluate ``expression`` over properties; raise UnsetError if one has no value."""

    def max_of(name: str, count: int) -> int:
        return max(int(values[numbered(name, k)]) for k in range(count))

    functions = {**FUNCTIONS, "max_of": max_of}
    try:
        return eval(compiled(expression), {"__builtins__": {}}, {**values, **functions})
    except NameError as error:
        raise UnsetError(f"{error.name} has no default: set it") from error


def names_of(expression: str) -> Iterator[str]:
    """Yield the properties and functions that ``expression`` names."""
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Name):
            yield node.id


@cache
def compiled(expression: str) -> Any:
    """Compile ``expression`` to code."""
    return compile(ast.parse(expression, mode="eval"), "constraints/ip", "eval")


@cache
def ip_table(kind: str) -> IpTable | None:
    """Return the table of an IP such as ``axi_crossbar``; None if there is none."""
    path = FOLDER / f"{kind}.toml"
    return read_table(path) if path.exists() else None


def read_table(path: Path) -> IpTable:
    """Read the table of an IP from its file; raise UserError that says what is wrong with it."""
    try:
        content = tomllib.loads(path.read_text())
        return IpTable(
            ip=content["ip"],
            versions=tuple(content["versions"]),
            guide=content["guide"],
            property=tuple(entries(IpProperty, content["property"])),
            port=tuple(entries(IpPort, content["port"])),
            rule=tuple(IpRule(**item) for item in content.get("rule", [])),
        )
    except (TypeError, KeyError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path.name}: {error}") from error


def entries(kind: type, table: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """Yield an object of ``kind`` for each entry of ``table``, with the entry's name."""
    for name, entry in table.items():
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        yield kind(name=name, **fields)


def check_ip(ip: VendorIp, kind: str, config: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each way in which ``ip``, made as ``kind``, is unlike its guide."""
    table = ip_table(kind)
    _, _, meant, version = ip.vlnv.split(":")
    if kind != meant:
        yield f"{ip.name} is made as {kind or 'nothing'}, not {meant}"
    elif table is None:
        yield f"{ip.name}: there is no table of {kind} in constraints/ip"
    elif version not in table.versions:
        yield f"{ip.name}: {kind} {version} is not {' or '.join(table.versions)} ({table.guide})"
    else:
        yield from table.check(ip, config)
