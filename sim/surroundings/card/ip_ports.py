"""Lists ports of the vendor's AXI interfaces and their widths, as its documents have them.

Nothing here is taken from ``hdl``: a port that a top places and that is missing here, or is of
another width, is an error of the simulation's build.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class IpPort:
    """Describes a port of a model, seen from the model."""

    name: str
    output: bool
    bits: int = 1
    host: bool = False  #: seen, and if it is an output driven, by the simulation's host in Python

    @property
    def text(self) -> str:
        """Return the declaration in Verilog."""
        direction = "output" if self.output else "input"
        access = " /* verilator public_flat_rd */" if self.host else ""
        return f"  {direction} logic [{self.bits - 1}:0] {self.name}{access}"


def inputs(*names: str, bits: int = 1) -> list[IpPort]:
    """Return inputs of one width."""
    return [IpPort(name=name, output=False, bits=bits) for name in names]


def outputs(*names: str, bits: int = 1) -> list[IpPort]:
    """Return outputs of one width."""
    return [IpPort(name=name, output=True, bits=bits) for name in names]


def axi(
    prefix: str,
    *,
    master: bool,
    address: int,
    data: int,
    identifier: int = 0,
    kind: str = "AXI4",
    extras: tuple[str, ...] = (),
    count: int = 1,
    host: bool = False,
) -> list[IpPort]:
    """Return the ports of an interface of ``kind`` AXI4, AXI3 or AXI4LITE, or of ``count`` such.

    Widths are those of AMBA's AXI specification (ARM IHI 0022). ``extras`` are those of its
    optional signals that an IP has.
    """
    signals = axi_signals(address, data, identifier, kind, extras)
    return [
        IpPort(name=prefix + name, output=forward == master, bits=bits * count, host=host)
        for name, bits, forward in signals
    ]


def axi_signals(
    address: int, data: int, identifier: int, kind: str, extras: tuple[str, ...]
) -> Iterator[tuple[str, int, bool]]:
    """Yield each signal's name, its width, and whether the master drives it."""
    lite = kind == "AXI4LITE"
    optional = {"lock": 1 if kind == "AXI4" else 2, "cache": 4, "prot": 3, "region": 4, "qos": 4}
    for channel in ("aw", "ar"):
        yield f"{channel}addr", address, True
        if not lite:
            yield f"{channel}len", 4 if kind == "AXI3" else 8, True
            yield f"{channel}size", 3, True
            yield f"{channel}burst", 2, True
        if identifier:
            yield f"{channel}id", identifier, True
        for extra in ("prot",) if lite else extras:
            yield channel + extra, optional[extra], True
        yield f"{channel}valid", 1, True
        yield f"{channel}ready", 1, False
    for channel, forward in (("w", True), ("r", False)):
        yield f"{channel}data", data, forward
        if not lite:
            yield f"{channel}last", 1, forward
        yield f"{channel}valid", 1, forward
        yield f"{channel}ready", 1, not forward
    yield "wstrb", data // 8, True
    for channel in "br":
        yield f"{channel}resp", 2, False
        if identifier:
            yield f"{channel}id", identifier, False
    yield "bvalid", 1, False
    yield "bready", 1, True
