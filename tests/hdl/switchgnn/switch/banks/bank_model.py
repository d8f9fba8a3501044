"""Models a bank by the specification: what becomes of aggregators, and when what comes out."""

import random
from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from hdl.switchgnn.switch.banks.aggregator_params import BankOperation
from hdl.switchgnn.switch.banks.bank import Bank
from hdl.switchgnn.switch.banks.ready_lists import ReadyLists
from sim.switchgnn.golden.switch_rule import Entry, entry_rule, wrong

NONE, ADD, FETCH, READ, LOAD = (operation.name for operation in BankOperation)


@dataclass(frozen=True, kw_only=True)
class Command:
    """What a bank is told in a cycle, with the sums that come after it."""

    operation: str = NONE
    index: int = 0
    base: int = 0
    count: int = 0
    tag: int = 0
    port: int = 0
    expected: int = 0
    to: int = 0  #: port of the descriptor
    maximum: bool | None = None  #: None in a bank without maxima
    payload: tuple[int, ...] = ()

    def fields(self):
        """Return the command as the hardware's bundle."""
        maximum = {} if self.maximum is None else {"maximum": self.maximum}
        return {
            "operation": BankOperation[self.operation],
            "index": self.index,
            "region": {"base": self.base, "count": self.count} | maximum,
            "tag": self.tag,
            "port": self.port,
            "descriptor": {"expected": self.expected, "port": self.to},
        }


@dataclass(frozen=True)
class Outcome:
    """What a command leads to; ``result`` has port, slot, tag and sums."""

    added: bool = False
    error: str = "NONE"
    result: tuple | None = None


class BankModel:
    """Keeps all aggregators, and a queue for each port, cycle by cycle."""

    def __init__(self, params):
        self.params = params
        self.entries = [Entry(tag=0)] * params.slots
        self.queues = [deque() for _ in range(params.ports)]
        self.since = [ReadyLists.recovery] * params.ports  # cycles since a pop left something
        self.pushed = deque([None] * (Bank.ready_latency - 1))  # what enters a queue, later
        self.changes = deque([None] * 2, maxlen=2)  # aggregators that the last commands added to

    @property
    def ready(self):
        """Return the ports that may be read in this cycle."""
        pairs = enumerate(zip(self.queues, self.since, strict=True))
        return [k for k, (queue, since) in pairs if queue and since >= ReadyLists.recovery]

    @property
    def soon(self):
        """Return the ports with a list, even if its next aggregator is still being looked up."""
        return [k for k, queue in enumerate(self.queues) if queue]

    @property
    def waiting(self):
        """Return how many aggregators wait to leave."""
        return sum(entry.queued for entry in self.entries)

    def step(self, command):
        """Let a cycle pass in which the bank gets ``command``."""
        place = (command.base + command.index) % self.params.slots
        self.since = [since + 1 for since in self.since]
        if command.operation == READ:
            place = self.queues[command.port].popleft()
            if self.queues[command.port]:
                self.since[command.port] = 1
        before = self.entries[place]
        outside = command.operation in (ADD, FETCH, LOAD) and command.index >= command.count
        if outside:
            outcome, port = Outcome(error="OUTSIDE"), None
        else:
            outcome, self.entries[place], port = self.changed(command, place, before)
        self.changes.append(place if outcome.added else None)
        self.pushed.append(None if port is None else (place, port))
        arrived = self.pushed.popleft()
        if arrived is not None:
            slot, port = arrived
            assert not any(slot in queue for queue in self.queues)
            self.queues[port].append(slot)
        return outcome

    def changed(self, command, place, entry):
        """Return a command's outcome, the aggregator after it, and the port it is to leave by."""
        tag = command.tag
        if command.operation == ADD:
            cause = wrong(entry, tag)
            if cause is not None:
                return Outcome(error=cause.name), entry, None
            payload = np.array(command.payload, np.int32)  # sums wrap as the hardware's
            after = entry_rule(entry, tag, payload, bool(command.maximum))
            after = replace(after, remaining=after.remaining % (1 << 16))
            return Outcome(added=True), after, self.push(entry, after)
        if command.operation == FETCH and entry.complete and entry.tag == tag:
            after = replace(entry, queued=True)
            return Outcome(), after, self.push(entry, after)
        if command.operation == LOAD:
            provided = replace(Entry(), tag=tag, queued=entry.queued)
            if command.to < self.params.ports:
                provided = replace(provided, expected=command.expected, port=command.to)
            return Outcome(), provided, None
        if command.operation == READ:
            if not entry.complete:
                return Outcome(), replace(entry, queued=False), None
            if entry.port != command.port or place in self.changes:
                return Outcome(), entry, entry.port
            result = entry.port, place, entry.tag, wrapped(entry.sum)
            return Outcome(result=result), replace(entry, queued=False), None
        return Outcome(), entry, None

    @staticmethod
    def push(before, after):
        """Return the port whose list gets what was in no list before."""
        return after.port if after.queued and not before.queued else None


def wrapped(sums):
    """Return the sums as numbers of 32 bits."""
    return [int(value) for value in np.asarray(sums).astype(np.int32)]


def some_sums(params):
    """Draw a payload, extremes included."""
    high = (1 << 31) - 1
    kind = random.random()
    if kind < 0.2:
        return (random.choice((high, -high - 1, -1, 0, 1)),) * params.lanes
    return tuple(random.randint(-high - 1, high) for _ in range(params.lanes))
