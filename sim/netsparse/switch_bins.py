"""Defines the bins of a NetSparse switch: its ports, gates and links, and the fates of packets."""

from collections.abc import Callable
from typing import Any

from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.property_cache.params import EVENTS as CACHE_EVENTS
from hdl.netsparse.protocol import PR_BYTES
from hdl.netsparse.switch.params import CLASSES
from sim.functional.unit_bins import Condition, PortValues, UnitGroup


def of_ports(name: str) -> dict[str, Condition]:
    """Return the bins of what packets of a class do at the ports of a switch."""

    def links(now: PortValues, side: str) -> list[tuple[int, int]]:
        valid, ready = (now[f"{side}_axis_{name}[]_t{signal}"] for signal in ("valid", "ready"))
        return list(zip(valid, ready, strict=True))

    return {
        f"{name} come by all ports at once": lambda now, _: all(v for v, _ in links(now, "s")),
        f"{name} leave by several ports at once": lambda now, _: (
            sum(v for v, _ in links(now, "m")) > 1
        ),
        f"{name} are held up at a port": lambda now, _: (1, 0) in links(now, "s"),
        f"{name} wait for one link and leave by another": lambda now, _: (
            {(1, 0), (1, 1)} <= {*links(now, "m")}
        ),
    }


SWITCH = UnitGroup(
    name="links",
    ports=tuple(
        f"{side}_axis_{name}[]_{signal}"
        for name in CLASSES
        for side in "ms"
        for signal in ("tvalid", "tready")
    ),
    bins={bin: issue for name in CLASSES for bin, issue in of_ports(name).items()},
)

PORT = UnitGroup(
    name="packets",
    bins={
        "no route": "events.no_route",
        "short": "events.short",
        "cut": "events.cut",
        "one after another": "events.packet and before.events.packet",
        "one after a drop": "events.packet and (before.events.no_route or before.events.short)",
        "held up": "axis_tvalid and not axis_tready",
    },
)

GATE = UnitGroup(
    name="packets",
    sizes=lambda params: {"ports": (1 << params.ports) - 1},
    bins={
        "one waits for room": "waits",
        "one waits while other ports have room": "waits and open",
        "one waits while none has": "waits and not open",
        "room comes": "before.waits and o_valid",
        "all ports have room": "o_valid and open == ports",
    },
)

ROOM = UnitGroup(
    name="room",
    ports=("gives[]", "left"),
    sizes=lambda params: {"ports": (1 << params.ports) - 1},
    bins={
        "closed": "open != ports",
        "all closed": "not open",
        "open again": "open & ~before.open",
        "closed to items, open to packets": "open & ~open_items",
        "open to items again": "open_items & ~before.open_items",
        "an item with a packet": "packets and item.valid",
        "all give": lambda now, before: all(give["beats"] for give in now["gives[]"]),
        "beats leave several queues": "left.bit_count() > 1",
        "taken, given and left": lambda now, before: (
            now["packets"] and now["left"] and any(give["beats"] for give in now["gives[]"])
        ),
    },
)

CUT = UnitGroup(
    name="cuts",
    bins={
        "while a packet leaves": "before.cut and o_tvalid and o_tlast and o_tuser",
        "between packets": "before.cut and not o_tvalid",
        "while the link takes nothing": "cut and o_tvalid and not o_tready",
        "the end waits": "o_tvalid and o_tuser and not o_tready",
    },
)


def any_pipe(issue: Callable[[Any], Any]) -> Condition:
    """Return a bin's test: whether ``issue`` holds for the events of any middle pipe."""
    return lambda now, before: any(issue(events) for events in now["events[]"])


def of_class(name: str) -> dict[str, Condition]:
    """Return the bins of what happens to packets of a class in middle pipes."""
    delay = "read_delay" if name == "reads" else "response_delay"
    waits = f"{name}_wait[]"

    def leaves(issue: Callable[[Any, PortValues], Any]) -> Condition:
        """Return a bin's test: whether a packet leaves a middle pipe, and ``issue`` holds for
        it.
        """
        return lambda now, before: any(
            sent["packet"] and issue(sent, now)
            for sent in (events[name]["sent"] for events in now["events[]"])
        )

    def full(sent: Any, now: PortValues) -> bool:
        return sent["bytes"] + PR_BYTES > now["mtu"]

    return {
        **{
            f"{name} dropped as {drop.name}": any_pipe(
                lambda events, drop=drop: events[name]["taken"]["drops"] >> drop.value & 1
            )
            for drop in Drop
        },
        f"good {name} come": any_pipe(lambda events: events[name]["taken"]["packet"]),
        f"{name} leave in a full packet": leaves(full),
        f"{name} leave after their time": leaves(
            lambda sent, now: (
                not full(sent, now) and now["settings"]["concatenate"] and now["settings"][delay]
            )
        ),
        f"one of {name} leaves alone": leaves(lambda sent, now: sent["prs"] == 1),
        f"several {name} leave together": leaves(lambda sent, now: sent["prs"] > 1),
        f"{name} leave without concatenation": leaves(
            lambda sent, now: not now["settings"]["concatenate"]
        ),
        f"{name} wait for their concatenator": any_pipe(lambda e: e[name]["sent"]["stall"]),
        f"{name} wait for room at a port": lambda now, before: sum(now[waits]) == 1,
        f"{name} wait for room at several ports": lambda now, before: sum(now[waits]) > 1,
        f"{name} get room": lambda now, before: sum(now[waits]) < sum(before[waits]),
    }


FABRIC = UnitGroup(
    name="packets",
    ports=("events[]", "settings", *(f"{name}_wait[]" for name in CLASSES)),
    sizes=lambda params: {"mtu": params.mtu},
    bins={bin: issue for name in CLASSES for bin, issue in of_class(name).items()},
)

FABRIC_CACHE = UnitGroup(
    name="caches",
    ports=("events[]", "settings", "configure", "busy"),
    bins={
        **{
            event: any_pipe(lambda events, event=event: events["cache"][event])
            for event in CACHE_EVENTS.members
        },
        "a stalled port is passed by": any_pipe(lambda events: events["passed_by"]),
        "a port is stalled": "stalled",
        "cleared in traffic": lambda now, before: (
            now["busy"] and any(events["cache"]["miss"] for events in now["events[]"])
        ),
        "off in traffic": lambda now, before: (
            not now["settings"]["cache"]
            and any(events["reads"]["taken"]["packet"] for events in now["events[]"])
        ),
    },
)

SWITCHES = "hdl.netsparse.switch"

GROUPS = {
    f"{SWITCHES}.cut_end.CutEnd": (CUT,),
    f"{SWITCHES}.packet_gate.PacketGate": (GATE,),
    f"{SWITCHES}.pipe_fabric.PipeFabric": (FABRIC, FABRIC_CACHE),
    f"{SWITCHES}.switch.NetSparseSwitch": (SWITCH,),
    f"{SWITCHES}.switch_port.SwitchPort": (PORT,),
    "hdl.switch.output_room.OutputRoom": (ROOM,),
}
