"""Runs a worker's side of a SwitchGNN job: loads its turns, starts it, reads sums and copies."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.host.device import Device, DeviceError, check_design, wait_until, write_wide
from sim.switchgnn.host.build import Build
from sim.switchgnn.host.turns import Layout, Turn, within

SECONDS = 60.0  #: the longest wait for the hardware, if ``Endpoint.seconds`` is not set
GAP = 1 << 14  #: bytes that are read in less time than it takes to begin another read
ADDRESS_BYTES = 6
RUNNING = ("RUNNING", "STOPPING")  #: states of an endpoint that is at work


class JobFailed(DeviceError):
    """Reports a job that was given up or stopped; ``cause`` is the name of the reason."""

    def __init__(self, cause: str, why: str) -> None:
        super().__init__(f"the job ended as {cause}" + (f", {why}" if why else ""))
        self.cause = cause


class Endpoint:
    """Drives one endpoint, a worker of a job, on ``device``.

    ``registers`` is an object of the generated driver's class on the same device. ``seconds`` is
    the longest wait for the hardware. Rows of memory that are no more than ``gap`` bytes apart are
    read at once, with what is between them. Raises :class:`DeviceError` if the device holds another
    design than ``build``.
    """

    def __init__(self, device: Device, registers: Any, build: Build) -> None:
        self.device, self.registers, self.build = device, registers, build
        self.seconds, self.gap = SECONDS, GAP
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

        ``own`` is the group address to which the switch sends; ``switch`` is the switch's own.
        """
        if len(own) != ADDRESS_BYTES or len(switch) != ADDRESS_BYTES:
            raise ValueError(f"an address must be {ADDRESS_BYTES} bytes: {own!r}, {switch!r}")
        numbers = [int.from_bytes(octets, "little") for octets in (own, switch)]
        write_wide(self.registers, own_address=numbers[0], switch_address=numbers[1])

    def set_timers(self, *, send: int, fetch: int, gap: int, done: int, memory: int = 0) -> None:
        """Set the timers in clock cycles.

        Frames without an ACK leave again after ``send`` cycles. After ``fetch`` cycles without news
        the endpoint asks for missing sums and copies, one every ``gap`` cycles. DONE is sent again
        after ``done`` cycles. A memory that does not answer for ``memory`` cycles is given up; 0
        means never.
        """
        within("a timer", (send, fetch, done, memory), 1 << 32)
        within("gap", (gap,), 1 << 16)
        self.registers.write(
            send_timeout=send, fetch_timeout=fetch, fetch_gap=gap, done_timeout=done
        )
        self.registers.write(memory_timeout=memory)

    def set_rate_control(
        self, on: bool, *, round_trip: int, step: int, least: int, most: int = 1 << 16
    ) -> None:
        """Limit the rate at which frames leave, and halve it when an ACK reports congestion.

        Rates are in beats in 65,536 cycles: the first and highest one, the lowest one, and how much
        it grows after each ``round_trip``, in cycles, without a halving.
        """
        within("most and least", (most, least), (1 << 16) + 1)
        within("step", (step,), 1 << 16)
        within("round_trip", (round_trip,), 1 << 24)
        self.registers.write(rate_control=int(on))
        self.registers.write(
            rate_most=most, rate_least=least, rate_step=step, round_trip=round_trip
        )

    def load(self, turns: Sequence[Turn], after: Layout | None = None) -> Layout:
        """Write the tables of a job's turns; :meth:`write_payloads` writes the payloads.

        Returns where they are. Turns that lie there already, and those before them, stay if they
        are ``after``: then :meth:`use` goes back to them, and nothing but payloads is to be written
        again. Raises ValueError, before anything is written, for turns that the hardware does not
        support or has no room for, and DeviceError while a job runs.
        """
        layout = Layout(self.build, turns, after)
        self._check_rest()
        for address, octets in layout.tables:
            self.device.write_memory(self._by_dma("tables", address), octets)
        self._layout = layout
        return layout

    def use(self, layout: Layout) -> None:
        """Make a job that :meth:`load` has returned, and that is in memory, the one to start."""
        self._check_rest()
        self._layout = layout

    def write_payloads(self, turn: int, payloads: ArrayLike) -> None:
        """Write a turn's payloads [frames, lanes]: integers of 16 bits, or 32 for a partial sum."""
        within("turn", (turn,), len(self.layout.placed))
        octets = self.layout.payloads(turn, payloads)
        place = self._by_dma("features", self.layout.placed[turn].features)
        self.device.write_memory(place, octets)

    def start(
        self, job: int, *, epoch: int, port: int, ready: int | None = None, two: bool = False
    ) -> None:
        """Start the turns that are loaded, as the worker behind a port of the switch.

        ``epoch`` is the number of the job's run at the switch. The payloads of the turns below
        ``ready``, by default of all, must be in memory. With ``two``, two turns are open at a time;
        the switch must have the same setting. Raises DeviceError while another job runs.
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
        """Tell the endpoint that the payloads of the first ``turns`` turns are in memory."""
        within("ready", (turns,), len(self.layout.placed) + 1)
        self.registers.write(ready_turns=turns)

    def turns_over(self) -> int:
        """Return how many turns are over; their sums and copies are in memory.

        Raises :class:`JobFailed`, with the reason, if no more turns will end.
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
        """Wait until ``turns`` turns are over, by default all.

        Raises :class:`JobFailed` if the job ends before that, and :class:`DeviceError` if the turns
        are not over within ``seconds``.
        """
        expected = len(self.layout.placed) if turns is None else turns
        within("turns", (expected,), len(self.layout.placed) + 1)
        self._wait(lambda: self.turns_over() >= expected, "the job", interrupt=turns is None)

    def sums(self, turn: int) -> dict[int, NDArray[np.int32]]:
        """Return the sums [lanes] of a turn that is over, by aggregator."""
        placed = self.layout.placed[turn]
        return self._rows(placed.sums, placed.turn.sums, np.dtype("<i4"))

    def copies(self, turn: int) -> dict[int, NDArray[np.int16]]:
        """Return the copies of features [lanes] of a turn that is over, by vertex."""
        placed = self.layout.placed[turn]
        return self._rows(placed.copies, placed.turn.copies, np.dtype("<i2"))

    def stop(self) -> None:
        """Stop the job; no frame is cut, and every access to memory is completed."""
        self.registers.write(stop=1)
        self._wait(lambda: self._name("state") not in RUNNING, "the stop")

    def revive(self) -> None:
        """Wait until failed memories owe no answer; then let the endpoint use them again."""
        names = [f"{name}_owes" for name in self.build.regions]
        self._wait(lambda: not any(map(self.registers.read, names)), "the wait for memory")
        self.registers.write(revive_buses=1)

    def counters(self, names: Iterable[str] = ()) -> dict[str, int]:
        """Return counters by name, by default all; they count over jobs until they are cleared."""
        return {name: self.counter(name) for name in names or self.build.counters}

    def counter(self, name: str) -> int:
        """Return the counter of this name; it counts while a job runs."""
        self.registers.write(counter=self.build.counters.index(name))
        return int(self.registers.read("count"))

    def clear_counters(self) -> None:
        """Set all counters to 0."""
        self.registers.write(clear_counters=1)

    def _rows(self, base: int, items: Iterable[int], lane: Any) -> dict[int, NDArray[Any]]:
        """Return rows of the table at ``base``, by number: numbers of type ``lane``, one a lane."""
        lanes, expected, rows = self.build.fixed["lanes"], np.array(sorted(items), int), {}
        size = lanes * lane.itemsize
        apart = np.diff(expected) > 1 + self.gap // size
        for run in np.split(expected, np.flatnonzero(apart) + 1) if expected.size else ():
            first, count = int(run[0]), int(run[-1] - run[0]) + 1
            octets = self.device.read_memory(
                self._by_dma("sums", base + first * size), count * size
            )
            table = np.frombuffer(octets, lane).reshape(count, lanes)
            rows |= {item: table[item - first] for item in run.tolist()}
        return rows

    def _by_dma(self, region: str, address: int) -> int:
        """Return the address for DMA of an address that the hardware uses in a region."""
        present = self.build.region(region)
        return present.dma + address - present.address

    def _name(self, field: str) -> str:
        value = self.registers.read(field)
        return getattr(value, "name", str(value))

    def _check_rest(self) -> None:
        if self._name("state") in RUNNING:
            raise DeviceError("a job runs: wait for it or stop it")

    def _wait(self, condition: Any, what: str, *, interrupt: bool = False) -> None:
        wait_until(self.device, condition, what, self.seconds, interrupt)
