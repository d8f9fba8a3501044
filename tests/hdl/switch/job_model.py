"""Models what a host's commands do to jobs; whether a job starts is the golden switch's to say.

Nothing here replays the hardware's steps: of its cycles only what :class:`JobControl` promises is
looked at, as bounds.
"""

import random
from dataclasses import dataclass

from hdl.switch.params import COMMAND
from sim.golden.reduction.switch_model import SwitchModel
from sim.harness.payloads import unpack

FREE = {"active": 0, "ports": 0, "epoch": 0, "base": 0, "end": 0}
PATIENCE = 4  #: cycles: under full load every fourth is taken for clearing


@dataclass
class Start:
    """A start under way, with all that must come of it."""

    command: dict
    refusal: str | None
    age: int = 0
    held: int = 0  #: slots for which a cycle was taken
    since: int = 0  #: cycles since the last of them

    @property
    def entry(self):
        command = self.command
        end = command["base"] + command["count"]
        return {name: command[name] for name in ("ports", "epoch", "base")} | {
            "active": 0,
            "end": end,
        }


class JobModel:
    """Follows the ports: :meth:`check` compares a cycle, with the inputs of the same cycle."""

    def __init__(self, params):
        self.switch = SwitchModel(params.ports, params.slots, params.jobs, b"", b"")
        self.params = params
        self.table = [dict(FREE) for _ in range(params.jobs)]
        self.reason = "NONE"
        self.start = None
        self.cleared = None  # slot and ports that must be cleared now
        self.interrupted = False  # by a command in the cycle before

    @property
    def busy(self):
        return self.start is not None

    @property
    def deadline(self):
        """Return the cycles in which a start is decided: a look at each job, then the verdict."""
        return self.params.jobs + 2

    def check(self, seen, command, waiting):
        if self.start:
            self.proceed(seen, waiting)
        else:
            assert not seen["hold"]
            assert seen["cleared"] is None
        assert seen["table"] == self.table
        assert seen["busy"] == self.busy
        assert seen["reason"] == self.reason
        commanded = command["start"] or command["stop"]
        self.interrupted = self.busy and commanded
        if self.interrupted:
            self.reason = "BUSY"
        elif commanded:
            self.obey(command)

    def obey(self, command):
        """Carry out a command while no start is under way."""
        job = command["job"]
        self.reason = "NONE"
        if command["start"]:
            fields = {name: command[name] for name in ("ports", "epoch", "base", "count")}
            refused = self.switch.start_job(job, **fields)
            self.start = Start(command, refused and refused.name)
        elif job < self.params.jobs:
            self.switch.stop_job(job)
            self.table[job]["active"] = 0
        else:
            self.reason = "NO_SUCH_JOB"

    def proceed(self, seen, waiting):
        """Play a cycle of a start: it is refused in time, or its slots are cleared one by one."""
        start = self.start
        start.age += 1
        assert seen["cleared"] == self.cleared
        self.cleared = None
        if start.refusal:
            assert not seen["hold"]
            assert start.age <= self.deadline
            if not seen["busy"]:
                self.reason = self.reason if self.interrupted else start.refusal
                self.start = None
            return
        job, entry = start.command["job"], start.entry
        if start.held == start.command["count"]:
            self.table[job] = entry | {"active": 1}
            self.start = None
            assert not seen["hold"]
            return
        if seen["table"][job] == entry:
            self.table[job] = entry
        start.since += 1
        if not seen["hold"]:
            assert start.since <= PATIENCE if start.held else start.age <= self.deadline + PATIENCE
            assert waiting or not start.held, "a cycle that nobody needs is taken"
            return
        assert self.table[job] == entry, "first the job is made inactive"
        assert not waiting or not start.held or start.since >= PATIENCE
        self.cleared = entry["base"] + start.held, entry["ports"]
        start.held, start.since = start.held + 1, 0


def some_command(model):
    """Draw what a host drives in a cycle: anything, often a command that works, or nearly does."""
    if model.busy:  # operands hold still
        flags = {flag: int(random.random() < 0.03) for flag in ("start", "stop")}
        return model.start.command | flags
    command = unpack(COMMAND, random.getrandbits(COMMAND.size))
    kind, params = random.random(), model.params
    command |= {"start": int(kind < 0.3), "stop": int(0.27 < kind < 0.35)}
    job, flip = random.randrange(params.jobs), 1 << random.randrange(16)
    command["job"] = job if random.random() < 0.9 else job | flip
    if random.random() < 0.9:
        command["ports"] = random.getrandbits(params.ports) & random.getrandbits(params.ports)
    if random.random() < 0.03:
        command["ports"] |= 1 << random.randrange(params.ports, 32)
    ends = [edge for entry in model.table for edge in (entry["base"], entry["end"])]
    near = (random.choice(ends) + random.randrange(-3, 4)) % params.slots
    last = params.slots - random.randrange(1, 12)
    command["base"] = random.choice((near, near, last, random.randrange(params.slots)))
    count = random.choice((0, 1, 2, random.randrange(12), params.slots - command["base"]))
    if (command["start"] and count > 40) or random.random() < 0.05:
        count = params.slots + 1 - command["base"]
    command["count"] = count if random.random() < 0.95 or count == 0 else count | 1 << 16
    return command
