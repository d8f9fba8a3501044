"""Surrounds a component as its signature says, for a cocotb test to drive it and to look at it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

from amaranth.lib.wiring import Flow, Member
from cocotb.triggers import RisingEdge

from hdl.common.component import Component
from sim.harness import first_wrong
from sim.harness.axi_streams import AxiSink, AxiSource, ChannelSink, ChannelSource
from sim.harness.beats import Beats
from sim.harness.in_simulator import component_in_simulator, declared_ports
from sim.harness.payloads import pack, streams_in, unpack
from sim.harness.plays import play, played
from sim.harness.records import Recorder, Reports, Tally
from sim.harness.stalls import Stall
from sim.harness.streams import (
    RESET_CYCLES,
    Sink,
    Source,
    Stalls,
    cycle,
    edges,
    never,
    start,
    until,
)
from sim.harness.upset import upset

__all__ = ["Bench"]


class Bench:
    """Has the component under test, with a source or a sink at each of its streams.

    ``bench.requests`` is that of stream ``requests``, and ``bench.results`` a list of those of an
    array of streams. It is made when it is first asked for, or by :meth:`begin`, unless a model of
    a neighbour that the test has made drives or takes the stream by then. A channel of an AXI4 bus,
    ``bench.axi_ar``, is made only when it is asked for. ``stalls`` says when sources and when sinks
    pause. Inputs of no stream are 0, but for ``inputs``: see :meth:`set`.

    A subclass adds what only its component has: models of neighbours, and what is expected.
    """

    def __init__(self, dut: Any, stalls: Any = (never, never), **inputs: Any) -> None:
        component = component_in_simulator()
        if component is None:
            raise LookupError("the component under test is not known, and so its streams are not")
        self.dut, self.component, self.params = dut, component, component.params
        self.source_stall, self.sink_stall = stalls
        self.edge = RisingEdge(dut.clk)
        self._ports = dict(declared_ports(dut))
        self._streams = dict(streams_of(component, self._ports))
        self._first = len(first_wrong.streams)  # of the streams that are this bench's
        for name, member in self._ports.items():
            if member.flow is Flow.In:
                getattr(dut, name).value = 0
        self.set(**inputs)

    def __getattr__(self, name: str) -> Any:
        """Make the source or the sink of a stream, or those of an array of streams."""
        streams = self.__dict__.get("_streams", {})
        if name in streams:
            kind = streams[name]
            stall = self.source_stall if kind.drives else self.sink_stall
            end = kind(self.dut, name, stall=stall)
        elif f"{name}_0" in streams:
            count = sum(item.rpartition("_")[0] == name for item in streams)
            end = [getattr(self, f"{name}_{k}") for k in range(count)]
        elif (valid := self.__dict__.get("_ports", {}).get(f"{name}valid")) is not None:
            drives = valid.flow is Flow.In
            stall = self.source_stall if drives else self.sink_stall
            end = (ChannelSource if drives else ChannelSink)(self.dut, name, stall=stall)
        else:
            raise AttributeError(f"no stream {name}: there are {', '.join(streams)}")
        setattr(self, name, end)
        return end

    @property
    def agents(self) -> list[Any]:
        """Return all sources and sinks, those of models of neighbours included."""
        built = first_wrong.streams[self._first :]
        return [stream for stream in built if stream.drives or stream.takes]

    @property
    def sources(self) -> list[Any]:
        """Return what drives streams into the component."""
        return [end for end in self.agents if end.drives]

    @property
    def sinks(self) -> list[Any]:
        """Return what takes streams out of it."""
        return [end for end in self.agents if not end.drives]

    async def begin(self, *, after_anything: bool = False) -> Self:
        """Make what is missing at streams, start the clock, and come out of reset.

        The component has seen random inputs for some cycles by then, if it begins
        ``after_anything``, for which there must be no model of a neighbour yet.
        """
        if after_anything:
            await upset(self.dut)
        self.connect()
        await start(self.dut)
        return self

    def connect(self) -> None:
        """Make a source or a sink at each stream that has none."""
        taken = {end.name for end in self.agents}
        for name in self._streams:
            if name not in taken:
                getattr(self, name)

    def set(self, **inputs: Any) -> None:
        """Set inputs to values of the shapes that they are declared with, from now on."""
        for name, value in inputs.items():
            getattr(self.dut, name).value = pack(self._ports[name].shape, value)

    def value(self, name: str) -> Any:
        """Return the value of a port, in the shape that it is declared with."""
        return unpack(self._ports[name].shape, int(getattr(self.dut, name).value))

    async def strobe(self, **inputs: Any) -> None:
        """Set inputs for a cycle, and to 0 behind it."""
        self.set(**inputs)
        await edges(self.dut.clk, 1)
        self.set(**dict.fromkeys(inputs, 0))

    async def play(self, cycles: list[dict[str, Any]]) -> None:
        """Show in each of the coming cycles what the list says, and 0 behind the last."""
        await play(self.dut, cycles, {name: self._ports[name].shape for name in cycles[0]})
        self.set(**dict.fromkeys(cycles[0], 0))

    async def played(self, cycles: list[dict[str, Any]], *outputs: str) -> Beats:
        """Show what the list says, and keep the last of it; return what ``outputs`` show then."""
        shapes = {name: member.shape for name, member in self._ports.items()}
        return await played(self.dut, cycles, {name: shapes[name] for name in outputs}, shapes)

    def record(self, when: str, *ports: str, taken: str = "") -> Recorder:
        """Record ``ports`` in the cycles in which port ``when`` is not 0: see Recorder."""
        shapes = {name: self._ports[name].shape for name in ports}
        return Recorder(self.dut, when, shapes, taken=taken)

    def tally(self, name: str = "events") -> Tally:
        """Add up what a port of events says."""
        return Tally(self.dut, name, self._ports[name].shape)

    def reports(self, name: str) -> Reports:
        """Keep what a port that has a bit ``valid`` reports."""
        return Reports(self.dut, name, self._ports[name].shape)

    async def wait(self, cycles: int = 1) -> None:
        """Wait for a number of cycles."""
        await edges(self.dut.clk, cycles)

    async def until(self, name: str, value: int) -> None:
        """Wait until a port has a value."""
        await until(self.dut.clk, getattr(self.dut, name), value)

    async def reset(self, cycles: int = RESET_CYCLES, *, moves: bool = False) -> None:
        """Reset the component, which then has nothing to do.

        What sources have not sent is given up at the beginning or, if it ``moves`` meanwhile, at
        the end.
        """
        self.dut.rst.value = 1
        if moves:
            await edges(self.dut.clk, cycles)
        for source in self.sources:
            source.abandon()
        if not moves:
            await edges(self.dut.clk, cycles)
        self.dut.rst.value = 0

    def forget(self) -> None:
        """Forget the beats that have moved, and when."""
        for end in self.agents:
            end.cycles.clear()
            if not end.drives:
                end.beats.clear()

    def offer(self, provided: Any, stalls: Iterable[Stall] = Stalls.NONE) -> None:
        """Forget what has moved, and send beats, now that ends of streams pause as ``stalls`` says.

        Beats are a list if one stream leads into the component, else lists by streams' names.
        """
        self.forget()
        self.source_stall, self.sink_stall = stalls
        for end in self.agents:
            end.stall = self.source_stall if end.drives else self.sink_stall
        for name, beats in by_stream(self.sources, provided).items():
            getattr(self, name).extend(beats)

    async def exchange(
        self, provided: Any, expected: Any, stalls: Iterable[Stall] = Stalls.NONE
    ) -> None:
        """Send all of ``provided``: what leaves is ``expected``, and nothing more.

        As :meth:`offer` says, these are lists, or lists by streams' names.
        """
        self.offer(provided, stalls)
        await self.drain(expected)

    async def drain(self, expected: Any) -> None:
        """Wait for what is left of what was offered: in all it is ``expected``, and no more."""
        cycles = 2 * getattr(self.component, "latency", 0) + 10
        await self.finish(cycles, **by_stream(self.sinks, expected))

    async def settle(self, cycles: int = 10) -> None:
        """Wait until no beat has waited or moved, at a source or a sink, for a number of cycles.

        The component must not be ``busy`` in the last of them, if it says whether it is.
        """
        busy = self.dut.busy if "busy" in self._ports else None
        since = cycle()
        while (more := since + cycles - cycle()) > 0:
            await edges(self.dut.clk, more)
            agents = self.agents
            waits = any(end.missing if end.drives else end.bus.valid.value for end in agents)
            waits = waits or (busy is not None and busy.value)
            moved = [end.cycles[-1] for end in agents if end.cycles]
            since = cycle() if waits else max([since, *moved])

    async def finish(self, cycles: int = 10, **expected: Any) -> None:
        """Wait until nothing is left over; output streams have given what is ``expected``.

        That is a list of beats, or a list of such lists for an array of streams.
        """
        for name, beats in expected.items():
            sink = getattr(self, name)
            for item, some in (
                zip(sink, beats, strict=True) if type(sink) is list else [(sink, beats)]
            ):
                await item.wait_for(len(some))
        await self.settle(cycles)
        for name, beats in expected.items():
            sink = getattr(self, name)
            result = [item.beats for item in sink] if type(sink) is list else sink.beats
            assert result == beats


def streams_of(component: Component, ports: dict[str, Member]) -> Iterator[tuple[str, Any]]:
    """Yield the name of each stream, with what a test has at its other end."""
    for name in dict(streams_in(component.signature)):
        yield name, Source if ports[f"{name}_valid"].flow is Flow.In else Sink
    for name, member in ports.items():
        if name.endswith("_tvalid"):
            yield name.removesuffix("_tvalid"), AxiSource if member.flow is Flow.In else AxiSink


def by_stream(ends: list[Any], beats: Any) -> dict[str, Sequence[Any]]:
    """Return beats by the names of their streams, of which there is one if they are a list."""
    if isinstance(beats, dict):
        return beats
    (end,) = ends
    return {end.name: beats}
