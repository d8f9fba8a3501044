"""Tests a card with a NetSparse switch: registers, counters, links, routes and caches."""

from functools import partial

from sim.host.selftest.card_checks import card_checks
from sim.host.selftest.checks import Check, CheckFailed
from sim.host.selftest.program import run_program
from sim.netsparse.host.switch.netsparse_switch import NetSparseSwitch

ABOUT = (
    "a NetSparse switch: write and read its registers, clear its counters, let each cage hear"
    " itself, enter routes and empty the caches"
)


def checks_of(switch: NetSparseSwitch, mode: str) -> dict[str, Check]:
    """Return the checks of a switch's card by name."""

    def counters() -> dict[str, object]:
        return {"port": switch.port_counters(), "pipe": switch.pipe_counters()}

    return card_checks(switch, counters, mode) | {"routes": lambda _: check_routes(switch)}


main = partial(
    run_program, ABOUT, ("registers", "counters", "links", "routes"), ("loopback",), checks_of
)


def check_routes(switch: NetSparseSwitch) -> str:
    """Enter a route to each node, and no route again; empty the caches; look for faults."""
    ports, nodes = switch.build.fixed["ports"], switch.build.fixed["nodes"]
    for routes in ({node: node % ports for node in range(nodes)}, {}):
        switch.set_routes(routes, uplinks=[])
        if switch.registers.read("route_illegal"):
            raise CheckFailed(f"the switch has no node {nodes - 1}, or no port {ports - 1}")
    switch.reset_packets()
    if faults := switch.faults():
        raise CheckFailed(str(faults[0]))
    return f"routes to all {nodes} nodes were entered, and the caches emptied"
