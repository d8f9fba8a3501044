"""Compares a component with a plain Python model of it, cycle by cycle, on drawn inputs."""

from functools import reduce
from typing import Any, Protocol

from sim.harness.payloads import pack
from sim.harness.plays import played
from tests.hdl.ports import port_shapes

__all__ = ["Model", "follow"]


class Model(Protocol):
    """Is a component in Python: its state, and what its ports show."""

    def preset(self) -> dict[str, int]:
        """Draw settings for the coming cycles, and set registers, which are returned by name."""
        ...

    def draw(self) -> dict[str, Any]:
        """Draw the inputs of a cycle, ``rst`` among them if the model may be reset."""
        ...

    def outputs(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what the outputs show in a cycle; what is left out may be anything."""
        ...

    def step(self, inputs: dict[str, Any]) -> None:
        """Go on to the next cycle."""
        ...


def differs(name: str, result: Any, expected: Any) -> bool:
    """Return whether a port shows anything else; a field that is left out is to be 0."""
    shape = port_shapes().get(name)
    return result != expected and (shape is None or pack(shape, result) != pack(shape, expected))


async def follow(dut: Any, model: Model, runs: int = 100, cycles: int = 40) -> None:
    """Let the component go through ``runs`` of ``cycles`` cycles as the model does.

    All inputs of a run are drawn before it, so that it runs compiled.
    """
    for _ in range(runs):
        for name, value in model.preset().items():
            reduce(getattr, name.split("."), dut).value = value
        rows, golden = [], {}
        for k in range(cycles):
            rows.append(model.draw())
            if not rows[k].get("rst"):
                golden[k] = model.outputs(rows[k])
            model.step(rows[k])
        outputs = {name: port_shapes().get(name) for item in golden.values() for name in item}
        shown = await played(dut, rows, outputs, port_shapes())
        for (k, expected), result in zip(golden.items(), shown, strict=True):
            if any(differs(name, result[name], value) for name, value in expected.items()):
                raise AssertionError(
                    f"{result}, not {expected} behind {rows[max(0, k - 4) : k + 1]}"
                )
