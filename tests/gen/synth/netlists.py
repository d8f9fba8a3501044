"""Makes netlists by hand, with cells as (type, connections) and wires as numbers."""

from gen.synth.mapping import MappedModule


def netlist(cells, ports=None, names=None):
    return MappedModule(
        ports={
            port: {"direction": direction, "bits": bits}
            for port, (direction, bits) in (ports or {}).items()
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
