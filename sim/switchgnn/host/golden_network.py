"""Models the network of an endpoint in a job of two workers: the switch and the other worker.

Both are golden models. No frame is lost between them, and frames take no time.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sim.switchgnn.golden.frames import Frame
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.golden.worker import WorkerModel


@dataclass
class GoldenNetwork:
    """Holds the switch of a job, and ``other``, the worker beside the endpoint."""

    switch: SwitchModel
    port: int  #: port of the switch at which the endpoint is
    other: WorkerModel

    @classmethod
    def of(cls, setup: JobSetup, port: int, other: WorkerModel) -> "GoldenNetwork":
        """Start a job on a new switch; return its network; ValueError if the switch refuses it."""
        switch = SwitchModel(
            ports=setup.ports.bit_length(),
            banks=setup.banks,
            depth=setup.open_turns * setup.depth,
            jobs=other.job + 1,
        )
        if refused := switch.start_job(other.job, setup=setup, epoch=other.epoch, base=0):
            raise ValueError(f"the switch refuses the job: {refused}")
        return cls(switch, port, other)

    def __call__(self, frame: Frame) -> list[Frame]:
        """Take a frame that the endpoint sent; return the frames that go to the endpoint."""
        coming: list[Frame] = []
        going = [(self.port, frame), *self._of_other(self.other.send())]
        while going:
            self.switch.load()
            port, sent = going.pop(0)
            for to, answer in self.switch.take(port, sent):
                if to == self.port:
                    coming.append(answer)
                else:
                    going += self._of_other([*self.other.take(answer), *self.other.send()])
        return coming

    def _of_other(self, frames: Iterable[Frame]) -> list[tuple[int, Frame]]:
        return [(self.other.port, frame) for frame in frames]
