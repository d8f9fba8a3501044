"""Plays the workers of a job in a simulation of a switch of AllReduces of many numbers."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.golden.reduction.allreduce import USES
from sim.golden.reduction.frames import IS_AGG
from sim.golden.reduction.wide_frames import EMPTY, NUMBER, Operation, WideFrame, answered, combined
from sim.golden.reduction.wide_rule import WideSlot, wide_rule
from sim.golden.reduction.wide_worker import WideWorker
from sim.host.switch.pattern import PatternRecorder
from sim.host.switch.simulated_switch import SimulatedSwitch
from sim.host.switch.switch import Switch

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"  #: Ethernet addresses
JOB, EPOCH, SLOTS = 1, 9, 4  #: the job of all workers, the number of its run, its slots
SHARES = [0.85, 0.05, 0.05, 0.05]  #: of the slots, in frames out of order
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
        self.start()

    def start(self) -> None:
        """Start the job, which clears its slots."""
        ports = [*range(len(self.workers))]
        self.switch.start_job(JOB, ports=ports, epoch=EPOCH, base=0, slots=SLOTS)

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

    def play_out_of_order(self, rng: np.random.Generator, count: int) -> None:
        """Send ``count`` frames that are repeated, late, early or in time, of a new run of the job.

        After 1000 frames, the first slot has been used almost 256 times. AssertionError if an
        answer is not that of :func:`sim.golden.reduction.wide_rule.wide_rule`, or comes to another
        port, or if a counter of verdicts or of numbers that were clamped is wrong.
        """
        self.switch.clear_counters()
        self.switch.stop_job(JOB)
        self.start()
        everyone, clamped = (1 << len(self.workers)) - 1, 0
        verdicts: Counter[tuple[int, str]] = Counter()
        slots = [WideSlot.at_start(everyone, EMPTY) for _ in range(SLOTS)]
        for _ in range(count):
            seq = int(rng.choice(SLOTS, p=SHARES))
            port, use = self.drawn(rng, slots[seq], everyone)
            frame = any_frame(rng, seq, port, use, self.workers[port].length)
            outcome = wide_rule(slots[seq], frame.packet, everyone, combined=combined)
            slots[seq], answer = outcome.slot, outcome.answer
            verdicts[port, outcome.verdict.name] += 1
            self.device.send(str(port), frame.to_bytes())
            expected = None if answer is None else answered(frame, answer, SWITCH, GROUP)
            for name, came in self.device.came.items():
                own = [] if expected is None or not expected.bm >> int(name) & 1 else [expected]
                assert [*came] == [item.to_bytes() for item in own], f"port {name}, for {frame}"
                came.clear()
            if expected and expected.bm == everyone:
                clamped += expected.saturated
        assert self.switch.counters()["saturations"] == clamped
        counted = self.switch.verdicts()
        result = {(k, name): n for k, row in counted.items() for name, n in row.items() if n}
        assert result == verdicts

    def drawn(self, rng: np.random.Generator, slot: WideSlot, everyone: int) -> tuple[int, int]:
        """Return a port and the use of its frame, mostly what the slot waits for."""
        port, complete = int(rng.integers(len(self.workers))), slot.agg_bm == everyone
        due = rng.integers(8)
        if due < 5:
            missing = (~slot.agg_bm & everyone).bit_length() - 1
            return port if complete else missing, (slot.use + complete) % USES
        other = slot.use ^ 1 << rng.integers(8) if due == 7 else slot.use + rng.integers(-2, 2)
        return port, int(other) % USES


def any_frame(rng: np.random.Generator, seq: int, port: int, use: int, length: int) -> WideFrame:
    """Return a frame for a slot; all activations of a use have the same operation and count."""
    is_agg = rng.integers(8) > 0
    return WideFrame(
        destination=SWITCH,
        flags=IS_AGG * bool(is_agg),
        bm=1 << port,
        job=JOB,
        epoch=EPOCH,
        seq=seq,
        use=use,
        operation=use % len(Operation),
        numbers=rng.integers(-(1 << 31), 1 << 31, (1 + 5 * use % length) * is_agg).astype(NUMBER),
    )
