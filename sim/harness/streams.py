"""Drives and monitors Amaranth streams from cocotb.

All of them act on rising edges: after one, cocotb reads the values from before the edge, and what
it writes takes effect after the edge. Payloads are plain values (see :mod:`sim.harness.payloads`),
in the shape that the component under test declares, unless ``shape`` gives another.
"""

import random
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, RisingEdge
from cocotb_bus.drivers import BusDriver
from cocotb_bus.monitors import BusMonitor

from sim.harness import first_wrong, quick_handles
from sim.harness.beats import Beats, Moments
from sim.harness.clock import PERIOD_NS, cycle
from sim.harness.coverage_runs import samples
from sim.harness.mismatch import NOTHING, Mismatch, Wrong, decoded
from sim.harness.payloads import pack, payload_shape, unpack
from sim.harness.verilator import component_in_simulator

__all__ = [
    "STALLS",
    "Cycles",
    "Monitor",
    "Sink",
    "Source",
    "Stalls",
    "cycle",
    "mostly",
    "never",
    "often",
    "rarely",
    "receive",
    "sample",
    "send",
    "start",
    "started",
    "strobe",
]

RESET_CYCLES = 20  #: cycles of reset: it has to pass all dies, and beats under way have to leave

quick_handles.install()

Stall = Callable[[], bool]  #: function that says in every cycle whether to pause


def never() -> bool:
    """Never pause: the stream is busy every cycle."""
    return False


def often() -> bool:
    """Pause in half of all cycles, at random."""
    return random.random() < 0.5


def mostly() -> bool:
    """Pause in four cycles of five, at random."""
    return random.random() < 0.8


def rarely() -> bool:
    """Pause in one cycle of twenty, at random."""
    return random.random() < 0.05


class Stalls(Enum):
    """Says which side pauses: ``source, sink = stalls``."""

    NONE = (never, never)
    BUSY_SOURCE = (often, rarely)
    BUSY_SINK = (rarely, often)

    def __iter__(self):
        return iter(self.value)

    @property
    def none(self) -> bool:
        """Return whether nobody pauses, so that cycles can be asserted."""
        return self is Stalls.NONE


STALLS = list(Stalls)  #: for ``@cocotb.parametrize(stalls=STALLS)``


class Cycles:
    """Counts rising edges since it was made: ``int(cycles)``."""

    def __init__(self) -> None:
        self.first = cycle()

    def __int__(self) -> int:
        return cycle() - self.first


async def start(dut: Any) -> Cycles:
    """Start the clock, hold the reset for a while, count cycles from its end."""
    first_wrong.install()
    Clock(dut.clk, PERIOD_NS, unit="ns", impl="gpi").start()
    dut.rst.value = 1
    for _ in range(RESET_CYCLES):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    sample(dut)
    return Cycles()


async def strobe(signal: Any, clock: Any) -> None:
    """Hold a signal of one bit at 1 for a cycle."""
    signal.value = 1
    await RisingEdge(clock)
    signal.value = 0


async def started(bench: Any) -> Any:
    """Start the clock of the bench's ``dut`` as :func:`start` does, and return the bench."""
    await start(bench.dut)
    return bench


def sample(dut: Any) -> None:
    """Sample functional coverage of ``dut`` until the test ends, if that is asked for.

    A test whose clock and reset come from a vendor's model calls it; :func:`start` does.
    """
    if samples():
        from sim.functional import watch  # with a library that only coverage needs

        watch.begin(dut)


@cache
def shape_of(name: str) -> Any:
    """Return the payload's shape of stream ``name`` of the component under test."""
    component = component_in_simulator()
    if component is None:
        raise LookupError(f"give stream {name} a shape: the component under test is not known")
    return payload_shape(component, name)


class Source(BusDriver):
    """Drives a stream into the component: ``append(beat)`` or ``await send_all(beats)``.

    While it pauses, the payload is garbage, as nobody may look at it.
    """

    bus: Any
    _signals = ["valid", "ready"]
    _optional_signals = ["payload"]
    drives = True

    def __init__(self, dut: Any, name: str, *, stall: Stall = never, shape: Any = None) -> None:
        super().__init__(dut, name, dut.clk, case_insensitive=False)
        self.shape = shape_of(name) if shape is None else shape
        self.stall = stall
        self.cycles = Moments(stream=name)  #: when each beat moved
        first_wrong.watch(self)
        self._edge = RisingEdge(dut.clk)
        self._payload = getattr(self.bus, "payload", None)
        self.offers = False  #: a beat is to move
        self.bus.valid.value = 0

    async def _driver_send(self, transaction: Any, sync: bool = True, **_: Any) -> None:
        self.offers = True
        while self.stall():
            if self._payload is not None:
                self._payload.value = random.getrandbits(len(self._payload))
            await self._edge
        if not self.offers:
            return
        if self._payload is not None:
            self._payload.value = pack(self.shape, transaction)
        self.bus.valid.value = 1
        while self.offers:
            await self._edge
            if self.bus.ready.value and self.offers:
                self.cycles.append(cycle())
                break
        self.bus.valid.value = 0

    def give_up(self) -> None:
        """Send nothing of what has not moved yet: the component is being reset."""
        self.clear()
        self.offers = False

    @property
    def missing(self) -> int:
        """Count the beats that have not moved yet."""
        return len(self._sendQ) + bool(self.bus.valid.value)

    async def send_all(self, beats: Iterable[Any]) -> None:
        """Send ``beats`` and wait until the last has moved."""
        moved = None
        for beat in beats:
            moved = Event()
            self.append(beat, event=moved)
        if moved is not None:
            await moved.wait()


class Monitor(BusMonitor):
    """Watches a stream, whoever drives it, and holds it to the stream rule.

    A beat that waits must neither change nor go away. ``beats`` and ``cycles`` grow with every
    beat that moves; callbacks and a scoreboard get the payload.
    """

    bus: Any
    _signals = ["valid", "ready"]
    _optional_signals = ["payload"]
    drives = False

    def __init__(self, dut: Any, name: str, *, shape: Any = None, callback: Any = None) -> None:
        self.shape = shape_of(name) if shape is None else shape
        self.cycles = Moments(stream=name)
        self.beats = Beats(stream=name, cycles=self.cycles)
        self.wanted = 0  #: beats in all that somebody waits for
        first_wrong.watch(self)
        self._moved = Event()
        super().__init__(
            dut, name, dut.clk, reset=dut.rst, callback=callback, case_insensitive=False
        )

    async def _monitor_recv(self) -> None:
        edge = RisingEdge(self.clock)
        valid, payload = self.bus.valid, getattr(self.bus, "payload", None)
        waiting = None
        while True:
            await edge
            if not valid.value:
                if waiting is not None and not self.in_reset:
                    raise self._unsteady("went away", waiting, None)
                waiting = None
                continue
            if self.in_reset:
                waiting = None
                continue
            bits = 0 if payload is None else int(payload.value)
            if waiting is not None and bits != waiting:
                raise self._unsteady(f"changed from {waiting:#x} to {bits:#x}", waiting, bits)
            waiting = bits
            if self.bus.ready.value:
                waiting = None
                self._take(unpack(self.shape, bits))

    def _unsteady(self, what: str, before: int, now: int | None) -> Mismatch:
        """Make the error for a waiting beat that did not stay as it was."""
        wrong = Wrong(
            stream=self.name,
            index=len(self.cycles),
            cycle=cycle(),
            expected=decoded(unpack(self.shape, before)),
            got=NOTHING if now is None else decoded(unpack(self.shape, now)),
        )
        return Mismatch(f"{self.name}: a waiting beat {what}", wrong)

    @property
    def missing(self) -> int:
        """Count the beats that somebody still waits for."""
        return max(0, self.wanted - len(self.beats))

    def _take(self, beat: Any) -> None:
        self.beats.append(beat)
        self.cycles.append(cycle())
        self._recv(beat)
        self._moved.set()

    async def wait_for(self, count: int) -> None:
        """Wait until ``count`` beats in all have moved."""
        self.wanted = count
        while len(self.beats) < count:
            self._moved.clear()
            await self._moved.wait()


class Sink(Monitor):
    """Watches a stream and takes its beats, pausing when ``stall`` says so."""

    def __init__(
        self,
        dut: Any,
        name: str,
        *,
        stall: Stall = never,
        shape: Any = None,
        callback: Any = None,
    ) -> None:
        super().__init__(dut, name, shape=shape, callback=callback)
        self._taker = cocotb.start_soon(self._take_beats(stall))

    async def _take_beats(self, stall: Stall) -> None:
        edge = RisingEdge(self.clock)
        self.bus.ready.value = not stall()
        while stall is not never:
            await edge
            self.bus.ready.value = not stall()

    def stop(self) -> None:
        """Take no more beats, and watch no more."""
        self._taker.cancel()
        self.bus.ready.value = 0
        if self._thread is not None:
            self._thread.cancel()


async def send(
    dut: Any, name: str, beats: Iterable[Any], stall: Stall = never, shape: Any = None
) -> list[int]:
    """Send ``beats`` into stream ``name``; return the cycle in which each moved."""
    source = Source(dut, name, stall=stall, shape=shape)
    await source.send_all(beats)
    return source.cycles


async def receive(
    dut: Any, name: str, count: int, stall: Stall = never, shape: Any = None
) -> tuple[list[Any], list[int]]:
    """Take ``count`` beats from stream ``name``; return them, and the cycle in which each moved."""
    sink = Sink(dut, name, stall=stall, shape=shape)
    await sink.wait_for(count)
    sink.stop()
    return sink.beats[:count], sink.cycles[:count]
