"""Trains a model on several workers that a switch connects."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.host.device import wait_until
from sim.p4sgd.host.samples import Samples
from sim.p4sgd.host.worker import Worker
from sim.workloads.layout import model_to_weights

EPOCHS = 1 << 16  #: a job's runs are numbered modulo this
WORKER = bytes.fromhex("020000000000")  #: Ethernet address of worker 0; the others' follow
SWITCH, GROUP = bytes.fromhex("02000000ff00"), bytes.fromhex("03000000ff01")
TRANSPORT = {"join": 0, "vanilla": 0, "data_parallel": 0, "from_zero": 0}


class Switch(Protocol):
    """Describes what a job needs of a switch; the package ``p4sgd_switch_host`` provides it."""

    build: Any  #: what the switch was built with

    def set_addresses(self, switch: bytes, group: bytes) -> None:
        """Set the Ethernet addresses of the switch and of the group of workers."""
        ...

    def start_job(self, job: int, *, ports: list[int], epoch: int, base: int, slots: int) -> None:
        """Start a job of the workers at ``ports``, with ``slots`` slots from ``base`` on."""
        ...


class Job:
    """Trains a model on ``workers``, which must be of one build and are connected by ``switch``.

    Worker k is at port k of the switch. At the switch the job has the number ``number``, and
    ``slots`` slots from ``base`` on, by default as many as a worker has. ``epoch`` is the number of
    the job's last run; each :meth:`load` takes the next one. A packet that is not answered within
    ``timeout`` clock cycles is sent again. Raises ValueError for workers of different builds, for
    a switch of another rule, and for more slots than workers have.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        switch: Switch,
        *,
        number: int = 0,
        base: int = 0,
        slots: int | None = None,
        epoch: int = 0,
        timeout: int = 25_000,
    ) -> None:
        if not workers or any(item.build != workers[0].build for item in workers):
            raise ValueError("a job has at least one worker, and all of one build")
        kinds = ("acknowledge sums", "rely on shadow copies")
        own, other = (each.build.fixed["shadow_built"] for each in (workers[0], switch))
        if own != other:
            raise ValueError(
                f"the workers {kinds[own]}, but the switch is for such that {kinds[other]}"
            )
        most = workers[0].build.fixed["slots"]
        self.slots = most if slots is None else slots
        if not 1 <= self.slots <= most:
            raise ValueError(f"slots must be from 1 to {most}: {slots}")
        self.workers, self.switch = list(workers), switch
        self.number, self.base, self.epoch, self.timeout = number, base, epoch, timeout

    def load(
        self,
        codes: ArrayLike,
        labels: ArrayLike,
        *,
        bits: int,
        signed: bool = False,
        weights: ArrayLike | None = None,
        tile: int = 1,
    ) -> None:
        """Reset all workers, write each one's part of the data, and open the job.

        The job is opened at the switch and at all workers. The arguments are those of
        :meth:`Worker.load`. A ValueError is raised before anything is written.
        """
        build, count = self.workers[0].build, len(self.workers)
        samples = Samples.checked(build, codes, labels, bits, signed, count, tile)
        first = (
            np.zeros(build.shape(samples.features), dtype=np.int64) if weights is None else weights
        )
        list(samples.model(first))  # checks the weights before anything is written
        for index, worker in enumerate(self.workers):
            worker.put(samples, first, index)
        self.epoch = (self.epoch + 1) % EPOCHS
        self.switch.set_addresses(SWITCH, GROUP)
        ports = list(range(count))
        self.switch.start_job(
            self.number, ports=ports, epoch=self.epoch, base=self.base, slots=self.slots
        )
        for index, worker in enumerate(self.workers):
            open_job(
                worker,
                index,
                (1 << count) - 1,
                job=self.number,
                epoch=self.epoch,
                base=self.base,
                slots=self.slots,
                timeout=self.timeout,
            )

    def run(
        self, *, loss: str, batch: int, rate: float, epochs: int = 1, l2_shift: int = 0
    ) -> None:
        """Train for ``epochs`` epochs on all workers together, as :meth:`Worker.run` does on one.

        Raises :class:`WorkerStopped`, with the reason, if a worker stops; :meth:`load` begins anew.
        """
        settings = self.workers[0].samples.settings(
            loss=loss, batch=batch, rate=rate, epochs=epochs, l2_shift=l2_shift
        )
        for worker in self.workers:
            worker.begin(settings | TRANSPORT)
        first = self.workers[0]
        # A list, so that each look reads all workers, and one that has stopped is seen at once.
        wait_until(
            first.device,
            lambda: all([worker.ended() for worker in self.workers]),
            "the run",
            first.seconds,
            interrupt=True,
        )

    def weights(self) -> NDArray[np.int64]:
        """Return the weights [features] of all workers."""
        samples = self.workers[0].samples
        models = [worker.model() for worker in self.workers]
        return model_to_weights(models, samples.geometry, samples.features)

    def set_weights(self, weights: ArrayLike) -> None:
        """Write the weights [features] of all workers; none may be at work."""
        for worker in self.workers:
            worker.set_weights(weights)

    def golden(self, weights: ArrayLike, **how: Any) -> NDArray[np.int64]:
        """Return the weights that a run from ``weights`` must end with, by a model in NumPy."""
        return self.workers[0].samples.golden(weights, **how)


def open_job(
    worker: Worker,
    index: int,
    everyone: int,
    *,
    job: int,
    epoch: int,
    base: int,
    slots: int,
    **waiting: int,
) -> None:
    """Open a job at an idle worker, as worker ``index`` of those in the bitmap ``everyone``.

    ``waiting`` are values of registers that limit its waits for the switch and other workers.
    """
    named = {
        "address": WORKER[:-1] + bytes([index]),
        "switch_address": SWITCH,
        "group_address": GROUP,
    }
    worker.open_job(
        **{name: int.from_bytes(octets, "little") for name, octets in named.items()},
        worker=index,
        workers=everyone,
        job=job,
        epoch=epoch,
        slot_base=base,
        slot_count=slots,
        **waiting,
    )
