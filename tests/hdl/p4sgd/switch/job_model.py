"""What :class:`JobControl` does, cycle by cycle; whether a job starts is the golden switch's."""

import random

from hdl.p4sgd.switch.job_control import TURNS
from hdl.p4sgd.switch.params import COMMAND
from sim.golden.switch import SwitchModel
from sim.payloads import unpack

FREE = {"active": 0, "ports": 0, "epoch": 0, "base": 0, "end": 0}


class JobModel:
    """The ports of a cycle are the attributes; :meth:`step` is the edge at its end."""

    def __init__(self, params):
        self.switch = SwitchModel(params.ports, params.slots, params.jobs, b"", b"")
        self.params = params
        self.table = [dict(FREE) for _ in range(params.jobs)]
        self.reason = "NONE"
        self.start = None  # that is under way
        self.turn = 0
        self.cleared = None  # slot and ports

    @property
    def busy(self):
        return self.start is not None

    def hold(self, waiting):
        """Whether a slot is about to be cleared."""
        clearing = self.busy and self.start["wait"] == 0
        return clearing and (not waiting or self.turn == TURNS - 1)

    def step(self, command, waiting):
        hold, was_busy = self.hold(waiting), self.busy
        self.turn = 0 if hold else (self.turn + 1) % TURNS
        self.cleared = None
        if hold:
            self.clear()
        elif not was_busy:
            self.obey(command)
        elif self.start["wait"]:
            self.start["wait"] -= 1
            if not self.start["wait"]:
                self.decide()
        if was_busy and (command["start"] or command["stop"]):
            self.reason = "BUSY"

    def obey(self, command):
        job = command["job"]
        if command["start"]:
            # Every job is looked at, then it is decided.
            self.start = command | {"wait": self.params.jobs + 1}
            self.reason = "NONE"
        elif command["stop"]:
            self.reason = "NONE" if job < self.params.jobs else "NO_SUCH_JOB"
            if job < self.params.jobs:
                self.switch.stop_job(job)
                self.table[job]["active"] = 0

    def decide(self):
        names = ("ports", "epoch", "base", "count")
        fields = {name: self.start[name] for name in names}
        refused = self.switch.start_job(self.start["job"], **fields)
        if refused is not None:
            self.reason, self.start = refused.name, None
            return
        end = fields["base"] + fields.pop("count")
        self.table[self.start["job"]] = {"active": 0, **fields, "end": end}
        self.start["at"] = fields["base"]

    def clear(self):
        entry, at = self.table[self.start["job"]], self.start["at"]
        self.cleared = at, entry["ports"]
        self.start["at"] += 1
        if self.start["at"] == entry["end"]:
            entry["active"], self.start = 1, None


def some_command(model):
    """What a host drives in a cycle: anything, often a command that works, or nearly does."""
    if model.busy:  # operands hold still
        flags = {flag: int(random.random() < 0.03) for flag in ("start", "stop")}
        return {name: model.start[name] for name in dict(COMMAND.members)} | flags
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
    command["base"] = random.choice((near, random.randrange(params.slots)))
    count = random.choice((0, 1, 2, random.randrange(12), params.slots - command["base"]))
    if (command["start"] and count > 40) or random.random() < 0.05:
        count = params.slots + 1 - command["base"]
    command["count"] = count if random.random() < 0.95 or count == 0 else count | 1 << 16
    return command
