"""Follows what leaves a switch, waits at it and is held by it, slot by slot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.evaluation.baselines import strawman_run
from sim.switchgnn.evaluation.hardware import Hardware
from sim.switchgnn.evaluation.queues import departures, inside, passage
from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.senders import Senders

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Timeline:
    """Counts packets of a switch whose ports move one in and one out in a slot: [slots] each."""

    leaving: Ints  #: packets that leave in the slot, over all ports
    sums: Ints  #: those of them that were made in the switch
    queue: Ints  #: packets that wait for their ports at the end of the slot
    held: Ints  #: aggregators that hold an unfinished sum at the end of the slot

    @property
    def slots(self) -> int:
        """Return the number of slots."""
        return self.leaving.size

    @classmethod
    def joined(cls, parts: Sequence[Self], gap: int = 0) -> Self:
        """Join timelines one after the other, with ``gap`` idle slots between."""

        def column(name: str) -> Ints:
            columns = [np.pad(getattr(each, name), (0, gap)) for each in parts]
            return np.concatenate(columns)[: -gap or None]

        return cls(**{name: column(name) for name in ("leaving", "sums", "queue", "held")})


def plan_timeline(senders: Senders, sequence: Ints, gap: int, turns: int = 1) -> Timeline:
    """Follow a plan's blocks one after the other, each in ``turns`` turns of a slice.

    Each turn begins ``gap`` slots after the last result of the one before has left, which workers
    need to hear of it.
    """
    parts = []
    for block in range(senders.blocks):
        built = passage(senders, sequence, block)
        parts += [_turn(built.taken, built.complete, built.left)] * turns
    return Timeline.joined(parts, gap)


def hardware_timeline(hardware: Hardware, turns: int) -> Timeline:
    """Do the same for the hardware, whose slots are as long as a RESULT takes of a link."""
    limits, parts = hardware.limits, []
    for turn in hardware.turns:
        times = (turn.taken, turn.complete, turn.left - limits.sums)
        parts += [_turn(*((each / limits.sums).astype(np.int64) for each in times))] * turns
    return Timeline.joined(parts, round((3 * limits.link + limits.end) / limits.sums))


def _turn(taken: Ints, complete: Ints, left: Ints) -> Timeline:
    leaving = np.bincount(left)
    held = _until(inside(taken, complete), leaving.size)
    return Timeline(leaving=leaving, sums=leaving, queue=inside(complete, left), held=held)


def strawman_timeline(cut: CutGraph, aggregators: int, seed: int = 1) -> Timeline:
    """Follow the paper's strawman: no blocks, random order."""
    run = strawman_run(cut, aggregators, seed)
    source, receiver = run.raws(cut)
    sums = np.flatnonzero(run.taken >= 0)
    come = np.concatenate([run.complete[sums], run.slot[source]])
    left = departures(come, np.concatenate([cut.worker[sums], receiver]))
    slots = int(left.max()) + 1
    return Timeline(
        leaving=np.bincount(left),
        sums=np.bincount(left[: sums.size], minlength=slots),
        queue=inside(come, left),
        held=_until(inside(run.taken[sums], run.complete[sums]), slots),
    )


def _until(values: Ints, slots: int) -> Ints:
    return np.pad(values, (0, slots - values.size))
