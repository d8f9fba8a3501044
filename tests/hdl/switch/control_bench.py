"""Drives a control port beside its model."""

import random
from collections import Counter, deque
from dataclasses import replace

from hdl.switch.tenancy import TENANT_ANSWER
from hdl.switch.tenancy_head import Reason, TenancyKind
from sim.golden import tenancy, tenancy_frames
from sim.golden.tenancy import Command, Verb
from sim.harness.payloads import pack

FIELDS = ("job", "epoch", "ports", "base", "count")
KEEP = (1 << tenancy_frames.BYTES) - 1


def some_number(bits):
    """Draw a number of this many bits, which is often zero."""
    return random.choice((0, random.getrandbits(bits), random.getrandbits(bits)))


def some_command():
    """Draw any command that a frame can have."""
    return Command(
        verb=random.choice(tenancy_frames.COMMANDS),
        switch=some_number(32),
        job=some_number(16),
        epoch=some_number(32),
        force=random.random() < 0.5,
        ports=some_number(32),
        parent=random.choice((None, some_number(8))),
        base=some_number(16),
        count=some_number(32),
    )


def packed(command):
    """Return a command as the tenants take it."""
    fields = {name: getattr(command, name) for name in FIELDS}
    fields |= {"force": int(command.force), "has_parent": int(command.parent is not None)}
    return fields | {"parent": command.parent or 0, "kind": TenancyKind[command.verb.name]}


def some_answer(command):
    """Draw any answer to a command, as the golden model has it."""
    named = Command(verb=Verb.REFUSED, switch=command.switch, job=command.job, epoch=command.epoch)
    return replace(
        named,
        verb=random.choice(list(Verb)[3:]),
        reason=random.choice(list(tenancy.Reason)),
        owner=random.getrandbits(16),
        owner_epoch=random.getrandbits(32),
    )


def answer_bits(answer):
    """Return the answer as the tenants give it."""
    kind, reason = TenancyKind[answer.verb.name], Reason[answer.reason.name]
    owner = {"owner": answer.owner, "owner_epoch": answer.owner_epoch}
    return pack(TENANT_ANSWER, owner | {"kind": kind, "reason": reason})


class PortModel:
    """A port that has one command, from when it is taken until its answer has left."""

    def __init__(self):
        self.requested = None  # the command and where it came from
        self.demands = False  # it has not been taken
        self.answer = None  # bytes
        self.events = Counter()

    def comes(self, command, source, is_open):
        """Whether a command is taken."""
        if not is_open:
            self.events["closed_commands"] += 1
        elif self.requested:
            self.events["lost_commands"] += 1
        else:
            self.events["commands"] += 1
            self.requested, self.demands = (command, source), True

    def answers(self, answer, address):
        """Note that the tenants have decided."""
        to = self.requested[1]
        self.answer = tenancy_frames.to_bytes(answer, destination=to, source=address)

    def sent(self):
        """Note that the answer has left."""
        self.requested = self.answer = None


class PortBench:
    """Drives and reads the signals of a port's two buses."""

    def __init__(self, dut, packets="packets", axis="axis"):
        names = ("tvalid", "tready", "tdata", "tkeep", "tlast", "tuser")
        self.packets = {name: getattr(dut, f"{packets}_{name}") for name in names}
        self.axis = {name: getattr(dut, f"{axis}_{name}") for name in names}
        self.offered = None
        self.passing = deque()  # packets that have been offered
        self.held = None  # what waits on the bus
        self.longest = self.waits = 0  # cycles that a packet waits though the port takes

    def drive(self, load, eager):
        """Perhaps bring one packet more; draw whether the port takes what leaves."""
        if self.offered is None and random.random() < load:
            keep = random.choice((random.getrandbits(64), (1 << 64) - 1))
            beat = {"tdata": random.getrandbits(512), "tkeep": keep}
            beat |= {"tlast": random.getrandbits(1), "tuser": random.getrandbits(1)}
            self.offered = beat
            self.passing.append(beat)
            for name, value in beat.items():
                self.packets[name].value = value
        self.packets["tvalid"].value = int(self.offered is not None)
        self.axis["tready"].value = int(random.random() < eager)

    def check(self, answer):
        """What leaves in this cycle is the next packet or ``answer``; return whether it is the
        answer.
        """
        shown = {name: int(handle.value) for name, handle in self.axis.items()}
        valid, ready = shown.pop("tvalid"), shown.pop("tready")
        if self.held is not None:
            assert valid
            assert shown == self.held
        self.held = shown if valid and not ready else None
        is_answer = False
        if valid:
            whole = {"tdata": answer and int.from_bytes(answer, "little"), "tkeep": KEEP}
            is_answer = bool(answer) and shown == whole | {"tlast": 1, "tuser": 0}
            assert is_answer or (self.offered is not None and shown == self.passing[0])
        taken = bool(self.packets["tready"].value) and self.offered is not None
        assert taken == (bool(valid and ready) and not is_answer)
        self.waits = self.waits + 1 if self.offered is not None and not taken and ready else 0
        self.longest = max(self.longest, self.waits)
        if taken:
            self.passing.popleft()
            self.offered = None
        return is_answer and bool(ready)
