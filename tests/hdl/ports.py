"""Drives plain ports of the component under test with plain values."""

from functools import cache
from typing import Any

from sim.harness.in_simulator import component_in_simulator
from sim.harness.payloads import numbered, pack


@cache
def port_shapes() -> dict[str, Any]:
    """Return the shapes of the plain ports of the component under test."""
    members = component_in_simulator().signature.members
    return {
        path: member.shape
        for name, member in members.items()
        if member.is_port
        for path in numbered(name, member.dimensions)
    }


def put(dut: Any, **values: Any) -> None:
    """Drive plain ports, packed as the component declares them."""
    for name, value in values.items():
        getattr(dut, name).value = pack(port_shapes()[name], value)
