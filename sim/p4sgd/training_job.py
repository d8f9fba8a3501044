"""Describes a training run to the simulator; the module imports little, as simulators wait."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sim.surroundings.hbm_refresh import Refresh

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHANCES = ("drop", "duplicate", "reorder", "corrupt")  #: faults of links that have a chance
CERTAIN = 1 << 16  #: value of a link's chance that stands for 1
SWITCH_CYCLES = 64  #: cycles that are more than switch and transport need

JOB_FILE, PROGRESS = "job.pickle", "progress.jsonl"
STOP = "stop"  #: file whose presence says that no further epoch is needed
DISTANCE = 2  #: links between two workers
MODELS = "models.bin"  #: weights as hardware has them, all of an epoch behind those of the last one


@dataclass(frozen=True)
class Members:
    """Names what of a cluster one simulation has: all, or one worker, or the switch."""

    workers: Sequence[int]
    has_switch: bool = False

    @property
    def name(self) -> str:
        """Return the name of a worker or the switch."""
        return "switch" if self.has_switch else f"worker_{self.workers[0]}"


def parts_of(workers: int) -> list[Members]:
    """Return each of ``workers`` by itself, and then the switch."""
    return [*(Members([worker]) for worker in range(workers)), Members([], has_switch=True)]


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    """Says how the simulated memories behave; see ``AxiRam``."""

    latency: int = 128  #: cycles from a burst's address to its first beat
    ar_stall: int = 0  #: chance in 256, every cycle, that an address waits
    r_stall: int = 0  #: chance in 256, every cycle, that no beat comes
    refresh: Refresh | None = None  #: None: the memory never pauses to be refreshed
    seed: int = 1
    fail_index: int = 0  #: number of the memory that answers a beat wrongly
    fail_beat: int | None = None  #: number of that beat; None: all beats are answered rightly
    fault: int = 0  #: what is wrong: a value of sim.surroundings.axi_ram.Fault

    @property
    def fields(self) -> dict[str, int]:
        """Return the values for the settings port of a memory."""
        return {
            "read_latency": self.latency,
            "ar_stall": self.ar_stall,
            "r_stall": self.r_stall,
            "seed": self.seed,
            **(self.refresh.fields if self.refresh else {}),
            "fail_read": int(self.fail_beat is not None),
            "fail_read_beat": self.fail_beat or 0,
            "fail_response": 2,  # AXI's SLVERR
            "fault": self.fault,
        }


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """Says how the simulated links behave, and how workers use them; see ``Link``."""

    latency: int = 100  #: cycles of a link, one way
    drop: float = 0.0  #: chance that a packet is lost
    duplicate: float = 0.0  #: chance that a packet is doubled
    reorder: float = 0.0  #: chance that a packet is delayed beyond later ones
    corrupt: float = 0.0  #: chance that a bit of a packet is flipped
    displacement: int = 64  #: most cycles by which a packet is late that was reordered or doubled
    seed: int = 1
    slots: int = 0  #: most AllReduces under way; 0 for all that the hardware has
    timeout: int = 0  #: cycles until a packet is repeated; 0 for what suits links and switch
    retries: int = 100  #: repetitions until a worker gives a silent switch up; 0 for never
    peer_retries: int = 1_200_000  #: repetitions until it gives other workers up; 0 for never

    @property
    def fields(self) -> dict[str, int]:
        """Return the values for the settings port of a link."""
        return {name: round(getattr(self, name) * CERTAIN) for name in CHANCES} | {
            name: getattr(self, name) for name in ("latency", "displacement", "seed")
        }

    def patience(self, workers: int, under_way: int) -> int:
        """Return the cycles until a packet is sent again, with ``under_way`` AllReduces at a time.

        The switch takes a packet a cycle, so all of their packets may have to wait for each other;
        repeating them sooner would only make the queue longer.
        """
        late = self.displacement if self.reorder or self.duplicate else 0
        longest = 2 * (self.latency + late) + SWITCH_CYCLES + 2 * workers * under_way
        return self.timeout or 2 * longest


@dataclass
class Job:
    """Holds the settings of a training run that the simulator gets."""

    settings: list[dict[str, int]]  #: registers of each worker
    models: "list[NDArray[np.int32]]"  #: initial weights of each worker
    chunks: int
    epochs: int
    memory: MemorySettings = field(default_factory=MemorySettings)
    network: NetworkSettings | None = None  #: None for a worker without a switch
    under_way: int = 1  #: most AllReduces at a time
    steps: list[dict[str, int]] = field(default_factory=list)  #: of each epoch, if they differ

    def step(self, epoch: int) -> dict[str, int]:
        """Return what is set anew before an epoch, from 1 on."""
        return self.steps[epoch - 1] if epoch <= len(self.steps) else {}


#: Names the counters of what every worker does with the same samples.
OF_SAMPLES = ("derivative_saturations", "delta_saturations")


def combined(workers: Sequence[Mapping[str, int]], shares_samples: bool) -> dict[str, int]:
    """Return the counters of all workers as those of one: the longest time, else sums.

    What all workers do alike, with the same samples, counts once.
    """
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
