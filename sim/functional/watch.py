"""Samples, inside the simulator, the ports of the component under test in every cycle.

It runs beside every test that starts its clock with :mod:`sim.harness.streams` if
``$INGATHER_COVERAGE`` is set, or ``$INGATHER_BINS`` for this alone; else it costs nothing. What was
hit is written to ``bins.json`` of the folder of the run at the end of each of its tests. A test's
own component that is one of ours with more ports names that as ``watched_as``. What stands around
one of ours, and has the ports that its own groups look at, names it as ``groups_of``.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.component import Component
from hdl.common.registers import RegisterMap
from sim.functional.groups import write
from sim.functional.ports import Plain, Stream, watched
from sim.functional.register_bins import RegisterWatcher
from sim.functional.unit_bins import UnitWatcher
from sim.functional.units import units
from sim.functional.watchers import PlainWatcher, StreamWatcher
from sim.harness.coverage_runs import samples
from sim.harness.verilate import class_path
from sim.harness.verilator import component_in_simulator

#: gives clock domains of interfaces that are not in the first one of their component
DOMAINS = {
    "hdl.common.crossing.async_fifo.AsyncFifo": {"o": "read"},
    "hdl.common.crossing.axi_crossing.AxiCrossing": {"o": "sync"},
    "hdl.common.crossing.count_crossing.CountCrossing": {"o": "read"},
    "hdl.common.crossing.gray_crossing.GrayCrossing": {"seen": "read"},
    "hdl.u280.hbm_port.HbmPort": {"hbm": "hbm"},
    "hdl.u280.mac_receive.MacReceive": {"axis": "sync"},
    "hdl.u280.mac_transmit.MacTransmit": {"mac": "mac"},
}


def begin(dut: Any) -> None:
    """Watch ``dut`` until the test ends, if that is asked for."""
    if not samples():
        return
    try:
        component: Any = component_in_simulator()
    except TypeError:  # it takes no parameters
        return
    kind = getattr(component, "watched_as", None)
    if kind is not None:  # a test derives it, with more in view
        component = kind(component.params)
    if component is not None and subject(component).startswith("hdl."):
        for domain in component.domains:
            cocotb.start_soon(watch(dut, component, domain))


def subject(component: Component) -> str:
    """Return the path of the class whose bins are sampled."""
    return class_path(getattr(component, "groups_of", type(component)))


async def watch(dut: Any, component: Any, domain: str) -> None:
    """Look at the ports of ``component`` in clock ``domain``, every cycle without a reset."""
    looks = list(looks_at(dut, component, domain))
    prefix = "" if domain == "sync" else f"{domain}_"
    edge, reset = RisingEdge(getattr(dut, f"{prefix}clk")), getattr(dut, f"{prefix}rst")
    try:
        while True:
            await edge
            if not reset.value:
                for look in looks:
                    look()
    finally:
        write(Path.cwd())


def looks_at(dut: Any, component: Any, domain: str) -> Iterator[Callable[[], None]]:
    """Yield functions that look at the ports of clock ``domain``, to be called every cycle."""
    unit, first = subject(component), component.domains[0]
    homes = DOMAINS.get(unit, {})
    for port in () if hasattr(component, "groups_of") else watched(component.signature):
        interface = port.name.partition(".")[0].removesuffix("[]")
        if homes.get(interface, first) != domain:
            continue
        if isinstance(port, Stream):
            yield StreamWatcher(dut, unit, port).look
        elif isinstance(port, Plain):
            plain = PlainWatcher(dut, unit, port)
            if plain.watches:
                yield plain.look
    if domain != first:
        return
    for group in units().get(unit, ()):
        if group.exists(component.params):
            yield UnitWatcher(dut, component, unit, group).look
    map = getattr(component, "registers", None)
    bus = "s_axil" if hasattr(dut, "s_axil_arvalid") else "axil"
    if isinstance(map, RegisterMap):
        yield RegisterWatcher(dut, unit, bus, map).look
