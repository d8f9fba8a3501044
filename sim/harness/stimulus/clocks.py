"""Wakes Python at the rising edges at which something that it waits for has come true.

Agents (``agents.h``) drive and watch ports in compiled code, in the phase in which cocotb's own
:class:`~cocotb.triggers.RisingEdge` fires. At an edge they act first; then Python sees what they
have recorded, this edge included. Then those run who are told of each record, those who wait for
this edge, and those who wait for a number of records or edges, in this order.
"""

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from cocotb import _event_loop, _gpi_triggers
from cocotb.triggers import ClockCycles, Event, RisingEdge

from sim.harness.build_tools import execute, require_compiler, require_verilator
from sim.harness.cache import cached_folder, digest
from sim.harness.clock import period_steps
from sim.harness.host import HEADERS
from sim.harness.verilator_tool import output_of

SOURCES = [*sorted(Path(__file__).parent.glob("*.h")), Path(__file__).with_name("engine.cpp")]
FILE = "engine.so"
LIBRARY = "INGATHER_STIMULUS"  #: environment of a simulator: the compiled module


@cache
def library() -> Path:
    """Return the module, compiled once for this Python; raise BuildError on failure."""
    require_compiler()
    headers = [f"-I{HEADERS}", f"-I{require_verilator().vpi_headers}"]
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", *headers]
    texts = [path.read_text() for path in SOURCES]
    key = digest(*texts, *flags, sys.version, output_of("g++", "--version"))

    def compile_it(target: Path) -> None:
        execute(["g++", *flags, str(SOURCES[-1]), "-o", str(target / FILE)], target)

    return cached_folder("runtime", key, compile_it)[0] / FILE


__all__ = ["clock_number", "edges", "engine", "forget", "late", "until", "watched"]

watched: dict[int, Callable[[], object]] = {}  #: what is called for news of an agent
late: list[Event] = []  #: what is set behind all others at this edge
_edges: dict[int, Any] = {}  #: trigger of the rising edge of each clock, by its number


@cache
def engine() -> Any:
    """Return the compiled module, loaded into this simulator."""
    loader = ExtensionFileLoader("engine", os.environ[LIBRARY])
    spec = spec_from_loader("engine", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    module.begin(period_steps(), reported)
    return module


@cache
def clock_number(clock: Any) -> int:
    """Return the number of a clock, whose edges from now on come by the compiled module."""
    number = engine().clock_of(clock._path)
    edge: Any = RisingEdge(clock)
    edge._prime = lambda: engine().listen(number, True)
    edge._unprime = lambda: engine().listen(number, False)
    if edge._callbacks:  # somebody waits for it already, in cocotb's own way
        edge._cbhdl.deregister()
        edge._prime()
    _edges[number] = edge
    return number


def reported(number: int, news: list[int]) -> None:
    """Let those who wait go on, at a rising edge of clock ``number``."""
    edge = _edges[number]
    _gpi_triggers._current_gpi_trigger = edge
    for agent in news:
        if agent in watched:
            watched[agent]()
    if edge._callbacks:
        edge._do_callbacks()
    for event in late:
        event.set()
    late.clear()
    _event_loop._inst.run()
    if not edge._callbacks:
        edge._unprime()


def forget() -> None:
    """Stop all agents: the test that had them is over."""
    watched.clear()
    late.clear()
    if engine.cache_info().currsize:
        engine().clear()


async def edges(clock: Any, count: int) -> None:
    """Wait for ``count`` rising edges."""
    if count > 0:
        await come(engine().wait_for_edges(clock_number(clock), count))


async def clock_cycles(self: Any) -> Any:
    """Wait as :class:`~cocotb.triggers.ClockCycles` does, and wake only at the end."""
    if self.edge_type is not RisingEdge:
        return await EACH_EDGE(self)
    await edges(self.signal, self.num_cycles)
    return self


EACH_EDGE: Any = ClockCycles._wait
ClockCycles._wait = clock_cycles  # type: ignore[method-assign]


async def until(clock: Any, signal: Any, value: int) -> None:
    """Wait for the first rising edge, from the next one on, at which ``signal`` is ``value``."""
    await come(engine().wait_for_value(clock_number(clock), signal._path, value))


async def come(agent: int) -> None:
    """Wait for what an agent waits for."""
    came = Event()
    watched[agent] = lambda: late.append(came)
    try:
        await came.wait()
    finally:
        if watched.pop(agent, None) and not came.is_set():
            engine().stop(agent)
