"""Keeps what compiled code has recorded at the edges of a clock, as lists that grow."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from amaranth.lib import data
from cocotb.triggers import Event

from sim.harness.beats import Beats, Moments, plain
from sim.harness.payloads import unpack
from sim.harness.stimulus.clocks import clock_number, engine, late, watched

__all__ = [
    "NEVER",
    "WORD_BYTES",
    "Recorder",
    "Records",
    "Reports",
    "Tally",
    "layout_of",
    "words_of",
]

WORD_BYTES = 4  #: unit in which the compiled module takes and gives the bits of a port
NEVER = -1  #: count of records at which nobody has to be told


class Records:
    """Has the records of an agent of the compiled module, with the cycle of each."""

    shape: Any  #: of a record

    def __init__(self, name: str) -> None:
        self._cycles = Moments(stream=name)
        self._beats = Beats(stream=name, cycles=self._cycles)
        self._agent: Any = None
        self._count = 0  #: records in all
        self._came = Event()  #: as many have come as are wanted
        self.required = 0  #: records in all that somebody waits for

    def begin(self, agent: int) -> None:
        """Keep what an agent records from now on."""
        self._agent = agent
        watched[agent] = self._moved
        self._wake()

    @property
    def beats(self) -> Beats:
        """Return all records, or those since ``beats.clear()``."""
        self._moved()
        return self._beats

    @property
    def cycles(self) -> Moments:
        """Return the cycle of each record."""
        self._moved()
        return self._cycles

    def take(self) -> dict[int, Any]:
        """Return the records that have come since the last call, by cycle, and forget them."""
        self._moved()
        result = dict(zip(list.__iter__(self._cycles), list.__iter__(self._beats), strict=True))
        self._beats.clear()
        self._cycles.clear()
        return result

    def stop(self) -> None:
        """Record no more."""
        self._moved()
        engine().stop(self._agent)

    def reports(self) -> bool:
        """Return whether somebody has to be told of each record."""
        return False

    def _wake(self) -> None:
        """Let Python wake when somebody has to be told."""
        more = 1 if self.reports() else self.missing
        engine().wake_at(self._agent, self._count + more if more else NEVER)

    def _moved(self) -> None:
        """Take note of new records."""
        cycles, bits = engine().fetch(self._agent)
        if cycles:
            bits = bits or [0] * len(cycles)
            values = {record: unpack(self.shape, record) for record in {*bits}}
            self._beats.extend([values[record] for record in bits])
            self._cycles.extend(cycles)
            self._count += len(cycles)
            self._report()
            if not self.missing:
                late.append(self._came)
            self._wake()

    def _report(self) -> None:
        """Tell those who are told of each record, before those who wait for a number of them."""

    @property
    def missing(self) -> int:
        """Count the records that somebody still waits for."""
        return max(0, self.required - len(self._beats))

    async def wait_for(self, count: int) -> None:
        """Wait until there are ``count`` records in all."""
        self.required = count
        while self.missing:
            self._wake()
            self._came.clear()
            await self._came.wait()


class Recorder(Records):
    """Records what ports show in each cycle in which port ``when`` is not zero, out of reset.

    If that is empty, in each cycle. ``ports`` names them, each with a shape, or None for plain
    bits; a record is a dict of them.
    With ``taken``, a port, they are those beside a beat, which stay as they are until it is 1.
    """

    def __init__(self, dut: Any, when: str, ports: Mapping[str, Any], *, taken: str = "") -> None:
        super().__init__(when)
        handles = {name: getattr(dut, name) for name in ports}
        self.shape = layout_of(handles, ports)
        paths = tuple(handle._path for handle in handles.values())
        valid, ready = (getattr(dut, name)._path if name else "" for name in (when, taken))
        edge = clock_number(dut.clk), valid, ready
        self.begin(engine().monitor(*edge, paths, (dut.rst._path,), False, 0))


class Tally(Recorder):
    """Adds up what a port, a struct of events of ``shape``, has said in all cycles out of reset."""

    def __init__(self, dut: Any, name: str, shape: Any) -> None:
        super().__init__(dut, name, {name: shape})
        self.name, self.sums, self.summed = name, Counter[str](), 0

    @property
    def counts(self) -> Counter[str]:
        """Return the sum of each field, this edge included."""
        for record in self.beats[self.summed :]:
            self.sums.update(plain(record[self.name]))
            self.summed += 1
        return self.sums.copy()

    def __getitem__(self, event: str) -> int:
        """Return the sum of a field."""
        return self.counts[event]

    def clear(self) -> None:
        """Begin anew at zero."""
        self.take()
        self.sums.clear()
        self.summed = 0

    async def reach(self, event: str, count: int) -> None:
        """Wait until a field has added up to ``count``."""
        while self.counts[event] < count:
            await self.wait_for(self.summed + 1)


class Reports(Recorder):
    """Has what a port, a struct of ``shape`` that has a bit ``valid``, has reported."""

    def __init__(self, dut: Any, name: str, shape: Any) -> None:
        super().__init__(dut, name, {name: shape})
        self.name = name

    @property
    def result(self) -> list[tuple[Any, int]]:
        """Return each valid struct with its cycle, this edge included."""
        reported = [
            (record[self.name], at) for record, at in zip(self.beats, self.cycles, strict=True)
        ]
        return [item for item in reported if item[0]["valid"]]

    async def reach(self, count: int) -> None:
        """Wait until so much has been reported."""
        while len(self.result) < count:
            await self.wait_for(len(self.beats) + 1)


def words_of(port: Any) -> int:
    """Return how many words the bits of a port take."""
    return -(-len(port) // (8 * WORD_BYTES))


def layout_of(ports: Mapping[str, Any], shapes: Mapping[str, Any]) -> data.Layout:
    """Return the layout of a record of ``ports``, in which each begins with a word."""
    fields, place = {}, 0
    for name, port in ports.items():
        shape = shapes.get(name)
        fields[name] = data.Field(len(port) if shape is None else shape, place)
        place += 8 * WORD_BYTES * words_of(port)
    return data.FlexibleLayout(place, fields)
