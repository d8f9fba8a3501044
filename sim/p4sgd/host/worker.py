"""Trains on a worker: loads data, runs epochs, reads weights and counters back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.host.device import Device, DeviceError, check_design, wait_until, write_wide
from sim.p4sgd.host.build import Build
from sim.p4sgd.host.samples import Samples
from sim.workloads.layout import model_to_weights

SECONDS = 60.0  #: the longest wait for the hardware unless told otherwise
ADDRESSES = ("address", "switch_address", "group_address")  #: of Ethernet, numbers of 48 bits
TRANSPORT = {"join": 1, "vanilla": 0, "data_parallel": 0, "from_zero": 0}  #: of a worker alone


class WorkerStopped(DeviceError):
    """Reports that a run stopped; ``cause`` is the name of the reason."""

    def __init__(self, cause: str, why: str, owner: str = "the worker") -> None:
        super().__init__(f"{owner} stopped: {cause}" + (f", {why}" if why else ""))
        self.cause = cause


class Worker:
    """Drives one worker, which trains alone, on ``device``.

    ``registers`` is an object of the generated driver's class on the same device. ``seconds`` is
    the longest that a run or a reset may take. Raises :class:`DeviceError` if the device holds
    another design than ``build``.
    """

    def __init__(self, device: Device, registers: Any, build: Build) -> None:
        self.device, self.registers, self.build = device, registers, build
        self.seconds = SECONDS
        self._samples: Samples | None = None
        self._index = 0  # of the workers that have the samples
        self.name = "the worker"
        check_design(registers, build.fixed)

    @property
    def samples(self) -> Samples:
        """Return the data that are loaded; ValueError if there are none."""
        if self._samples is None:
            raise ValueError("no data are loaded")
        return self._samples

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
        """Reset the worker; write the codes [samples, features], labels [samples] and weights.

        ``codes`` are integers of ``bits`` bits, as :class:`Quantiser` makes them of features.
        ``labels`` are real numbers: any for the linear loss, 0 or 1 for the logistic, -1 or 1 for
        hinge. A build for several classes takes labels [classes, samples], one against the rest,
        and has weights [classes, features]. ``weights`` are as for :meth:`set_weights`, zeros
        unless given. Where the weights are in memory, ``tile`` micro-batches share a read of them.
        ValueError, before anything is written, for what does not fit each other or the hardware.
        """
        samples = Samples.checked(self.build, codes, labels, bits, signed, tile=tile)
        first = (
            np.zeros(self.build.shape(samples.features), dtype=np.int64)
            if weights is None
            else weights
        )
        self.put(samples, first)

    def put(self, samples: Samples, weights: ArrayLike, index: int = 0) -> None:
        """Reset the worker; write what it has of samples and weights as number ``index`` of all."""
        images = [*samples.images(index), *samples.model(weights, index)]
        self.reset()
        for address, image in images:
            self.device.write_memory(address, image)
        self._samples, self._index = samples, index
        self.name = f"worker {index}" if samples.workers > 1 else "the worker"

    def run(
        self,
        *,
        loss: str,
        batch: int,
        rate: float,
        epochs: int = 1,
        l2_shift: int = 0,
    ) -> None:
        """Train this many epochs on the data that are loaded, from the weights that are there.

        ``rate`` is the learning rate eta, for the mean gradient of a mini-batch of ``batch``
        samples. With ``l2_shift`` q each weight shrinks by 2^-q of itself in each mini-batch.
        ValueError for settings that the hardware does not know. :class:`WorkerStopped` says why the
        hardware stopped, :class:`DeviceError` that it has not ended within ``seconds``; then
        :meth:`load` begins anew.
        """
        settings = self.samples.settings(
            loss=loss, batch=batch, rate=rate, epochs=epochs, l2_shift=l2_shift
        )
        self.begin(settings | TRANSPORT)
        wait_until(self.device, self.ended, "the run", self.seconds, interrupt=True)

    def begin(self, settings: Mapping[str, int]) -> None:
        """Write the settings of a run, by register field, and start it."""
        self.registers.write(**settings)
        self.registers.write(start=1)

    def open_job(self, **settings: int) -> None:
        """Write fields, and Ethernet addresses, that are set before a job, and open the job.

        :class:`DeviceError` if it is not open within ``seconds``, or the worker has failed.
        """
        registers = self.registers
        addresses = {name: settings.pop(name) for name in ADDRESSES if name in settings}
        write_wide(registers, **addresses)
        registers.write(**settings)
        registers.write(start_job=1)
        wait_until(self.device, lambda: registers.read("job_open"), "opening a job", self.seconds)
        if registers.read("failed"):
            raise DeviceError(f"{self.name} has failed")

    def ended(self) -> bool:
        """Return whether the run has ended well; :class:`WorkerStopped` if it has otherwise."""
        if self.registers.read("busy"):
            return False
        self.check()
        if not self.registers.read("done"):
            raise DeviceError(f"{self.name} did not begin the run")
        return True

    def check(self) -> None:
        """Raise :class:`WorkerStopped` if the last run has failed."""
        if not self.registers.read("failed"):
            return
        cause = self.registers.read("cause")
        name = getattr(cause, "name", str(cause))
        why = self.build.causes.get(name, "")
        if name in ("NETWORK", "PEERS"):
            why += f": slot {self.registers.read('stuck_slot')}"
        elif name in ("MEMORY_BEATS", "MEMORY_SILENT"):
            ports = f"{int(self.registers.read('broken_ports')):b}"[::-1]
            why += f": ports {[port for port, bit in enumerate(ports) if bit == '1']}"
        raise WorkerStopped(name, why, self.name)

    def golden(self, weights: ArrayLike, **how: Any) -> NDArray[np.int64]:
        """Return the weights that :meth:`run` with the same keywords must leave, bit for bit.

        They are those of a model in NumPy.
        """
        return self.samples.golden(weights, **how)

    def weights(self) -> NDArray[np.int64]:
        """Return the weights [features] as the integers that the hardware has.

        A build for several classes has weights [classes, features].
        """
        return model_to_weights([self.model()], self.samples.geometry, self.samples.features)

    def model(self, chunks: int | None = None) -> NDArray[np.int32]:
        """Return the weights [engines, chunks, lanes] that this worker has.

        Without ``chunks`` they are those of the data that are loaded.
        """
        chunks, build = chunks or self.samples.chunks, self.build
        size = chunks * build.chunk_stride
        rows = [
            np.frombuffer(
                self.device.read_memory(build.model + engine * build.engine_stride, size), "<i4"
            )
            for engine in range(build.fixed["engines"])
        ]
        whole = np.stack(rows).reshape(len(rows), chunks, -1)
        return whole[:, :, : build.geometry.lanes]

    def set_weights(self, weights: ArrayLike) -> None:
        """Write weights [features], integers of 32 bits with the build's fraction bits.

        In a job with other workers it writes this worker's part of them all.
        """
        for address, image in self.samples.model(weights, self._index):
            self.device.write_memory(address, image)

    def counters(self) -> dict[str, int]:
        """Return all counters by name; they count on from run to run until they are cleared."""
        return {name: self.registers.read(name) for name in self.build.counters}

    def clear_counters(self) -> None:
        """Set all counters to 0."""
        self.registers.write(clear_counters=1)

    def reset(self) -> None:
        """Abandon a run or a failure; weights are undefined until they are written anew."""
        self.registers.write(soft_reset=1)
        self._wait("the soft reset")

    def _wait(self, what: str) -> None:
        """Wait until the worker is idle."""
        wait_until(self.device, lambda: not self.registers.read("busy"), what, self.seconds)
