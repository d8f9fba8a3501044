"""Simulates a system beside a training, which aggregates and adds up gradients by it."""

from collections.abc import Callable, Sequence
from typing import Any

from sim.golden.arithmetic import Integers
from sim.harness.session import RunFailed
from sim.network_switch.step.params import StepParams
from sim.network_switch.step.requests import Reduce, Reduced, StepBegin
from sim.network_switch.step.system import StepSystem, log_path
from sim.surroundings.pcie.params import host_file
from sim.switchgnn.network.network import empty_memories
from sim.switchgnn.network.rtl_aggregator import RtlNetwork


class StepNetwork(RtlNetwork):
    """Simulates a system for as long as its context lasts, as :class:`RtlNetwork` does."""

    component = StepSystem
    test_module = "sim.network_switch.step.in_simulator"
    params: StepParams

    def __init__(self, *args: Any, pcie_latency: int, irregular: bool, **named: Any) -> None:
        """Take what :class:`RtlNetwork` does, and what :class:`StepBegin` has beside that."""
        super().__init__(*args, **named)
        self.use = StepBegin(**vars(self.use), pcie_latency=pcie_latency, irregular=irregular)
        self.reductions = 0  #: all-reduces that were asked for

    def plusargs(self) -> list[str]:
        """Return arguments of the simulation: memories hold zeros at first, logs have a folder."""
        endpoints, folder = self.params.endpoints, self.folder
        hosts = [host_file(k, folder / "empty.bin") for k in range(endpoints.workers)]
        logs = [log.argument(log_path(folder, log.index)) for log in self.params.logs]
        return [*empty_memories(endpoints, folder), *hosts, *logs]

    def reduce(self, parts: Sequence[Integers]) -> Callable[[], Integers]:
        """Begin an all-reduce; return what waits for its sums, and raises RunFailed without."""
        number, self.reductions = self.reductions, self.reductions + 1
        self.report(Reduce(number=number, parts=list(parts)))

        def wait() -> Integers:
            (answer,) = self.issue(Reduced(number=number))
            if answer.sums is None:
                raise RunFailed(answer.failure)
            return answer.sums

        return wait
