"""What the vendor's product guides say of an IP: its properties, its ports, what must hold."""

import ast
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from amaranth.utils import ceil_log2

from gen.errors import UserError
from hdl.u280.vendor import VendorIp, VendorPort

FOLDER = Path(__file__).parents[1] / "constraints" / "ip"
PLACES = {"nn": "02", "n": ""}  #: in a name, and how their number is written
FORMS = {"hex": r"(0x)?[0-9A-Fa-f_]+", "real": r"\d+(\.\d+)?", "text": r".*"}
#: what expressions may call; ``max_of`` is the largest of several properties
FUNCTIONS: dict[str, Callable] = {
    "ceil_log2": ceil_log2,
    "int": int,
    "max": max,
    "max_of": max,
    "min": min,
}
Values = Mapping[str, float | str]  #: of all properties of an IP, numbers as such


class UnsetError(ValueError):
    """A property decides that nobody has set, and that has no default."""


@dataclass(frozen=True, kw_only=True)
class IpProperty:
    """A CONFIG property of an IP; one of several if its ``name`` has ``{nn}`` or ``{n}`` in it."""

    name: str
    source: str  #: guide and table
    default: str | None = None  #: none where it depends on other properties
    n: tuple[int, int] = (0, 0)  #: the first and the last of several
    values: tuple[str, ...] = ()
    range: tuple[int, int] | None = None
    form: str = "text"

    @property
    def names(self) -> list[str]:
        """List the names by which Tcl sets it, one for each number."""
        return [numbered(self.name, k) for k in range(self.n[0], self.n[1] + 1)]

    def value(self, text: str) -> float | str:
        """``text``, as a number if it is one."""
        if self.form == "hex":
            return int(text, 16)
        if text.isdecimal():
            return int(text)
        return float(text) if re.fullmatch(FORMS["real"], text) else text

    def allows(self, value: str) -> bool:
        """Whether the IP takes ``value``."""
        if self.values:
            return value in self.values
        if self.range is not None:
            low, high = self.range
            return value.isdecimal() and low <= int(value) <= high
        return re.fullmatch(FORMS[self.form], value) is not None

    @property
    def pattern(self) -> str:
        """What its values look like, as a regular expression; a range is one of numbers."""
        if self.values:
            return "|".join(map(re.escape, self.values))
        return r"\d+" if self.range is not None else FORMS[self.form]


@dataclass(frozen=True, kw_only=True)
class IpPort:
    """A port, which is there ``when`` that is true of the properties."""

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
    """An IP as its guide describes it."""

    ip: str
    versions: tuple[str, ...]
    guide: str
    property: tuple[IpProperty, ...] = ()
    port: tuple[IpPort, ...] = ()
    rule: tuple[IpRule, ...] = ()

    @cached_property
    def properties(self) -> dict[str, IpProperty]:
        """Map the names that Tcl sets to the IP's properties."""
        return {name: one for one in self.property for name in one.names}

    @cached_property
    def ports(self) -> dict[str, IpPort]:
        """Map the names of all ports to them, whether the IP's settings give it them or not."""
        return {one.name: one for some in self.port for one in some.each()}

    def check(self, ip: VendorIp, config: Mapping[str, str]) -> Iterator[str]:
        """What of ``ip`` as ``config`` sets it up is not as the guide says, a line each."""
        lines = list(self.check_properties(config))
        if not lines:
            values = self.values(config)
            lines += self.check_rules(values)
            for port in ip.ports:
                lines += self.check_port(port, values)
            lines += self.check_open({port.name for port in ip.ports}, values)
        yield from (f"{ip.name}: {line}" for line in dict.fromkeys(lines))

    def check_rules(self, values: Values) -> Iterator[str]:
        """Yield what is wrong between properties."""
        for rule in self.rule:
            try:
                if not evaluate(rule.holds, values):
                    yield f"{rule.why} ({rule.holds}; {rule.source})"
            except UnsetError as error:
                yield str(error)

    def check_open(self, given: Collection[str], values: Values) -> Iterator[str]:
        """Yield the inputs that the IP has and that are not ``given``."""
        for port in self.ports.values():
            if port.direction == "input" and port.required and port.name not in given:
                try:
                    if evaluate(port.when, values):
                        yield f"input {port.name} is left open ({port.source})"
                except UnsetError as error:
                    yield str(error)

    def check_properties(self, config: Mapping[str, str]) -> Iterator[str]:
        """Names that the IP does not have, and values that it does not take."""
        for name, value in config.items():
            known = self.properties.get(name)
            if known is None:
                yield f"{self.ip} has no property {name} ({self.guide})"
            elif not known.allows(value):
                yield f"{name} cannot be {value} ({known.source})"

    def check_port(self, port: VendorPort, values: Values) -> Iterator[str]:
        """Whether the IP has ``port`` where its properties are ``values``, and as wide."""
        known = self.ports.get(port.name)
        if known is None:
            yield f"{self.ip} has no port {port.name} ({self.guide})"
            return
        try:
            there, bits = evaluate(known.when, values), evaluate(known.bits, values)
        except UnsetError as error:
            yield str(error)
            return
        if not there:
            yield f"there is no port {port.name} unless {known.when} ({known.source})"
        elif port.direction != known.direction:
            yield f"{port.name} is an {known.direction} ({known.source})"
        elif port.bits != bits:
            yield f"{port.name} has {bits} bits, not {port.bits}: {known.bits} ({known.source})"

    def values(self, config: Mapping[str, str]) -> Values:
        """Of each property, from ``config`` or by default."""
        defaults = {name: one.default for name, one in self.properties.items()}
        given = {name: text for name, text in (defaults | dict(config)).items() if text is not None}
        return {name: self.properties[name].value(text) for name, text in given.items()}


def numbered(name: str, number: int) -> str:
    """``name`` with ``number`` in its places."""
    for place, form in PLACES.items():
        name = name.replace(f"{{{place}}}", f"{number:{form}}")
    return name


def evaluate(expression: str, values: Values) -> Any:
    """The value of ``expression`` over properties; UnsetError for one that has none."""

    def max_of(name: str, count: int) -> int:
        return max(int(values[numbered(name, k)]) for k in range(count))

    functions = {**FUNCTIONS, "max_of": max_of}
    try:
        return eval(compiled(expression), {"__builtins__": {}}, {**values, **functions})
    except NameError as error:
        raise UnsetError(f"{error.name} has no default: set it") from error


def names_of(expression: str) -> Iterator[str]:
    """The properties and functions that ``expression`` names."""
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Name):
            yield node.id


@cache
def compiled(expression: str) -> Any:
    """Compile ``expression`` to code."""
    return compile(ast.parse(expression, mode="eval"), "constraints/ip", "eval")


@cache
def ip_table(kind: str) -> IpTable | None:
    """The table of an IP such as ``axi_crossbar``; None if there is none."""
    path = FOLDER / f"{kind}.toml"
    return read_table(path) if path.exists() else None


def read_table(path: Path) -> IpTable:
    """A table from its file; UserError says what of it is wrong."""
    try:
        content = tomllib.loads(path.read_text())
        return IpTable(
            ip=content["ip"],
            versions=tuple(content["versions"]),
            guide=content["guide"],
            property=tuple(entries(IpProperty, content["property"])),
            port=tuple(entries(IpPort, content["port"])),
            rule=tuple(IpRule(**one) for one in content.get("rule", [])),
        )
    except (TypeError, KeyError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path.name}: {error}") from error


def entries(kind: type, table: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """Each entry of ``table``, by its name, as a ``kind``."""
    for name, entry in table.items():
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        yield kind(name=name, **fields)


def check_ip(ip: VendorIp, kind: str, config: Mapping[str, str]) -> Iterator[str]:
    """What of ``ip``, made as ``kind`` and set up by ``config``, its guide does not have."""
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
