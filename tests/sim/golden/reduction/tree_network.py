"""Runs a tree's golden switches and workers on links that lose, double and reorder frames."""

import random
from dataclasses import dataclass

from sim.golden.reduction.allreduce import saturated
from sim.golden.reduction.frames import LANES
from sim.golden.reduction.tree_switch import TreeSwitchModel
from sim.golden.tenancy import Command, Verb
from sim.p4sgd.golden.frame_worker import FrameWorker

JOB, EPOCH, BASE = 1, 77, 3


@dataclass(frozen=True, kw_only=True)
class Chances:
    """How likely a link does what to a frame."""

    drop: float = 0.3
    duplicate: float = 0.3
    reorder: float = 0.3


def group(switch):
    """Return the address of all that is below a switch: its answers go there."""
    return bytes([2, 0, 0, 0, 1, switch])


def own(plan, member):
    """Return the address of a switch or a worker."""
    parent = plan.members[member].parent
    return bytes([2, 0, 0, 0, 0, 0]) if parent is None else group(parent)


def above(plan, member):
    """Return the address of a member's parent."""
    return own(plan, plan.members[member].parent)


def some_partials(plan, count):
    """Draw activations of each worker, with extremes, so that many sums leave 32 bits."""
    low, high = -(1 << 31), (1 << 31) - 1
    lanes = [
        lambda worker: random.randint(low, high),
        lambda worker: random.choice((low, high)),
        lambda worker: high,
        lambda worker: low,
        lambda worker: random.choice((-1, 0, 1)),
        # The first half's sum is beyond 32 bits, and the second half takes it back.
        lambda worker: high if worker < len(plan.workers) // 2 else low,
        lambda worker: random.randint(-1 << 30, 1 << 30),
        lambda worker: 1 << worker % 31,
    ]
    assert len(lanes) == LANES
    return [
        [tuple(lane(worker) for lane in lanes) for _ in range(count)]
        for worker in range(len(plan.workers))
    ]


def right_sums(partials):
    """Return the sums of all workers, clamped once, and the lanes that were, a bit each."""
    totals = [tuple(map(sum, zip(*row, strict=True))) for row in zip(*partials, strict=True)]
    clamped = [
        sum((a != b) << k for k, (a, b) in enumerate(zip(total, saturated(total), strict=True)))
        for total in totals
    ]
    return [saturated(total) for total in totals], clamped


def make_workers(plan, partials, slots, *, numbers=None, **fields):
    """Return one for each worker of the plan, or for those numbers, with this many slots."""
    fields = {"job": JOB, "epoch": EPOCH, "base": BASE} | fields
    return {
        number: FrameWorker(
            address=own(plan, number),
            switch=above(plan, number),
            port=plan.members[number].place,
            slots=slots,
            partials=partials[k],
            **fields,
        )
        for k, number in enumerate(numbers or plan.workers)
    }


def grant(switch, job, epoch, **fields):
    """Give a switch to a job."""
    register = Command(verb=Verb.REGISTER, switch=0, job=job, epoch=epoch - 1, **fields)
    assert switch.command(register).verb is Verb.REGISTERED
    acquire = Command(verb=Verb.ACQUIRE, switch=0, job=job, epoch=epoch)
    assert switch.command(acquire).verb is Verb.GRANTED


def make_switch(plan, number, slots):
    """Return a switch that holds the job."""
    member = plan.members[number]
    switch = TreeSwitchModel(
        ports=plan.ports,
        slots=BASE + slots,
        jobs=2,
        address=own(plan, number),
        group=group(number),
        above=bytes(6) if member.parent is None else above(plan, number),
        place=member.place,
    )
    fields = {"ports": member.everyone, "parent": member.parent_port, "base": BASE, "count": slots}
    grant(switch, JOB, EPOCH, **fields)
    return switch


class Network:
    """Has all members of a plan, as models, on links as bad as ``chances``."""

    def __init__(self, plan, partials, slots, chances):
        self.plan, self.chances = plan, chances
        self.workers = make_workers(plan, partials, slots)
        self.switches = {number: make_switch(plan, number, slots) for number in plan.switches}
        self.flying = []  # member, port, frame

    def send(self, member, port, data):
        """Send a frame out of a member's port."""
        item = self.plan.members[member]
        if port == item.parent_port or member in self.workers:
            self.flying.append((item.parent, item.place, data))
        else:
            child = item.children[port]
            self.flying.append((child, self.plan.members[child].parent_port, data))

    def deliver(self):
        """Deliver a frame, or not, or another one before it."""
        flying, chances = self.flying, self.chances
        at = random.randrange(len(flying)) if random.random() < chances.reorder else 0
        member, port, data = flying.pop(at)
        if random.random() < chances.drop:
            return
        if random.random() < chances.duplicate:
            flying.append((member, port, data))
        if member in self.workers:
            answers = [(0, frame) for frame in self.workers[member].take(data)]
        else:
            answers = self.switches[member].take(port, data)
        for by, answer in answers:
            self.send(member, by, answer)

    def run(self, rounds=10_000):
        """Run until all workers are done; in every round, what is missing is sent again."""
        for _ in range(rounds):
            for number, worker in self.workers.items():
                for frame in (*worker.begin(), *worker.repeat()):
                    self.send(number, 0, frame)
            for _ in range(len(self.flying)):
                self.deliver()
            if all(worker.done for worker in self.workers.values()):
                return
        raise AssertionError(f"not over after {rounds} rounds")
