"""Measures how long each system takes on a switch that all of them share."""

from dataclasses import dataclass
from typing import Any

from hdl.network_switch.engines import engines
from hdl.network_switch.registers import ENGINES
from hdl.network_switch.switch import NetworkSwitch
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Result
from sim.harness.workload import Workload, setting

SYSTEMS = ("forwarding", *ENGINES)


@dataclass(frozen=True, kw_only=True)
class TogetherWorkload(Workload):
    """Asks for the systems that use the switch at the same time."""

    systems: str = setting("all", "Let these systems use the switch, with commas between them.")
    first: str = setting("", "Let the answers of this engine go before all others.")
    loss: float = setting(0.0, "Lose this share of frames on each link, but NetSparse's.", least=0)
    stalls: bool = setting(False, "Let ports refuse to take what the switch sends now and then.")
    seed: int = setting(1, "Draw data, losses and packets with this seed.", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if strange := {*self.systems.split(",")} - {*SYSTEMS, "all"}:
            raise ValueError(f"systems must be all, or of {', '.join(SYSTEMS)}: {min(strange)!r}")
        if self.first not in ("", *ENGINES):
            raise ValueError(f"first must be one of {', '.join(ENGINES)}: {self.first!r}")

    @property
    def named(self) -> tuple[str, ...]:
        """Return the systems by name, in an order of their own."""
        names = SYSTEMS if "all" in self.systems.split(",") else self.systems.split(",")
        return tuple(name for name in SYSTEMS if name in names)


class TogetherSession(MeasuringSession):
    """Measures cycles until each system has all of its results, which are checked."""

    workload = TogetherWorkload
    component = NetworkSwitch
    test_module = "sim.network_switch.in_simulator"
    counted = {
        f"{name}_cycles": f"until {name} has all results; 0: it is not there" for name in SYSTEMS
    }
    minimise = tuple(counted)

    def __init__(self, params: Any, requested: TogetherWorkload) -> None:
        super().__init__(params, requested)
        built = {"", "forwarding", *(engine.name for engine in engines(params))}
        if missing := {*requested.named, requested.first} - built:
            raise ValueError(f"the switch has no engine {', '.join(sorted(missing))}")

    def result(self, result: Any, clock_hz: float) -> Result:
        """Return the cycles of each system."""
        return Result(
            figures={f"{name}_cycles": result["cycles"].get(name, 0) for name in SYSTEMS},
            compared="all weights, sums, properties and packets are right, none comes twice",
            details=result,
        )
