"""Says how a signal passes a primitive: arcs from its inputs to its outputs, and registers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gen.synth.cells import BLOCK_RAM, DSP, FLIP_FLOP, LUT, LUTRAM, SHIFT_REGISTER, URAM

#: levels of a DSP that no register inside cuts: a multiplier or an adder of 48 bits
DSP_LEVELS = 4
#: Levels that a hard block takes from its clock to its outputs, where a flip-flop takes none. A
#: level and its wire are about 0.45 ns of the 4 ns of 250 MHz; block RAM without its output
#: register needs about 1 ns, UltraRAM more, and what the vendor's IP has in front of its ports, of
#: HBM, PCI Express or MAC, nobody tells: as much as block RAM is taken for it.
BLOCK_RAM_LEVELS, URAM_LEVELS, IP_LEVELS = 2, 3, 2
CLOCKS = frozenset(("CLK", "WCLK", "CLKARDCLK", "CLKBWRCLK"))
FLIP_FLOP_CLOCKS = frozenset(("C", "G"))  #: a DSP's C is an operand
CARRY_BITS = {"CARRY4": 4, "CARRY8": 8}
#: register in front of an input of a DSP, by the parameter that sets it
DSP_INPUTS = {
    "A": ("AREG", "MREG"),
    "B": ("BREG", "MREG"),
    "D": ("DREG", "ADREG", "MREG"),
    "C": ("CREG",),
    "OPMODE": ("OPMODEREG",),
    "ALUMODE": ("ALUMODEREG",),
    "INMODE": ("INMODEREG", "MREG"),
    "CARRYIN": ("CARRYINREG",),
    "CARRYINSEL": ("CARRYINSELREG",),
}


@dataclass(frozen=True)
class Arc:
    """Describes a way through a primitive, from one bit of the netlist to another."""

    source: int
    target: int
    levels: int = 0  #: LUTs on the arc
    enters: bool = False  #: comes into a carry chain
    carry: int = 0  #: bits of the chain it passes


@dataclass(frozen=True)
class Ends:
    """Lists the bits where paths start and end at a primitive with registers."""

    starts: tuple[tuple[int, int], ...] = ()  #: bit, levels behind the register
    ends: tuple[int, ...] = ()


Connections = Mapping[str, list[Any]]


def carry_outputs(cell: Mapping[str, Any]) -> Iterator[int]:
    """Yield the bits of a carry chain that can go on in the next cell."""
    return live(cell["connections"].get("CO", ())) if cell["type"] in CARRY_BITS else iter(())


def arcs_of(kind: str, cell: Mapping[str, Any]) -> tuple[list[Arc], Ends] | None:
    """Return arcs and registers of a primitive; None if its kind is not known."""
    wires: Connections = cell["connections"]
    if LUT.fullmatch(kind):
        return through(wires, ("O", "O5", "O6"), levels=1), Ends()
    if kind in CARRY_BITS:
        return list(carry_arcs(wires, CARRY_BITS[kind])), Ends()
    if kind.startswith(("INV", "MUXF", "BUFG")):
        return through(wires, ("O",), levels=0), Ends()
    if FLIP_FLOP.fullmatch(kind):
        return [], registered(wires, ("Q",), FLIP_FLOP_CLOCKS)
    if kind in LUTRAM:
        return lutram_arcs(wires), registered(wires, lutram_outputs(wires))
    if SHIFT_REGISTER.fullmatch(kind):
        addresses = [bit for name, bits in wires.items() if name.startswith("A") for bit in bits]
        arcs = [Arc(a, q, 1) for q in live(wires.get("Q", ())) for a in live(addresses)]
        return arcs, registered(wires, ("Q", "Q15", "Q31"))
    if BLOCK_RAM.fullmatch(kind):
        return [], registered(wires, memory_outputs(wires), levels=BLOCK_RAM_LEVELS)
    if URAM.fullmatch(kind):
        chained = any(live(wires.get("CAS_IN_DOUT_A", ())))
        return [], registered(wires, memory_outputs(wires), levels=URAM_LEVELS + chained)
    if DSP.fullmatch(kind):
        return dsp_arcs(wires, cell.get("parameters", {}))
    return None


def live(bits: Any) -> Iterator[int]:
    """Yield those of ``bits`` that are nets rather than constants."""
    return (bit for bit in bits if isinstance(bit, int))


def through(wires: Connections, outputs: tuple[str, ...], levels: int) -> list[Arc]:
    """Make an arc from every input of a primitive to every one of ``outputs``."""
    inputs = [bit for name, bits in wires.items() if name not in outputs for bit in live(bits)]
    targets = [bit for name in outputs for bit in live(wires.get(name, ()))]
    return [Arc(source, target, levels) for target in targets for source in inputs]


def registered(
    wires: Connections, outputs: Any, clocks: frozenset[str] = CLOCKS, *, levels: int = 0
) -> Ends:
    """Let outputs start paths, ``levels`` behind the clock, and inputs but the clock end them."""
    starts = [(bit, levels) for name in outputs for bit in live(wires.get(name, ()))]
    ends = [
        bit
        for name, bits in wires.items()
        if name not in outputs and name not in clocks
        for bit in live(bits)
    ]
    return Ends(tuple(starts), tuple(ends))


def carry_arcs(wires: Connections, bits: int) -> Iterator[Arc]:
    """Yield arcs by O[i] = S[i] ^ C[i]; S[i] makes CO[i] C[i] or DI[i]; C[0] is CI or CYINIT."""
    outputs, carries = wires.get("O", ()), wires.get("CO", ())
    for index in range(bits):
        for name in ("S", "DI"):
            for source in live(wires.get(name, ())[index : index + 1]):
                if name == "S":
                    yield from carry_arc(source, outputs, index, True, 1)
                for last in range(index, bits):
                    yield from carry_arc(source, carries, last, True, last - index + 1)
                    yield from carry_arc(source, outputs, last + 1, True, last - index + 2)
    for name in ("CI", "CYINIT", "CI_TOP"):
        for source in live(wires.get(name, ())):
            first = 4 if name == "CI_TOP" else 0
            for last in range(first, bits):
                enters = name != "CI"
                yield from carry_arc(source, carries, last, enters, last - first + 1)
                yield from carry_arc(source, outputs, last, enters, last - first + 1)


def carry_arc(source: int, targets: Any, index: int, enters: bool, carry: int) -> Iterator[Arc]:
    """Yield an arc to bit ``index`` of ``targets``, where there is one."""
    for target in live(targets[index : index + 1]):
        yield Arc(source, target, 0, enters, carry)


def memory_outputs(wires: Connections) -> list[str]:
    """List the ports of block RAM or UltraRAM at which words leave."""
    return [name for name in wires if "OUT" in name or name.startswith("DBITERR")]


def lutram_outputs(wires: Connections) -> list[str]:
    """List the ports of a LUT memory at which words are read."""
    return [name for name in wires if name.startswith("DO") or name in ("O", "SPO", "DPO")]


def lutram_arcs(wires: Connections) -> list[Arc]:
    """Return the arcs of reads without a clock: each is a level from its port's address."""
    arcs = []
    for output in lutram_outputs(wires):
        if output == "DPO":
            address = "DPRA"
        elif output in ("O", "SPO"):
            address = "A"
        else:
            address = f"ADDR{output[2:]}" if f"ADDR{output[2:]}" in wires else "ADDR"
        sources = [
            bit
            for name, bits in wires.items()
            if name.rstrip("0123456789") == address
            for bit in live(bits)
        ]
        arcs += [Arc(s, t, 1) for t in live(wires[output]) for s in sources]
    return arcs


def dsp_arcs(wires: Connections, parameters: Mapping[str, Any]) -> tuple[list[Arc], Ends]:
    """Return a DSP's arcs, cut by registers that its parameters set: behind inputs, and P's.

    With a register P all paths end at the inputs and start at the outputs. Without one an input
    that has no register reaches every output; one that has ends a path, and its register starts
    one through the multiplier and the adder.
    """
    outputs = [name for name in wires if is_dsp_output(name)]
    if is_set(parameters, "PREG"):
        return [], registered(wires, outputs)
    targets = [bit for name in outputs for bit in live(wires[name])]
    inputs = [name for name in wires if name not in outputs and name not in CLOCKS]
    cut = [name for name in inputs if has_input_register(name, parameters)]
    controls = [name for name in inputs if name.startswith(("CE", "RST"))]
    ending = [name for name in inputs if name in cut or name in controls]
    arcs = [
        Arc(source, target, DSP_LEVELS)
        for name in inputs
        if name not in ending
        for target in targets
        for source in live(wires[name])
    ]
    starts = [(target, DSP_LEVELS) for target in targets] if cut else []
    return arcs, Ends(tuple(starts), tuple(bit for name in ending for bit in live(wires[name])))


def has_input_register(name: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether a register cuts the way from an input of a DSP to the outputs."""
    return any(is_set(parameters, register) for register in DSP_INPUTS.get(name, ()))


def is_set(parameters: Mapping[str, Any], name: str) -> bool:
    """Return whether a parameter, given by its bits, is not 0; a missing one counts as 1."""
    value = parameters.get(name, 1)
    return int(value, 2) != 0 if isinstance(value, str) else bool(value)


def is_dsp_output(name: str) -> bool:
    """Tell whether a DSP's port is P, a flag of P or a cascade that leaves the DSP."""
    return name in ("P", "XOROUT", "OVERFLOW", "UNDERFLOW") or "OUT" in name or "DETECT" in name


def clocks_of(kind: str) -> frozenset[str]:
    """Return the ports of a primitive that take its clock."""
    return FLIP_FLOP_CLOCKS if FLIP_FLOP.fullmatch(kind) else CLOCKS


def is_output(port: str, cell: Mapping[str, Any]) -> bool:
    """Tell whether a primitive drives one of its ports; of a kind not known the netlist tells."""
    kind, wires = cell["type"], cell["connections"]
    if kind in LUTRAM:
        return port in lutram_outputs(wires)
    if BLOCK_RAM.fullmatch(kind) or URAM.fullmatch(kind):
        return port in memory_outputs(wires)
    if DSP.fullmatch(kind):
        return is_dsp_output(port)
    if (directions := cell.get("port_directions")) is not None:
        return directions[port] == "output"
    return port in ("O", "O5", "O6", "CO", "Q", "Q15", "Q31")
