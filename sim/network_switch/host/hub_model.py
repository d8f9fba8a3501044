"""Models a switch for every system to which only hosts and the workers of P4SGD send."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from sim.golden.forwarding.switch import ForwardingSwitch, Rules
from sim.golden.reduction.frames import ETHERTYPE, VERSION
from sim.host.simulated_ports import Arrival

#: behind the addresses of P4SGD's frames: ethertype, version, flags
MARKS = [ETHERTYPE.to_bytes(2, "big") + bytes([VERSION, flags]) for flags in range(4)]
BEYOND = 2  #: answers of an engine that wait in a port's register, behind their queue
ROWS, MAX_BYTES = 64, 1518  #: of the table of addresses; no packet is as long


class HubModel:
    """Gives P4SGD's frames to the ``engine``, a golden model, and forwards what is to others.

    The packets in ``known`` have come before, one at each of the first ports.
    """

    def __init__(self, engine: Any, known: Sequence[bytes]) -> None:
        self.engine, self.active, self.ending = engine, engine.active, ()
        self.rest = ForwardingSwitch(Rules(engine.ports, 1, MAX_BYTES), ROWS)
        for port, data in enumerate(known):
            self.take(port, data)

    def takes_turn(self, data: bytes, *, corrupt: bool) -> bool:
        """Return whether a packet is for the engine, which takes its frames in turn."""
        return data[:6] == self.engine.address and data[12:16] in MARKS

    def take(self, port: int, data: bytes, *, corrupt: bool = False) -> list[tuple[int, bytes]]:
        """Take a packet that comes in at ``port``; return the ports and packets that leave."""
        if self.takes_turn(data, corrupt=corrupt):
            return self.engine.take(port, data, corrupt=corrupt)
        if data[:6] == self.engine.address:
            return []
        return [(k, data) for k in self.rest.receive(port, data, corrupt=corrupt)[1]]


def of_hosts(rng: Random, ports: int, known: Sequence[bytes], count: int) -> Iterator:
    """Yield functions that put a packet to one of ``known`` addresses, or another, in a place."""
    for _ in range(count):
        to = rng.choice([*known, b"\2" + rng.randbytes(5)])
        rest = rng.randbytes(rng.randint(26, 186))
        data = to + b"\2" + rng.randbytes(5) + b"\x88\xb6" + rest
        packet = Arrival(str(rng.randrange(ports)), data, corrupt=not rng.randrange(8))
        yield lambda _, packet=packet: packet
