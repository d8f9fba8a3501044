"""Specifies an AllReduce of a host: with INA by P4SGD's rule, or by exchange with its peers.

Pure functions over an immutable state. Both ways give the same bits: sums are exact whole numbers,
clamped to 32 bits once. An operation uses each of its slots once; with INA its use is counted from
the grant's first operation on, as a grant clears the slots.
"""

from dataclasses import dataclass, replace

from sim.golden.reduction.allreduce import (
    USES,
    Packet,
    Phase,
    Verdict,
    WorkerSlot,
    saturated,
    worker_rule,
)
from sim.golden.tenancy import EPOCHS
from sim.mina.agreement.frames import Data, Grant, Place, Role, Sent, Share

Parts = tuple[tuple[int, ...], ...]  #: numbers to add up, by slot and lane


@dataclass(frozen=True, kw_only=True)
class Route:
    """Describes how a host's packets of a tree go: to which switch and port, by which slots."""

    switch: int
    port: int
    base: int


@dataclass(frozen=True, kw_only=True)
class Operation:
    """Holds an AllReduce that has been started, whether it is over or not."""

    job: int
    host: int
    peers: frozenset[int]
    index: int
    parts: Parts  #: the host's own parts
    epoch: int = 0  #: number of the grant by which it uses INA; 0: it does without
    slots: tuple[WorkerSlot, ...] = ()  #: its slots, with INA
    sums: tuple[tuple[int, ...] | None, ...] = ()  #: sums that are in, with INA
    heard: tuple[tuple[int, Parts], ...] = ()  #: peers' parts that have come
    taken: frozenset[int] = frozenset()  #: peers that have the host's part

    @property
    def complete(self) -> bool:
        """Return whether all that makes its sums is in."""
        if self.epoch:
            return None not in self.sums
        return {host for host, _ in self.heard} == self.peers

    @property
    def over(self) -> bool:
        """Return whether nobody needs it any more."""
        if self.epoch:
            return all(slot.phase is Phase.FREE for slot in self.slots)
        return self.complete and self.taken == self.peers

    @property
    def result(self) -> Parts:
        """Return its sums; it is complete."""
        assert self.complete
        if self.epoch:
            return tuple(item for item in self.sums if item is not None)
        everyone = [self.parts, *(parts for _, parts in self.heard)]
        lanes = zip(*everyone, strict=True)
        return tuple(saturated([sum(k) for k in zip(*slot, strict=True)]) for slot in lanes)


def with_ina(operation: Operation, grant: Grant) -> Operation:
    """Return the operation as it starts by a grant."""
    slot = WorkerSlot((operation.index - grant.first) % USES, Phase.PARTIAL)
    count = len(operation.parts)
    return replace(operation, epoch=grant.epoch, slots=(slot,) * count, sums=(None,) * count)


def without_ina(operation: Operation) -> Operation:
    """Return the operation as it is repeated by exchange: parts that have come are kept."""
    return replace(operation, epoch=0, slots=(), sums=())


def sent(operation: Operation, path: Route | None) -> Sent:
    """Return what the host sends again: for slots that are not freed, or to its peers."""
    if not operation.epoch:
        waiting = sorted(operation.peers - operation.taken)
        return tuple((Place(Role.HOST, peer), share(operation, peer)) for peer in waiting)
    assert path is not None
    frames = []
    for k, slot in enumerate(operation.slots):
        if slot.phase is not Phase.FREE:
            adds = slot.phase is Phase.PARTIAL
            payload = operation.parts[k] if adds else ()
            packet = Packet(adds, 1 << path.port, slot.use, payload=payload)
            data = Data(
                job=operation.job,
                epoch=operation.epoch % EPOCHS,
                slot=path.base + k,
                packet=packet,
            )
            frames.append((Place(Role.SWITCH, path.switch), data))
    return tuple(frames)


def share(operation: Operation, peer: int) -> Share:
    """Return the frame with the host's part for a peer."""
    return Share(
        job=operation.job,
        index=operation.index,
        host=operation.host,
        peer=peer,
        parts=operation.parts,
    )


def data_rule(operation: Operation, data: Data, base: int) -> Operation:
    """Return what a switch's packet makes of the operation; another grant's or slot's: nothing."""
    k = data.slot - base
    own = operation.epoch % EPOCHS == data.epoch and operation.job == data.job
    if not operation.epoch or not own or not 0 <= k < len(operation.slots):
        return operation
    slot, verdict = worker_rule(operation.slots[k], data.packet)
    slots = (*operation.slots[:k], slot, *operation.slots[k + 1 :])
    sums = operation.sums
    if verdict is Verdict.FULL:
        sums = (*sums[:k], data.packet.payload, *sums[k + 1 :])
    return replace(operation, slots=slots, sums=sums)


def share_rule(operation: Operation, frame: Share) -> tuple[Operation, Sent]:
    """Return what a peer's part or receipt makes of the operation, and what is sent.

    A part of an operation that the host has not started yet is not kept: it will come again. One
    of an operation that is over has been added, so it is confirmed.
    """
    if frame.taken:
        own = frame.index == operation.index
        taken = operation.taken | {frame.peer} if own else operation.taken
        return replace(operation, taken=taken), ()
    if frame.index > operation.index:
        return operation, ()
    if frame.index == operation.index:
        heard = dict(operation.heard) | {frame.host: frame.parts}
        operation = replace(operation, heard=tuple(sorted(heard.items())))
    receipt = replace(frame, taken=True, parts=())
    return operation, ((Place(Role.HOST, frame.host), receipt),)
