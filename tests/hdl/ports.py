"""Drives ports of the component under test with plain values."""

from functools import cache
from typing import Any

from sim.harness.in_simulator import component_in_simulator
from sim.harness.payloads import pack


@cache
def port_shapes() -> dict[str, Any]:
    """Return the shapes of the ports of the component under test, those of streams among them."""
    component = component_in_simulator()
    members = component.signature.flatten(component)
    return {"_".join(map(str, path)): member.shape for path, member, _ in members}


def put(dut: Any, **values: Any) -> None:
    """Drive ports, packed as the component declares them."""
    for name, value in values.items():
        getattr(dut, name).value = pack(port_shapes()[name], value)
