"""What the simulator is told of a training run; light to import, for it waits for its imports."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

JOB = "INGATHER_TRAINING_JOB"  #: environment variable: the folder of
JOB_FILE, PROGRESS = "job.pickle", "progress.jsonl"


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    """How the simulated memories behave; see ``AxiMemory``."""

    latency: int = 128  #: cycles from a burst's address to its first beat
    ar_stall: int = 0  #: chance in 256, every cycle, that an address waits
    r_stall: int = 0  #: chance in 256, every cycle, that no beat comes
    seed: int = 1
    fail_index: int = 0  #: memory whose
    fail_beat: int | None = None  #: beat is answered with an error

    @property
    def fields(self) -> dict[str, int]:
        """The settings port of a memory."""
        return {
            "latency": self.latency,
            "ar_stall": self.ar_stall,
            "r_stall": self.r_stall,
            "seed": self.seed,
            "fail": int(self.fail_beat is not None),
            "fail_beat": self.fail_beat or 0,
        }


@dataclass
class Job:
    """What the simulator is told."""

    settings: dict[str, int]
    model: NDArray[np.int32]
    chunks: int
    epochs: int
    memory: MemorySettings = field(default_factory=MemorySettings)
