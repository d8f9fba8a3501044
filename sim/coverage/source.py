"""Reads the emitted Verilog that coverage points refer to, module by module."""

import re
from dataclasses import dataclass
from functools import cached_property

from sim.harness.cache import digest

INSTANCE = re.compile(r"^  \\?(\S+) \S+ \($", re.M)
MODULE = re.compile(r"^module (?P<name>\\\S+|\w+).*?^endmodule$", re.M | re.S)


@dataclass(frozen=True)
class Source:
    """Holds the text of a module."""

    name: str
    start: int  #: lines of the file before it
    text: str
    parts: tuple["Source", ...] = ()  #: the modules that it places

    @cached_property
    def key(self) -> str:
        """Return a key that is equal for equal hardware, all the way down."""
        return digest(self.text, *(part.key for part in self.parts))

    @cached_property
    def body(self) -> str:
        """Return the text without the names of modules: equal bodies have the same lines."""
        names = "|".join(re.escape(name) for name in (self.name, *(p.name for p in self.parts)))
        return re.sub(rf"(?<![\w$.])(?:{names})(?![\w$.])", "module", self.text)

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines of the text; the first is number 1, as places count."""
        return ["", *self.text.splitlines()]


def modules_of(verilog: str) -> dict[str, Source]:
    """Return the modules of a file by name; it has parts before the modules that place them."""
    result: dict[str, Source] = {}
    for match in MODULE.finditer(verilog):
        placed = sorted(set(INSTANCE.findall(match[0])) & result.keys())
        result[plain(match["name"])] = Source(
            name=plain(match["name"]),
            start=verilog.count("\n", 0, match.start()),
            text=match[0],
            parts=tuple(result[name] for name in placed),
        )
    return result


def plain(name: str) -> str:
    """Return a name without the backslash that names with special characters have."""
    return name.removeprefix("\\")
