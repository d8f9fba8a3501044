"""Has sources and sinks at all streams of the component under test, made from its signature."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from amaranth.lib.wiring import Flow
from cocotb.triggers import ClockCycles

from sim.harness.in_simulator import component_in_simulator
from sim.harness.payloads import streams_in
from sim.harness.stalls import Stall
from sim.harness.streams import Sink, Source, Stalls, never


def stated(name: str) -> int:
    """Return a number that the component under test, or else its parameters, states."""
    component = component_in_simulator()
    return getattr(component if hasattr(component, name) else component.params, name)


def stream_names(component: Any, flow: Flow) -> list[str]:
    """Return the names of the streams that lead into the component, or out of it."""
    flows = {
        "_".join(map(str, path)): m.flow for path, m, _ in component.signature.flatten(component)
    }
    return [name for name, _ in streams_in(component.signature) if flows[f"{name}_valid"] is flow]


@dataclass
class Moved:
    """Has the cycles in which the beats of an exchange moved, by stream."""

    sent: dict[str, list[int]]
    left: dict[str, list[int]]

    def check(self, pace: Callable[[list[int], list[int], int], None]) -> None:
        """Check the pace from each input to each output."""
        for sent, left in product(self.sent.values(), self.left.values()):
            pace(sent, left, stated("latency"))


class Ends:
    """Sends and takes beats at all streams.

    Beats are a list where there is one stream in a direction, else lists by the streams' names.
    """

    def __init__(self, dut: Any) -> None:
        self.dut, component = dut, component_in_simulator()
        self.quiet = 2 * stated("latency") + 10  #: cycles in which what is left over comes
        names = [stream_names(component, flow) for flow in (Flow.In, Flow.Out)]
        self.sources = {name: Source(dut, name) for name in names[0]}
        self.sinks = {name: Sink(dut, name) for name in names[1]}
        self._begin()

    def _begin(self) -> None:
        """Count beats from here on."""
        self._first = {name: len(end.cycles) for name, end in (self.sources | self.sinks).items()}

    def _moved(self, ends: Mapping[str, Any]) -> dict[str, list[int]]:
        return {name: list(end.cycles[self._first[name] :]) for name, end in ends.items()}

    def offer(self, given: Any, stalls: Iterable[Stall] = Stalls.NONE) -> None:
        """Send beats, and set when sources and sinks pause."""
        self._begin()
        source_stall, sink_stall = stalls
        for sink in self.sinks.values():
            sink.stall = sink_stall
        for name, beats in by_stream(self.sources, given).items():
            self.sources[name].stall = source_stall
            self.sources[name].extend(beats)

    async def exchange(
        self, given: Any, expected: Any, stalls: Iterable[Stall] = Stalls.NONE
    ) -> Moved:
        """Send all of ``given``: what leaves is ``expected``, and nothing more."""
        self.offer(given, stalls)
        return await self._arrive(expected)

    async def drain(self, expected: Any) -> Moved:
        """Take all that is left of what was offered: in all it is ``expected``, and no more."""
        for sink in self.sinks.values():
            sink.stall = never
        return await self._arrive(expected)

    async def _arrive(self, expected: Any) -> Moved:
        expected = by_stream(self.sinks, expected)
        for name, beats in expected.items():
            await self.sinks[name].wait_for(self._first[name] + len(beats))
        await ClockCycles(self.dut.clk, self.quiet)
        for name, beats in expected.items():
            assert self.sinks[name].beats[self._first[name] :] == beats
        assert not any(source.missing for source in self.sources.values())
        return Moved(self._moved(self.sources), self._moved(self.sinks))

    async def reset(self, cycles: int, moves: bool) -> None:
        """Reset the component; what has not moved is given up, before or, if it moves, after."""
        self.dut.rst.value = 1
        if moves:
            await ClockCycles(self.dut.clk, cycles)
        for source in self.sources.values():
            source.give_up()
        if not moves:
            await ClockCycles(self.dut.clk, cycles)
        self.dut.rst.value = 0


def by_stream(ends: Mapping[str, Any], beats: Any) -> dict[str, Sequence[Any]]:
    """Return beats by the names of their streams."""
    if isinstance(beats, dict):
        return beats
    (name,) = ends
    return {name: beats}
