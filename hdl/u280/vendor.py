"""Describes IP of the FPGA's vendor: what it is, how it is set up, which ports it has."""

from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Instance, Value


@dataclass(frozen=True, kw_only=True)
class VendorPort:
    """Describes a port of an IP as a project uses it."""

    name: str
    direction: str  #: "input", "output" or "inout", seen from the IP
    bits: int = 1
    unused: bool = False  #: whether it is an output that may stay unconnected


@dataclass(frozen=True, kw_only=True)
class VendorIp:
    """Describes an IP of the vendor's catalogue and its settings; Tcl makes it, a top places it."""

    name: str  #: name of the module, as the top instantiates it
    vlnv: str  #: vendor:library:name:version
    config: tuple[tuple[str, str], ...] = ()  #: CONFIG.* properties, in order
    ports: tuple[VendorPort, ...] = field(default=())

    @property
    def stub(self) -> str:
        """Return an empty Verilog module with the ports in use, for checks without the IP."""
        ports = ",\n".join(
            f"  {port.direction} wire [{port.bits - 1}:0] {port.name}"
            for port in self.ports
            if not port.unused
        )
        quiet = "// verilator lint_off UNDRIVEN"
        return f"{quiet}\n(* blackbox *)\nmodule {self.name} (\n{ports}\n);\nendmodule\n"

    def place(self, **wires: Any) -> Instance:
        """Return an instance; raise ValueError if a port is not connected at its width."""
        ports = {port.name: port for port in self.ports}
        if unknown := sorted(set(wires) - set(ports)):
            raise ValueError(f"{self.name} has no port {unknown[0]}")
        open_ = [name for name, port in ports.items() if name not in wires and not port.unused]
        if open_:
            raise ValueError(f"{self.name}: port {open_[0]} is not connected")
        connections: dict[str, Any] = {}
        for name, wire in wires.items():
            value, port = Value.cast(wire), ports[name]
            if len(value) != port.bits:
                raise ValueError(
                    f"{self.name}: port {name} has {port.bits} bits, its wire {len(value)}"
                )
            prefix = {"input": "i", "output": "o", "inout": "io"}[port.direction]
            connections[f"{prefix}_{name}"] = value
        return Instance(self.name, **connections)
