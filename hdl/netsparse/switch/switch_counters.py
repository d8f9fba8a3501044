"""Counts the events of a NetSparse switch, for each port and for each middle pipe."""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal

from hdl.common.arithmetic import count_ones, delay
from hdl.common.event_counters import CountersParams
from hdl.netsparse.property_cache.params import EVENTS as CACHE_EVENTS
from hdl.netsparse.snic_counters import CLASSES, class_counters, count_class

PORT_COUNTERS = CountersParams(
    name="netsparse_port",
    counters=tuple(
        (f"{name}_{counter}", bits)
        for name in CLASSES
        for counter, bits in (
            ("in_packets", 1),  # packets received, good or not
            ("in_bytes", 7),
            ("no_route", 1),  # packets dropped because their dest has no route
            ("short", 1),  # packets dropped because they end with the header or within
            ("cut", 1),  # packets cut because they are longer than the MTU
            ("waits", 1),  # cycles in which a packet waits for room after its middle pipe
            ("out_packets", 1),  # packets sent, with those that a reset has cut
            ("out_bytes", 7),
            ("blocked", 1),  # cycles in which the link takes no beat
        )
    ),
)

PIPE_COUNTERS = CountersParams(
    name="pipe",
    counters=(
        *(counter for name in CLASSES for counter in class_counters(name)),
        *((f"cache_{name}", 1) for name in CACHE_EVENTS.members),
        ("passed_by", 1),  # reads without a lookup, because their src's port was stalled
    ),
)


def count_port(m: Module, port: int, events: Any, name: str, happened: Any, leave: Any) -> list:
    """Return statements that count one class of ``port``.

    ``leave`` is the AXI4-Stream of its link, whose beats are counted a cycle later, with the beats
    that end packets at a reset.
    """
    come = happened.came
    label = f"{name}_{port}"
    moves = delay(m, leave.tvalid & leave.tready, 1, f"{label}_moves", reset_less=False)
    keep = delay(m, leave.tkeep, 1, f"{label}_keep")
    ends = delay(m, leave.tlast, 1, f"{label}_ends")
    octets = [Signal(range(9), name=f"{label}_octets_{k}") for k in range(len(keep) // 8)]
    for k, some in enumerate(octets):
        m.d.comb += some.eq(count_ones(list(keep.word_select(k, 8))))
    return [
        events[f"{name}_in_packets"].eq(come.packet),
        events[f"{name}_in_bytes"].eq(come.bytes),
        *(events[f"{name}_{cause}"].eq(come[cause]) for cause in ("no_route", "short", "cut")),
        events[f"{name}_waits"].eq(happened.waits),
        events[f"{name}_out_packets"].eq(moves & ends),
        events[f"{name}_out_bytes"].eq(Mux(moves, sum(octets, start=Const(0)), 0)),
        events[f"{name}_blocked"].eq(leave.tvalid & ~leave.tready),
    ]


def count_pipe(events: Any, happened: Any) -> list:
    """Return statements that count the events of a middle pipe, ``happened``."""
    return [
        *(
            statement
            for name in CLASSES
            for statement in count_class(events, name, happened[name].sent, happened[name].taken)
        ),
        *(events[f"cache_{name}"].eq(happened.cache[name]) for name in CACHE_EVENTS.members),
        events.passed_by.eq(happened.passed_by),
    ]
