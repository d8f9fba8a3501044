"""Models the paper's own protocol (SwitchGNN, sections 3.3, 3.4, 4), which is neither safe nor
live.

An aggregator counts contributions and does not know whose they are; it is released when its sum
leaves. A worker that has all results of a block says DONE once; the switch counts, and sends
ADVANCE once. On a timeout a worker fetches the features of a sum from their owners: what they
send again is marked `bypass`, releases the aggregator, and goes to the worker as it is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.protocol.explore import System
from tests.protocol.network import Change, Flight, Node
from tests.protocol.switchgnn.instances import NAMES, Instance
from tests.protocol.switchgnn.nodes import WRONG_SUM
from tests.protocol.unordered import Unordered


class Message(NamedTuple):
    """A packet; `sum` is a result's, or a feature that bypasses aggregation."""

    kind: str  # FEATURE, RESULT, DONE, ADVANCE, FETCH, BYPASS
    block: int
    source: int = 0
    destination: int = 0
    sum: int = 0


class Switch(NamedTuple):
    """The block, how many workers are done with it, and count and sum of each aggregator."""

    block: int
    done: int
    entries: tuple[tuple[int, int], ...]


class Worker(NamedTuple):
    """The block, whether its features are sent, and for each destination what has been fetched."""

    block: int
    begun: bool
    has: frozenset[int]  # destinations
    fetched: frozenset[tuple[int, int]]  # destination and source
    timeouts: int  # so many may still come; negative: any number


@dataclass(frozen=True)
class PaperSwitch(Node):
    """Models the switch; the instance's worker k is node k + 1."""

    instance: Instance

    @property
    def start(self) -> Switch:
        """Return the switch before anything has come."""
        return Switch(0, 0, ((0, 0),) * len(self.instance.owners))

    def takes(self, held: Switch, flight: Flight) -> Change:
        """Return what follows when a packet comes in."""
        message = flight.frame
        assert isinstance(message, Message)
        entries, sent, block, done = list(held.entries), [], held.block, held.done
        if message.kind == "FEATURE":
            for k in self.instance.edges.get(message.source, ()):
                count, total = entries[k]
                entries[k] = count + 1, total + message.sum
                if count + 1 == len(self.instance.sources_of(0, k)):
                    result = Message("RESULT", message.block, 0, k, entries[k][1])
                    sent.append(to(self.instance.owners[k] + 1, result))
                    entries[k] = 0, 0
        elif message.kind == "FETCH":
            sent.append(to(self.instance.owners[message.source] + 1, message))
        elif message.kind == "BYPASS":
            entries[message.destination] = 0, 0
            sent.append(to(self.instance.owners[message.destination] + 1, message))
        elif message.block == block:
            done += 1
            if done == self.instance.workers:
                block, done = block + 1, 0
                advance = Message("ADVANCE", block)
                sent += [to(k + 1, advance) for k in range(self.instance.workers)]
        after = Switch(block, done, tuple(entries))
        return Change(after, tuple(sent), f"switch takes {flight.name}")

    def at_rest(self, held: Switch) -> bool:
        """Whether all blocks are over."""
        return held.block == self.instance.turns


@dataclass(frozen=True)
class PaperWorker(Node):
    """Models a worker."""

    instance: Instance
    number: int
    timeouts: int  # so many may come, at any time; negative: any number

    @property
    def start(self) -> Worker:
        """Return a worker that has sent nothing."""
        return Worker(0, False, frozenset(), frozenset(), self.timeouts)

    @property
    def required(self) -> frozenset[int]:
        """Return the destinations that it gets."""
        owners = enumerate(self.instance.owners)
        own = (k for k, owner in owners if owner == self.number)
        return frozenset(k for k in own if self.instance.sources_of(0, k))

    def moves(self, held: Worker) -> Iterator[Change]:
        """Return what it may do: send its features of a block, or see a timeout."""
        if held.block == self.instance.turns:
            return
        name = NAMES[self.number]
        if not held.begun:
            own = [u for u, owner in enumerate(self.instance.owners) if owner == self.number]
            sent = [to(0, self.feature("FEATURE", held.block, u)) for u in own]
            after = held._replace(begun=True)
            yield Change(after, tuple(sent), f"{name} begins block {held.block}")
        after = held._replace(timeouts=max(held.timeouts - 1, -1))
        for k in sorted(self.required - held.has) if held.timeouts else ():
            sources = [u for u in self.instance.sources_of(0, k) if (k, u) not in held.fetched]
            fetches = [to(0, Message("FETCH", held.block, u, k)) for u in sources]
            yield Change(after, tuple(fetches), f"{name} has waited too long for {k}")

    def feature(self, kind: str, block: int, source: int, destination: int = 0) -> Message:
        """Return a feature."""
        return Message(kind, block, source, destination, self.instance.feature(block, source))

    def takes(self, held: Worker, flight: Flight) -> Change:
        """Return what follows when a packet comes in."""
        message = flight.frame
        assert isinstance(message, Message)
        step = f"{NAMES[self.number]} takes {flight.name}"
        if message.kind == "ADVANCE" and message.block == held.block + 1:
            after = self.start._replace(block=message.block, timeouts=held.timeouts)
            return Change(after, (), step)
        if message.block != held.block:
            return Change(held, (), step)
        if message.kind == "FETCH":
            # What it has not sent yet it sends now, as well.
            bypass = self.feature("BYPASS", held.block, message.source, message.destination)
            return Change(held, (to(0, bypass),), step)
        k, has, fetched = message.destination, held.has, held.fetched
        if message.kind in ("ADVANCE", "RESULT", "BYPASS") and k in has:
            return Change(held, (), step)
        fault = ""
        if message.kind == "RESULT":
            has |= {k}
            fault = WRONG_SUM * (message.sum != self.instance.right_sum(held.block, k))
        else:
            fetched |= {(k, message.source)}
            if {(k, u) for u in self.instance.sources_of(0, k)} <= fetched:
                has |= {k}
        after = held._replace(has=has, fetched=frozenset(f for f in fetched if f[0] not in has))
        ends = has != held.has and has == self.required
        sent = (to(0, Message("DONE", held.block, source=self.number)),) if ends else ()
        return Change(after, sent, step, fault)

    def at_rest(self, held: Worker) -> bool:
        """Whether all blocks are over."""
        return held.block == self.instance.turns


def to(node: int, message: Message) -> Flight:
    """Return a packet on its way."""
    which = (
        f" of {message.source}" if message.kind in ("FEATURE", "FETCH", "BYPASS", "DONE") else ""
    )
    where = f" for {message.destination}" if message.kind in ("RESULT", "FETCH", "BYPASS") else ""
    return Flight(node, 0, message, f"{message.kind} {message.block}{which}{where}")


class Delaying(Unordered):
    """A network that delays and reorders packets, and doubles none."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__(nodes, doubles=False)


class LosingControl(Delaying):
    """Loses only DONE and ADVANCE: timeouts repair any other loss."""

    @property
    def lost(self) -> int:
        """Return the bits of what may be lost."""
        control = ("DONE", "ADVANCE")
        return sum(bit for bit, flight in self.sent.items() if flight.name.startswith(control))

    def ends(self, state: int) -> int:
        """Return the state with what is in flight and cannot be lost."""
        return state & ~self.lost

    def emptied(self, ends: int) -> int:
        """Return the same, as the network has lost what it could."""
        return ends

    def round_trips(self, ends: int) -> Iterator[int]:
        """Return none: all ends are looked at with all steps."""
        return iter(())

    def at_rest(self, ends: int) -> bool:
        """Whether nobody waits."""
        return super().at_rest(super().ends(ends))


def paper(
    instance: Instance,
    *,
    timeouts: Sequence[int] = (),
    network: Callable[[Sequence[Node]], System] = Delaying,
) -> System:
    """Return the paper's protocol on a network, with this many timeouts of each worker."""
    counts = [*timeouts, *[0] * (instance.workers - len(timeouts))]
    workers = [PaperWorker(instance, k, count) for k, count in enumerate(counts)]
    return network([PaperSwitch(instance), *workers])
