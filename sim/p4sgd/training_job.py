"""What the simulator is told of a training run; light to import, for it waits for its imports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

CERTAIN = 1 << 16  #: a chance of the links
SWITCH_CYCLES = 64  #: more than switch and transport need

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
    fail_beat: int | None = None  #: beat is answered
    fault: int = 0  #: so: a value of sim.surroundings.axi_memory.Fault

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
            "fault": self.fault,
        }


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """How the simulated links behave, and how workers use them; see ``Link``."""

    latency: int = 100  #: cycles of a link, one way
    drop: float = 0.0  #: chance of each packet
    duplicate: float = 0.0  #: likewise
    reorder: float = 0.0  #: likewise
    corrupt: float = 0.0  #: likewise
    displacement: int = 64  #: most cycles by which a packet is late that was reordered or doubled
    seed: int = 1
    slots: int = 0  #: AllReduces under way; 0 for all that the hardware has
    timeout: int = 0  #: cycles; 0 for what suits links and switch
    retries: int = 100  #: before a worker gives a silent switch up; 0 for ever
    peer_retries: int = 1_200_000  #: before it gives other workers up; 0 for ever

    @property
    def fields(self) -> dict[str, int]:
        """The settings port of a link."""
        chances = {
            name: round(getattr(self, name) * CERTAIN)
            for name in ("drop", "duplicate", "reorder", "corrupt")
        }
        return chances | {
            "latency": self.latency,
            "displacement": self.displacement,
            "seed": self.seed,
        }

    def patience(self, workers: int, under_way: int) -> int:
        """Cycles until a packet is sent again, with so many AllReduces under way.

        The switch takes a packet a cycle, so all of their packets may have to wait for each other;
        repeating them sooner would only make the queue longer.
        """
        late = self.displacement if self.reorder or self.duplicate else 0
        longest = 2 * (self.latency + late) + SWITCH_CYCLES + 2 * workers * under_way
        return self.timeout or 2 * longest


@dataclass
class Job:
    """What the simulator is told."""

    settings: list[dict[str, int]]  #: of each worker
    models: list[NDArray[np.int32]]  #: of each worker
    chunks: int
    epochs: int
    memory: MemorySettings = field(default_factory=MemorySettings)
    network: NetworkSettings | None = None  #: None for a worker without a switch
    under_way: int = 1  #: most AllReduces at a time


#: Counters of what every worker does with the same samples.
OF_SAMPLES = ("derivative_saturations", "delta_saturations")


def combined(workers: Sequence[Mapping[str, int]], shares_samples: bool) -> dict[str, int]:
    """The counters of all workers as those of one: the longest time, what all do alike, sums."""
    total = {}
    alike = ("micro_batches", "full_saturations", *(() if shares_samples else OF_SAMPLES))
    for name in workers[0]:
        values = [counters[name] for counters in workers]
        if name in alike:
            assert len(set(values)) == 1, f"the workers differ in {name}: {values}"
            total[name] = values[0]
        else:
            total[name] = max(values) if name == "cycles" else sum(values)
    return total
