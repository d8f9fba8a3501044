"""Writes the Verilog around a component that is placed and routed alone."""

from collections.abc import Mapping

from gen.base.emission.emit import EmittedModule, Port, domain_ports

WRAPPER = "routed"
PART = "part"  #: the component's instance


def wrapper(module: EmittedModule, clocks: Mapping[str, str]) -> str:
    """Return a module that has ``module`` between registers, with few pins.

    Each input comes from a register of a chain that is shifted in by one pin, and each output ends
    in a register of its own; ``clocks`` has the clock of each port's registers, if it is not the
    first one. So all paths of the component lie between registers, and no LUT is added.
    """
    pairs = [domain_ports(domain) for domain in module.domains or ("sync",)]
    first = pairs[0][0]
    pins = ", ".join(f"input {name}" for pair in pairs for name in pair)
    lines, before = [f"module {WRAPPER}({pins}, input shift);"], "shift"
    for port in data_ports(module):
        name, edge = port.name, f"always @(posedge {clocks.get(port.name, first)})"
        bits = f"[{port.bits - 1}:0]"
        if port.direction == "input":
            lines.append(f"  reg {bits} {name}; {edge} {name} <= {{{name}, {before}}};")
            before = f"{name}[{port.bits - 1}]"
        else:
            lines.append(f"  wire {bits} {name};")
            lines.append(f"  (* keep *) reg {bits} {name}_end; {edge} {name}_end <= {name};")
    wires = ", ".join(f".{port.name}({port.name})" for port in module.ports)
    return "\n".join([*lines, f"  {module.name} {PART}({wires});", "endmodule", ""])


def port_bits(module: EmittedModule) -> int:
    """Return the number of registers that the wrapper adds."""
    return sum(port.bits for port in data_ports(module))


def data_ports(module: EmittedModule) -> list[Port]:
    """Return all ports but clocks and resets."""
    around = {name for domain in module.domains for name in domain_ports(domain)}
    return [port for port in module.ports if port.name not in around]
