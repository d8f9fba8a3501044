"""Measures a MINA switch by itself, which jobs hold in turn."""

from dataclasses import dataclass
from typing import Any

from hdl.p4sgd.switch.switch import Switch
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Result
from sim.harness.workload import Workload, setting


@dataclass(frozen=True, kw_only=True)
class TenantSwitchWorkload(Workload):
    """Describes jobs that acquire the switch, use its slots for a while, and release it."""

    turns: int = setting(12, "Let a job try this many times to get the switch.", least=1, most=1000)
    frames: int = setting(
        40, "Send this many frames of a job that has the switch.", least=1, most=10_000
    )
    strays: float = setting(0.2, "Send this share of frames from jobs without it.", least=0, most=1)
    most: int = setting(1, "Let this many jobs hold the switch at a time.", least=1, most=32)
    apart: bool = setting(False, "Grant ports in place of the switch.")
    seed: int = setting(1, "Draw jobs' ports, slots and frames with this seed.", least=0)


class TenantSwitchSession(MeasuringSession):
    """Counts grants, refusals and packets of all jobs, by the switch's own counters.

    Every answer, to packets and to commands, and every counter is compared with the golden model.
    """

    workload = TenantSwitchWorkload
    component = Switch
    test_module = "sim.mina.switch_in_simulator"
    counted = {
        "grants": "of all jobs",
        "refusals": "as other jobs were in the way",
        "granted_cycles": "in which jobs held the switch, of all jobs",
        "busy_cycles": "of those, with a use of a slot under way",
        "operations": "uses of slots that everyone has acknowledged",
        "packets_taken": "that came to a slot",
        "packets_refused": "as their job did not hold the switch, or may not begin a use any more",
        "grant_cycles": "from a command at its port to the grant at the same port, with slots"
        " cleared, the longest",
        "refusal_cycles": "from a command at its port to the refusal, the longest",
        "release_cycles": "from a command at its port to the end of the grant, the longest",
    }
    maximise = ("operations",)

    def result(self, result: Any, clock_hz: float) -> Result:
        """Return what the simulated switch has counted; it has been compared on the way."""
        return Result(
            figures={name: result["figures"][name] for name in self.counted},
            compared="every frame that left and every counter equal the golden model's",
            details={"packets_by_verdict": result["verdicts"], "jobs": result["jobs"]},
        )
