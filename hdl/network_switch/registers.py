"""Declares the switch's own registers, and the pages of those of its parts."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from amaranth.utils import ceil_log2

from hdl.common.event_counters import CountersParams
from hdl.common.register_parts import commands, identity_registers, single
from hdl.common.registers import RegisterMap, pulse, ro
from hdl.network_switch.engines import engines
from hdl.switch.forwarding.switch import ForwardingSwitch

IDENTITY = 0x4E455453  #: the letters NETS
VERSION = 1
PAGE_BITS = 12  #: width of an address in a page
ENGINES = ("p4sgd", "allreduce", "switchgnn", "netsparse")  #: engines that a switch may have


def lost_counters(params: Any) -> CountersParams | None:
    """Return the counters of lost packets, by port and lossless stream; None if there is none."""
    streams = [stream for engine in engines(params) for stream in engine.streams]
    names = [stream.name.removeprefix("axis_") for stream in streams if stream.lossless]
    counters = [(f"port_{k}_{name}_lost", 1) for k in range(params.ports) for name in names]
    return CountersParams(name="network_switch", counters=tuple(counters)) if counters else None


@cache
def own_registers(params: Any) -> RegisterMap:
    """Return the registers of page 0: what is built, in which page, and what was lost."""
    built = [engine.name for engine in engines(params)]
    numbers = {name: 2 + built.index(name) if name in built else 0 for name in ENGINES}
    fields = [
        ro(
            f"{name}_page",
            8,
            f"tells the page of registers of engine {name}; 0: there is none",
        )
        for name in ENGINES
    ]
    ports = ro("ports", 8, "tells P, the number of ports")
    own = [
        *identity_registers(
            "Identifies the design as a switch for all systems.", IDENTITY, VERSION, ports
        ),
        *(single(each, "Tells which engines are built.") for each in fields),
    ]
    if lost := lost_counters(params):
        own.insert(0, commands(pulse("clear_lost", "sets all counters of lost packets to 0")))
        own += [
            single(
                ro(name, lost.bits, "counts packets that were corrupt, or that found no room"),
                "Counts packets that should never be lost.",
            )
            for name, _ in lost.counters
        ]
    constants = {"identity": IDENTITY, "version": VERSION, "ports": params.ports}
    constants |= {f"{name}_page": number for name, number in numbers.items()}
    return RegisterMap("network_switch", tuple(own), address_bits=PAGE_BITS, constants=constants)


def part_maps(params: Any) -> Mapping[str, RegisterMap]:
    """Return the maps of the parts by their names, in the order of their pages, from page 1 on."""
    return {
        "forwarding": ForwardingSwitch.register_map(params.hub),
        **{part.name: part.component.register_map(part.params) for part in engines(params)},
    }


@cache
def register_map(params: Any) -> RegisterMap:
    """Return the map of page 0, with the width of an address of all pages."""
    pages = 1 + len(part_maps(params))
    return replace(own_registers(params), address_bits=PAGE_BITS + ceil_log2(pages))
