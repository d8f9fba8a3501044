"""Finds what the programming guide of a NetSparse switch says of its build and its registers."""

from collections.abc import Iterator
from typing import Any

from gen.guides import netsparse_switch_uses as uses
from gen.guides.guide import board_facts, facts, filled, lines, tables
from gen.guides.netsparse_packets import (
    IP_BASE,
    MAC_BASE,
    Prs,
    meaning,
    packet,
    packet_values,
    property_of,
)
from hdl.netsparse.concat.concatenator_params import LINE_BYTES, SPARE_QUEUES
from hdl.netsparse.property_cache.params import SEGMENT_BYTES
from hdl.netsparse.protocol import Kind
from hdl.netsparse.switch.params import CLASSES, NetSparseSwitchParams
from hdl.netsparse.switch.registers import constants, switch_registers
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from hdl.u280.cmac_ip import CAGES
from hdl.u280.pcie_ip import BRIDGE, BRIDGE_ID

#: of the known answer: number of the switch, bytes of a property, and what node 0 asks for
SWITCH, BYTES = 1000, 8
FIRST_REQUESTED, THEN_REQUESTED = (130, 105), (105, 199)
#: registers of each table, and what the guide adds to what is said of fields
TABLES = {
    "routes_rows": "route_node route route_inputs uplinks",
    "settings_rows": "mechanisms delays property_bytes stall_limit node mac_base ip_base",
    "state_rows": "identity version sizes packet_sizes cache_size commands state stalled",
    "counts_rows": "counter_select port_count pipe_count",
}
ALSO = {"ports": "P", "pipes": "Q", "nodes": "N"}


def guide(params: NetSparseSwitchParams) -> str:
    """Return the programming guide of a switch, in Markdown."""
    return filled("netsparse_switch.md.j2", values(params))


def values(params: NetSparseSwitchParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers, cache = switch_registers(params), params.cache
    ports, pipes = counter_texts()
    return {
        **packet_values(params.mtu),
        "params": params,
        "package": f"{registers.name}_host",
        "P": params.ports,
        "Q": params.pipes,
        "N": params.nodes,
        **facts(registers, constants(params)),
        "max_beats": params.packet_beats,
        "line_bytes": LINE_BYTES,
        "spare": SPARE_QUEUES,
        "reserve": params.concatenator(True).reserve if params.pool else 0,
        "read_reserve": params.concatenator(False).reserve if params.pool else 0,
        "segment_bytes": SEGMENT_BYTES,
        "modes": list(modes(params)),
        "clearing_cycles": cache.rows,
        "drops": uses.DROPS,
        **tables(registers, TABLES, ALSO),
        "port_counters": [(k, name, what) for k, (name, what) in enumerate(ports.items())],
        "pipe_counters": [(k, name, what) for k, (name, what) in enumerate(pipes.items())],
        **board_facts("links", cages=CAGES, hbm=False, flow="kinds"),
        "bar": dict(BRIDGE.config)["pf0_bar0_size"],
        "device": BRIDGE_ID,
        "cages": CAGES,
        "known": known_answer(),
    }


def counter_texts() -> tuple[dict[str, str], dict[str, str]]:
    """Return what each counter of a port, and of a middle pipe, counts, in their numbers' order."""
    ports = {name: uses.PORT_COUNTED[name.partition("_")[2]] for name, _ in PORT_COUNTERS.counters}
    own = uses.PIPE_COUNTED
    pipes = {name: own.get(name) or meaning(name) for name, _ in PIPE_COUNTERS.counters}
    return ports, pipes


def modes(params: NetSparseSwitchParams) -> Iterator[tuple[int, int, int, int]]:
    """Yield m, the fewest and the most bytes of a property, and the properties that fit a cache."""
    cache, least = params.cache, 4
    for bit in range(cache.segment_bits + 1):
        most = SEGMENT_BYTES << bit
        yield 1 << bit, least, most, cache.cache_bytes // most
        least = most + 4


def known_answer() -> dict[str, Any]:
    """Return what comes to a switch and what leaves it, where a property is found."""

    def reads(idxs: tuple[int, ...], first: int) -> Prs:
        return [({"src": 0, "idx": idx, "id": first + k}, b"") for k, idx in enumerate(idxs)]

    def answers(requested: Prs) -> Prs:
        return [(pr | {"src": 1}, property_of(pr["idx"])) for pr, _ in requested]

    first, then = reads(FIRST_REQUESTED, 0x100), reads(THEN_REQUESTED, 0x102)
    hits, misses = then[:1], then[1:]
    read, response = Kind.READ, Kind.RESPONSE
    steps = (
        (0, "two reads", (read, 0, 1, first), ((1, (read, SWITCH, 1, first)),)),
        (
            1,
            "their responses",
            (response, 1, 0, answers(first)),
            ((0, (response, SWITCH, 0, answers(first))),),
        ),
        (
            0,
            f"two reads, of which that of idx {THEN_REQUESTED[0]} finds its property",
            (read, 0, 1, then),
            ((1, (read, SWITCH, 1, misses)), (0, (response, SWITCH, 0, answers(hits)))),
        ),
    )
    return {
        "switch": SWITCH,
        "bytes": BYTES,
        "mac": f"0x{MAC_BASE:012X}",
        "ip": f"0x{IP_BASE:08X}",
        "steps": [
            {"what": what, **shown(port, come), "left": [shown(to, item) for to, item in left]}
            for port, what, come, left in steps
        ],
    }


def shown(port: int, reported: tuple[Kind, int, int, Prs]) -> dict[str, Any]:
    """Return a packet of the known answer, of kind, source, dest and PRs, and its port."""
    kind, source, dest, prs = reported
    octets = packet(kind, source, dest, BYTES, prs)
    return {"port": port, "kind": CLASSES[kind is not Kind.READ], "packet": lines(octets)}
