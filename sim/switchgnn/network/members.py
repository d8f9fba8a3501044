"""Says what of a network one simulation has: all of it, or a worker or switch if it is cut."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sim.harness.parts import Link
from sim.switchgnn.network.network import NetworkParams

NUMBERS = 8  #: bits of the number of a link
SWITCH_BUS = "switch_axil"  #: name of the register bus of a part's switch


@dataclass(frozen=True, kw_only=True)
class Members:
    """Names what of a network one simulation has."""

    network: NetworkParams  #: the whole network
    name: str  #: of a part's worker or switch
    workers: Sequence[int]
    switches: Sequence[str]
    #: of a part: its ports that have links, and the number of the link on which each sends
    ports: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()


def everything(network: NetworkParams) -> Members:
    """Return all members of a network that is not cut."""
    workers, switches = range(network.endpoints.workers), [*network.switches]
    return Members(network=network, name="network", workers=workers, switches=switches)


def parts_of(network: NetworkParams) -> list[Members]:
    """Return each worker by itself, and then each switch."""
    sends: dict[str, dict[int, int]] = defaultdict(dict)  # number of a link, by name and port
    for number, ends in enumerate(network.ends):
        for path, (name, port) in enumerate(ends):
            sends[name][port] = 2 * number + path
    result = []
    for name in sorted(sends, key=lambda name: name in network.switches):
        ports, numbers = zip(*sorted(sends[name].items()), strict=True)
        is_switch = name in network.switches
        members = {"workers": [] if is_switch else [numbers[0] // 2]}
        members["switches"] = [name] if is_switch else []
        result.append(Members(network=network, name=name, ports=ports, numbers=numbers, **members))
    return result


def cuts(parts: Sequence[Members]) -> list[Link]:
    """Return the two ends of each cut: the number of a part, and a channel of it."""
    places = {
        number: (k, channel)
        for k, part in enumerate(parts)
        for channel, number in enumerate(part.numbers)
    }
    return [(places[number], places[number + 1]) for number in range(0, len(places), 2)]
