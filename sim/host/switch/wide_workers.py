"""Plays the workers of a job in a simulation of a switch of AllReduces of many numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.golden.reduction.wide_frames import Operation
from sim.golden.reduction.wide_worker import WideWorker
from sim.host.switch.pattern import PatternRecorder
from sim.host.switch.simulated_switch import SimulatedSwitch
from sim.host.switch.switch import Switch

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"  #: Ethernet addresses
JOB, EPOCH, SLOTS = 1, 9, 4  #: the job of all workers, the number of its run, its slots
TURNS = 1000  #: after which a worker would send again; nothing is lost here


class WideWorkers:
    """Plays a worker at each of the first ``count`` ports, whose frames have ``length`` numbers.

    While there is a ``recorder``, it hears when all-reduces are scheduled and waited for.
    """

    recorder: PatternRecorder | None = None

    def __init__(self, device: SimulatedSwitch, switch: Switch, count: int, length: int) -> None:
        self.device, self.switch = device, switch
        self.workers = [
            WideWorker(
                port=port,
                address=SWITCH,
                group=GROUP,
                job=JOB,
                epoch=EPOCH,
                slots=SLOTS,
                length=length,
                timeout=TURNS,
            )
            for port in range(count)
        ]
        switch.set_addresses(SWITCH, GROUP)
        switch.start_job(JOB, ports=[*range(count)], epoch=EPOCH, base=0, slots=SLOTS)

    def all_reduce(
        self, rows: Sequence[NDArray[np.int32]], operation: str
    ) -> list[NDArray[np.int32]]:
        """Return the result that each worker gets of all rows, of which each worker has one."""
        self.schedule(rows, operation)
        return self.results()

    def schedule(self, rows: Sequence[NDArray[np.int32]], operation: str) -> None:
        """Begin an all-reduce, while the workers still compute something else."""
        for worker, row in zip(self.workers, rows, strict=True):
            worker.begin(row, Operation[operation])
        if self.recorder:
            self.recorder.scheduled(rows[0].nbytes)

    def results(self) -> list[NDArray[np.int32]]:
        """Wait for the all-reduce that was begun; return the result of each worker."""
        if self.recorder:
            self.recorder.waits()
        now = 0
        while not all(worker.done for worker in self.workers):
            now += 1
            for port, worker in enumerate(self.workers):
                for frame in worker.due(now):
                    self.device.send(str(port), frame)
            for port, worker in enumerate(self.workers):
                while came := self.device.came[str(port)]:
                    worker.take(came.popleft())
            assert now < TURNS, "the switch does not answer"
        if self.recorder:
            self.recorder.resumed()
        return [worker.result for worker in self.workers]
