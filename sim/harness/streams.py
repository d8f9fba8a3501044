"""Drives and monitors Amaranth streams from cocotb.

All of them act on rising edges: after one, cocotb reads the values from before the edge, and what
it writes takes effect after the edge. Payloads are plain values (see :mod:`sim.harness.payloads`),
in the shape that the component under test declares, unless ``shape`` gives another.
"""

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from typing import Any, NoReturn

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, RisingEdge
from cocotb_bus.drivers import BusDriver
from cocotb_bus.monitors import BusMonitor

from sim.harness import first_wrong, quick_handles
from sim.harness.beats import Moments
from sim.harness.clock import PERIOD_NS, cycle
from sim.harness.coverage_runs import samples
from sim.harness.mismatch import NOTHING, Mismatch, Wrong, decoded
from sim.harness.payloads import pack, payload_shape, unpack
from sim.harness.records import NEVER, WORD_BYTES, Records, words_of
from sim.harness.stalls import (
    CHANCES,
    STALLS,
    Stall,
    Stalls,
    always,
    mostly,
    never,
    often,
    rarely,
)
from sim.harness.stimulus.clocks import clock_number, edges, engine, late, until, watched
from sim.harness.verilator import component_in_simulator

__all__ = [
    "STALLS",
    "Cycles",
    "Monitor",
    "Sink",
    "Source",
    "Stalls",
    "always",
    "crossed",
    "cycle",
    "edges",
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
    "until",
]

RESET_CYCLES = 20  #: cycles of reset: it has to pass all dies, and beats under way have to leave

quick_handles.install()


class Cycles:
    """Counts rising edges since it was made: ``int(cycles)``."""

    def __init__(self) -> None:
        self.first = cycle()

    def __int__(self) -> int:
        return cycle() - self.first


async def start(dut: Any) -> Cycles:
    """Start the clock, hold the reset for a while, count cycles from its end."""
    first_wrong.install()
    if not engine().drive_clock(clock_number(dut.clk)):
        Clock(dut.clk, PERIOD_NS, unit="ns", impl="gpi").start()
    dut.rst.value = 1
    await edges(dut.clk, RESET_CYCLES)
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


class Stream:
    """Is what sources and monitors have in common: a stream, and an agent at each of its edges."""

    bus: Any
    _agent: Any
    _signals: Any = {"valid": "valid", "ready": "ready"}
    _payload: Sequence[str] = ("payload",)  #: signals of a beat; a port without bits is left out
    _separator = "_"  #: between the stream's name and a signal's

    def find_payload(self, dut: Any, name: str) -> None:
        """Learn which signals there are: cocotb-bus would look at all of ``dut`` for each."""
        prefix = name + self._separator
        self._payload = [item for item in self._payload if hasattr(dut, prefix + item)]
        self._signals = self._signals | {item: item for item in self._payload}

    def ports(self) -> dict[str, Any]:
        """Return the ports of a beat, by the names that they have in it."""
        return {name: getattr(self.bus, name) for name in self._payload}

    @property
    def stall(self) -> Stall:
        """Return when it pauses."""
        return self._stall

    @stall.setter
    def stall(self, stall: Stall) -> None:
        self._stall = stall
        set_stall(self._agent, stall)

    def shape_of_ports(self) -> Any:
        """Return the shape of a beat, as the component declares it."""
        return shape_of(self.name)  # type: ignore[attr-defined]

    def connect(self, clock: Any, shape: Any) -> tuple[int, str, str, tuple[str, ...]]:
        """Learn a beat's shape; return clock, valid, ready and payload for the compiled module."""
        self.shape = self.shape_of_ports() if shape is None else shape
        payload = tuple(port._path for port in self.ports().values())
        ready = getattr(getattr(self.bus, "ready", None), "_path", "")  # without, all beats move
        return clock_number(clock), self.bus.valid._path, ready, payload


class Source(Stream, BusDriver):
    """Drives a stream into the component: ``append(beat)`` or ``await send_all(beats)``.

    While it pauses, the payload is garbage, as nobody may look at it.
    """

    drives = True

    def __init__(self, dut: Any, name: str, *, stall: Stall = never, shape: Any = None) -> None:
        self.find_payload(dut, name)
        super().__init__(dut, name, dut.clk, case_insensitive=False, bus_separator=self._separator)
        self._cycles = Moments(stream=name)
        first_wrong.watch(self)
        ports = self.connect(dut.clk, shape)
        self._bytes = sum(WORD_BYTES * words_of(port) for port in self.ports().values())
        self._agent = engine().source(*ports, random.getrandbits(64))
        self._provided = 0  #: beats in all that the agent was given
        self._awaited: deque[tuple[int, Any, Any, Any]] = deque()  #: beats whose end is told
        watched[self._agent] = self._moved
        self.stall = stall

    @property
    def cycles(self) -> Moments:
        """Return when each beat moved."""
        self._moved()
        return self._cycles

    async def _send_thread(self) -> NoReturn:
        """Do nothing: the agent sends."""
        await Event().wait()
        raise AssertionError

    async def _driver_send(self, transaction: Any, sync: bool = True, **_: Any) -> None:
        await self.send_all([transaction])

    def append(self, transaction: Any, callback: Any = None, event: Any = None, **_: Any) -> None:
        """Send a beat behind those before it; then set ``event`` and call ``callback`` with it."""
        self.extend([transaction])
        if callback or event:
            self._awaited.append((self._provided, event, callback, transaction))
            engine().wake_at(self._agent, self._awaited[0][0])

    def extend(self, beats: Sequence[Any]) -> None:
        """Send ``beats`` behind those before them."""
        size, shape = self._bytes, self.shape
        bits = b"".join(
            [pack(shape, beat).to_bytes(size, "little") for beat in beats] if size else ()
        )
        engine().append(self._agent, bits, len(beats))
        self._provided += len(beats)

    def _moved(self) -> None:
        """Take note of the beats that have moved."""
        cycles, _ = engine().fetch(self._agent)
        if not cycles:
            return
        self._cycles.extend(cycles)
        moved = self._provided - self.missing
        while self._awaited and self._awaited[0][0] <= moved:
            _, event, callback, transaction = self._awaited.popleft()
            if event:
                late.append(event)
            if callback:
                callback(transaction)
        engine().wake_at(self._agent, self._awaited[0][0] if self._awaited else NEVER)

    def clear(self) -> None:
        """Send none of the beats that still wait behind the one that is offered."""
        self._forget(engine().drop)

    def abandon(self) -> None:
        """Send nothing of what has not moved yet: the component is being reset."""
        self._forget(engine().abandon)

    def _forget(self, path: Callable[[int], None]) -> None:
        self._provided -= self.missing
        path(self._agent)
        self._provided += self.missing
        self._awaited = deque(item for item in self._awaited if item[0] <= self._provided)

    @property
    def missing(self) -> int:
        """Count the beats that have not moved yet."""
        return engine().missing(self._agent)

    async def send_all(self, beats: Iterable[Any]) -> None:
        """Send ``beats`` and wait until the last has moved."""
        if beats := list(beats):
            moved = Event()
            self.extend(beats[:-1])
            self.append(beats[-1], event=moved)
            await moved.wait()


class Monitor(Stream, Records, BusMonitor):
    """Watches a stream, whoever drives it, and holds it to the stream rule.

    A beat that waits must neither change nor go away. ``beats`` and ``cycles`` grow with every
    beat that moves; callbacks and a scoreboard get the payload.
    """

    drives = False
    takes = False  #: it drives the stream's ready

    def __init__(self, dut: Any, name: str, *, shape: Any = None, callback: Any = None) -> None:
        Records.__init__(self, name)
        first_wrong.watch(self)
        self._news = Event()  #: there is something for the callbacks, or a beat did not stay
        self.find_payload(dut, name)
        options = {"case_insensitive": False, "bus_separator": self._separator}
        BusMonitor.__init__(self, dut, name, dut.clk, dut.rst, callback=callback, **options)
        ports, reset = self.connect(dut.clk, shape), (dut.rst._path,)
        self.begin(engine().monitor(*ports, reset, self.takes, random.getrandbits(64)))

    def ignore(self, field: str, *, when: str) -> None:
        """Take ``field`` as 0, and let it change, in beats in which bit ``when`` is set."""
        part, flag = self.shape[field], self.shape[when].offset
        mask = (1 << part.width) - 1 << part.offset
        engine().ignore(self._agent, flag, mask.to_bytes(-(-mask.bit_length() // 32) * 4, "little"))

    def let_go(self) -> None:
        """Let a waiting beat change or go away, as where the side that offers it is reset."""
        engine().let_go(self._agent)

    def add_callback(self, callback: Any) -> None:
        """Let ``callback`` be called with each beat that moves from now on."""
        super().add_callback(callback)
        if self._agent is not None:
            self._wake()

    def reports(self) -> bool:
        """Return whether somebody has to be told of each beat."""
        return bool(self._callbacks) or self._event is not None

    def _moved(self) -> None:
        super()._moved()
        if engine().wrong(self._agent):
            self._news.set()

    def _report(self) -> None:
        if self.reports():
            self._news.set()

    async def _monitor_recv(self) -> None:
        reported = 0
        while True:
            await self._news.wait()
            self._news.clear()
            if wrong := engine().wrong(self._agent):
                raise self._unsteady(*wrong)
            new = list.__getitem__(self._beats, slice(reported - self._beats.forgotten, None))
            reported += len(new)
            for beat in new:
                self._recv(beat)

    def _unsteady(self, before: int, now: int | None) -> Mismatch:
        """Make the error for a waiting beat that did not stay as it was."""
        what = "went away" if now is None else f"changed from {before:#x} to {now:#x}"
        wrong = Wrong(
            stream=self.name,
            index=self._count,
            cycle=cycle(),
            expected=decoded(unpack(self.shape, before)),
            got=NOTHING if now is None else decoded(unpack(self.shape, now)),
        )
        return Mismatch(f"{self.name}: a waiting beat {what}", wrong)


class Sink(Monitor):
    """Watches a stream and takes its beats, pausing when ``stall`` says so."""

    takes = True

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
        self.stall = stall

    async def _monitor_recv(self) -> None:
        engine().drive(self._agent)  # now that the bench is complete
        await super()._monitor_recv()

    def stop(self) -> None:
        """Take no more beats, and watch no more."""
        super().stop()
        self.bus.ready.value = 0
        if self._thread is not None:
            self._thread.cancel()


def set_stall(agent: int, stall: Stall) -> None:
    """Let an agent pause as ``stall`` says, from the next cycle on."""
    chance = CHANCES.get(stall)
    engine().stall(agent, chance or 0.0, requested(stall) if chance is None else None)


def requested(stall: Stall) -> Stall:
    """Return a stall whose error ends the test."""

    def answer() -> bool:
        try:
            return stall()
        except Exception as error:
            cocotb.start_soon(fail(error))
            raise

    return answer


async def fail(error: Exception) -> NoReturn:
    """Raise an error in a task of its own."""
    raise error


def crossed(*together: Any, ms: int = 1, us: int = 0, **settings: Sequence[Any]) -> Callable:
    """Return a decorator: a cocotb test at each combination of ``settings``.

    ``together`` are pairs of several names and their values. A test ends after ``ms`` or ``us``.
    """
    test = cocotb.test(timeout_time=us or ms, timeout_unit="us" if us else "ms")
    return lambda body: test(cocotb.parametrize(*together, **settings)(body))


def benched(
    bench: Callable[..., Any], *together: Any, ms: int = 1, us: int = 0, **settings: Sequence[Any]
) -> Callable:
    """Do as :func:`crossed` does with tests that take a ``bench`` of the design, which has begun.

    A setting ``stalls`` is the bench's, and not handed to the test.
    """

    def decorate(body: Callable) -> Callable:
        @wraps(body)
        async def test(dut: Any, **values: Any) -> None:
            stalls = [values.pop("stalls")] if "stalls" in values else []
            await body(await bench(dut, *stalls).begin(), **values)

        return crossed(*together, ms=ms, us=us, **settings)(test)

    return decorate


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
