"""Runs a worker's side of a SwitchGNN job: lays its turns out, starts it, reads sums and copies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gen.software.emitted.device import Device, DeviceError, check_design, wait_until, write_wide
from gen.software.emitted.endpoint.build import Build
from gen.software.emitted.endpoint.turns import Layout, Turn, within

SECONDS = 60.0  #: the longest wait for the hardware unless told otherwise
ADDRESS_BYTES = 6
RUNNING = ("RUNNING", "STOPPING")  #: states of an endpoint that is at work


class JobFailed(DeviceError):
    """Reports a job that was given up or stopped; ``cause`` is the name of why."""

    def __init__(self, cause: str, why: str) -> None:
        super().__init__(f"the job ended as {cause}" + (f", {why}" if why else ""))
        self.cause = cause


class Endpoint:
    """Drives one endpoint, a worker of a job, on ``device``.

    ``registers`` is an object of the generated driver's class on the same device. ``seconds`` is
    the longest wait for the hardware. Raises :class:`DeviceError` if the device holds another
    design than ``build``.
    """

    def __init__(self, device: Device, registers: Any, build: Build) -> None:
        self.device, self.registers, self.build = device, registers, build
        self.seconds = SECONDS
        self._layout: Layout | None = None
        check_design(registers, build.fixed)

    @property
    def layout(self) -> Layout:
        """Return where the job's turns are in memory; ValueError if none are loaded."""
        if self._layout is None:
            raise ValueError("no turns are loaded")
        return self._layout

    def set_addresses(self, own: bytes, switch: bytes) -> None:
        """Set the Ethernet addresses, six bytes each in the order of the wire.

        ``own`` is where the switch sends to, its group address; ``switch`` its own.
        """
        if len(own) != ADDRESS_BYTES or len(switch) != ADDRESS_BYTES:
            raise ValueError(f"an address must be {ADDRESS_BYTES} bytes: {own!r}, {switch!r}")
        numbers = [int.from_bytes(octets, "little") for octets in (own, switch)]
        write_wide(self.registers, own_address=numbers[0], switch_address=numbers[1])

    def set_timers(self, *, send: int, fetch: int, gap: int, done: int, memory: int = 0) -> None:
        """Set the timers in clock cycles.

        ``send``: until frames without an ACK leave again; ``fetch``: without news until what is
        missing is asked for, ``gap`` cycles apart; ``done``: until DONE is said again; ``memory``:
        until a memory that does not move is given up, 0 for never.
        """
        within("a timer", (send, fetch, done, memory), 1 << 32)
        within("gap", (gap,), 1 << 16)
        self.registers.write(
            send_timeout=send, fetch_timeout=fetch, fetch_gap=gap, done_timeout=done
        )
        self.registers.write(memory_timeout=memory)

    def load(self, turns: Sequence[Turn]) -> None:
        """Write the tables of a job's turns; payloads are written apart.

        ValueError, before anything is written, for turns that the hardware does not know or has no
        room for. DeviceError while a job runs.
        """
        layout = Layout(self.build, turns)
        self._check_rest()
        for address, octets in layout.tables:
            self.device.write_memory(self._by_dma("tables", address), octets)
        self._layout = layout

    def write_payloads(self, turn: int, payloads: ArrayLike) -> None:
        """Write what a turn sends [frames, lanes], integers of 16 bits, or 32 of a partial sum."""
        within("turn", (turn,), len(self.layout.placed))
        octets = self.layout.payloads(turn, payloads)
        place = self._by_dma("features", self.layout.placed[turn].features)
        self.device.write_memory(place, octets)

    def start(
        self, job: int, *, epoch: int, port: int, ready: int | None = None, two: bool = False
    ) -> None:
        """Start the turns that are loaded, as the worker behind a port of the switch.

        ``epoch`` numbers the job's runs, as at the switch. The payloads of turns below ``ready``
        are in memory: of all unless told otherwise. With ``two``, two turns are open at a time, as
        at the switch. DeviceError while another job runs.
        """
        turns = len(self.layout.placed)
        within("job and epoch", (job, epoch), 1 << 16)
        within("port", (port,), 1 << self.build.records["source"][1]["port"][1])
        within("ready", (turns if ready is None else ready,), turns + 1)
        self._check_rest()
        write_wide(self.registers, program=self.layout.program)
        self.registers.write(job=job, epoch=epoch)
        self.registers.write(worker=1 << port, turns=turns, two_open=int(two))
        self.set_ready(turns if ready is None else ready)
        self.registers.write(start=1)

    def set_ready(self, turns: int) -> None:
        """Tell that the payloads of so many turns, from the first on, are in memory."""
        within("ready", (turns,), len(self.layout.placed) + 1)
        self.registers.write(ready_turns=turns)

    def turns_over(self) -> int:
        """Return how many turns are over: their sums and copies are in memory.

        :class:`JobFailed` says why there will be no more.
        """
        over = int(self.registers.read("lo"))  # before the state, as it reads 0 after the end
        state = self._name("state")
        if state in RUNNING:
            return over
        if state == "FINISHED":
            return len(self.layout.placed)
        cause = self._name("cause") if state == "FAILED" else state
        raise JobFailed(cause, self.build.causes.get(cause, ""))

    def wait(self, turns: int | None = None) -> None:
        """Wait until so many turns are over, all unless told otherwise.

        :class:`JobFailed` says why they will not be, :class:`DeviceError` that they are not within
        ``seconds``.
        """
        wanted = len(self.layout.placed) if turns is None else turns
        within("turns", (wanted,), len(self.layout.placed) + 1)
        self._wait(lambda: self.turns_over() >= wanted, "the job")

    def sums(self, turn: int) -> dict[int, NDArray[np.int32]]:
        """Return the sums [lanes] that a turn that is over has brought, by aggregator."""
        placed = self.layout.placed[turn]
        return {a: self._row(placed.sums, a, np.dtype("<i4")) for a in placed.turn.sums}

    def copies(self, turn: int) -> dict[int, NDArray[np.int16]]:
        """Return the features [lanes] that a turn that is over has brought, by vertex."""
        placed = self.layout.placed[turn]
        return {s: self._row(placed.copies, s, np.dtype("<i2")) for s in placed.turn.copies}

    def stop(self) -> None:
        """Give the job up: no frame is cut, and nothing is left on a bus."""
        self.registers.write(stop=1)
        self._wait(lambda: self._name("state") not in RUNNING, "the stop")

    def revive(self) -> None:
        """Use memories again that have failed, as soon as they owe nothing."""
        names = [f"{name}_owes" for name in self.build.regions]
        self._wait(lambda: not any(map(self.registers.read, names)), "what memory owes")
        self.registers.write(revive_buses=1)

    def counters(self) -> dict[str, int]:
        """Return all counters by name; they count on from job to job until they are cleared."""
        return {name: self.counter(name) for name in self.build.counters}

    def counter(self, name: str) -> int:
        """Return one counter; it counts while a job runs."""
        self.registers.write(counter=self.build.counters.index(name))
        return int(self.registers.read("count"))

    def clear_counters(self) -> None:
        """Set all counters to 0."""
        self.registers.write(clear_counters=1)

    def _row(self, base: int, item: int, lane: Any) -> NDArray[Any]:
        """Return a row of numbers, of ``lane``, out of a table of them in memory."""
        size = self.build.fixed["lanes"] * lane.itemsize
        place = self._by_dma("sums", base + item * size)
        return np.frombuffer(self.device.read_memory(place, size), lane)

    def _by_dma(self, region: str, address: int) -> int:
        """Return where DMA finds an address of the hardware."""
        there = self.build.region(region)
        return there.dma + address - there.address

    def _name(self, field: str) -> str:
        value = self.registers.read(field)
        return getattr(value, "name", str(value))

    def _check_rest(self) -> None:
        if self._name("state") in RUNNING:
            raise DeviceError("a job runs: wait for it or stop it")

    def _wait(self, condition: Any, what: str) -> None:
        wait_until(self.device, condition, what, self.seconds)
