"""Models a switch of P4SGD or MINA, frame by frame, from its programming guide alone."""

from dataclasses import dataclass, field

import numpy as np

BYTES, LONGER, LANES, USES = 60, 64, 8, 256
REGISTER, ACQUIRE, RELEASE = 32, 33, 34
REGISTERED, GRANTED, REFUSED, DRAINING, RELEASED = 35, 36, 37, 38, 39
REASONS = [
    "NONE",
    "NO_SUCH_JOB",
    "BAD_PORTS",
    "BAD_SLOTS",
    "OLD",
    "NOT_REGISTERED",
    "HELD",
    "SWITCH_TAKEN",
    "PORTS_TAKEN",
    "SLOTS_TAKEN",
]


def number(octets, first, last):
    """Return the number in bytes first to last, low byte first."""
    return int.from_bytes(octets[first : last + 1], "little")


@dataclass
class Frame:
    """The fields of a frame, and the sums that it brings."""

    is_agg: int
    acked: int
    bm: int
    job: int
    epoch: int
    seq: int
    use: int
    saturated: int = 0
    sums: tuple = (0,) * LANES

    def octets(self, destination, source, longer=False):
        """Return the frame as it is on the wire; a longer one has exact sums."""
        head = b"".join(
            value.to_bytes(size, "little")
            for value, size in (
                (2, 1),
                (self.is_agg | self.acked << 1, 1),
                (self.bm, 4),
                (self.job, 2),
                (self.epoch, 2),
                (self.seq, 2),
                (self.use, 1),
            )
        )
        high = sum((value >> 32) % 32 << 5 * k for k, value in enumerate(self.sums))
        marks = high.to_bytes(5, "little") if longer else bytes([self.saturated])
        lanes = b"".join((value % (1 << 32)).to_bytes(4, "little") for value in self.sums)
        return destination + source + b"\x88\xb5" + head + marks[:1] + lanes + marks[1:]


def frame_of(octets):
    """Return the fields of a frame of either length."""
    lanes = np.frombuffer(octets[28:60], "<i4").tolist()
    saturated = octets[27]
    if len(octets) == LONGER:
        high = int.from_bytes(octets[27:28] + octets[60:], "little")
        highs = [(high >> 5 * k) % 32 for k in range(LANES)]
        highs = [value - 32 * (value >= 16) for value in highs]
        lanes = [low % (1 << 32) + (up << 32) for low, up in zip(lanes, highs, strict=True)]
        saturated = 0
    fields = (number(octets, *place) for place in ((16, 19), (20, 21), (22, 23), (24, 25)))
    return Frame(octets[15] & 1, octets[15] >> 1 & 1, *fields, octets[26], saturated, tuple(lanes))


@dataclass
class Slot:
    """What the switch keeps of a slot, as it is when a job begins."""

    agg: int
    ack: int
    use: int = USES - 1
    sums: tuple = (0,) * LANES
    full: Frame | None = field(default_factory=lambda: Frame(1, 0, 0, 0, 0, 0, 0))  # the parent's
    freed: bool = True  # by the parent


@dataclass
class Job:
    """A job that is active, or registered."""

    ports: int
    base: int
    count: int
    epoch: int
    parent: int | None = None
    holds: bool = True
    drains: bool = False
    closed: int = 0
    slots: dict = field(default_factory=dict)

    def slot(self, seq):
        """Return a slot's state."""
        return self.slots.setdefault(seq, Slot(self.ports, self.ports))

    def ended(self, slot):
        """Return whether the next use may begin."""
        return slot.freed if self.parent is not None else slot.ack == self.ports

    @property
    def idle(self):
        """Return whether no use goes on."""
        return all(self.ended(slot) for slot in self.slots.values())

    @property
    def all_ports(self):
        """Return the ports of children and parent."""
        return self.ports | (0 if self.parent is None else 1 << self.parent)


@dataclass
class Switch:
    """A switch; `take` returns [(port, octets)], and `counts` has (port, verdict)."""

    ports: int
    slots: int
    jobs: int
    address: bytes
    group: bytes
    tenants: bool = False
    tree: bool = False
    above: bytes = bytes(6)
    place: int = 0
    most: int = 1
    apart: bool = False
    control_ports: int = 0
    table: dict = field(default_factory=dict)
    counts: dict = field(default_factory=dict)

    def start(self, number, ports, epoch, base, count):
        """Start a job; return why it is refused, or 'NONE'."""
        others = [one for k, one in self.table.items() if k != number]
        reasons = {
            "NO_SUCH_JOB": number >= self.jobs,
            "NO_PORTS": ports == 0,
            "NO_SUCH_PORT": ports >= 1 << self.ports,
            "BAD_SLOTS": count == 0 or base + count > self.slots,
            "PORTS_TAKEN": any(one.ports & ports for one in others),
            "SLOTS_TAKEN": any(overlap(one.base, one.count, base, count) for one in others),
        }
        for reason, applies in reasons.items():
            if applies:
                return reason
        self.table[number] = Job(ports, base, count, epoch)
        return "NONE"

    def command(self, octets):
        """Carry out a command of 60 bytes; return the answer's bytes."""
        kind, name, epoch = octets[15], number(octets, 20, 21), number(octets, 24, 27)
        answer, reason, owner = self.decide(octets, kind, name, epoch)
        reply = bytearray(octets[:BYTES])
        reply[0:12] = octets[6:12] + self.address
        reply[15] = answer
        reply[22:60] = bytes(38)
        reply[24:28] = octets[24:28]
        if answer == REFUSED:
            job = self.table.get(owner)
            held = job.epoch if job is not None and job.holds else 0
            reply[22:24] = owner.to_bytes(2, "little")
            reply[28:32] = held.to_bytes(4, "little")
            reply[39] = REASONS.index(reason)
        return bytes(reply)

    def decide(self, octets, kind, name, epoch):
        """Return kind of the answer, reason and owner."""
        job = self.table.get(name)
        if name >= self.jobs:
            return REFUSED, "NO_SUCH_JOB", name
        if kind == REGISTER:
            reason = self.register(octets, name, job, epoch)
            return (REGISTERED if reason == "NONE" else REFUSED), reason, name
        if kind == ACQUIRE:
            reason, owner = self.acquire(name, job, epoch)
            return (GRANTED if reason == "NONE" else REFUSED), reason, owner
        if job is None:
            return RELEASED, "NONE", name
        job.closed = max(job.closed, epoch)
        if job.holds and job.epoch <= epoch:
            if not (octets[44] & 1 or job.idle):
                job.drains = True
                return DRAINING, "NONE", name
            self.end(job)
        return RELEASED, "NONE", name

    def register(self, octets, name, job, epoch):
        """Return why REGISTER is refused, or 'NONE'."""
        ports, base, count = number(octets, 32, 35), number(octets, 36, 37), number(octets, 40, 43)
        parent = octets[38] if octets[44] & 2 else None
        bit = 0 if parent is None else 1 << parent
        if not ports or (ports | bit) >= 1 << self.ports or ports & bit:
            return "BAD_PORTS"
        if not count or base + count > self.slots:
            return "BAD_SLOTS"
        if job is not None and epoch < job.closed:
            return "OLD"
        if job is not None and job.holds:
            return "HELD"
        self.table[name] = Job(ports, base, count, 0, parent, holds=False, closed=epoch)
        return "NONE"

    def acquire(self, name, job, epoch):
        """Return why ACQUIRE is refused, or 'NONE', and the owner."""
        if job is None:
            return "NOT_REGISTERED", name
        if epoch <= job.closed:
            return "OLD", name
        if job.holds:
            return ("HELD" if job.drains or job.epoch != epoch else "NONE"), name
        others = [(k, self.table[k]) for k in sorted(self.table) if k != name]
        others = [(k, one) for k, one in others if one.holds]
        if not self.apart and len(others) >= self.most:
            return "SWITCH_TAKEN", others[0][0] if others else name
        for k, one in others:
            if self.apart and one.all_ports & job.all_ports:
                return "PORTS_TAKEN", k
        for k, one in others:
            if overlap(one.base, one.count, job.base, job.count):
                return "SLOTS_TAKEN", k
        job.holds, job.epoch, job.slots = True, epoch, {}
        return "NONE", name

    def end(self, job):
        """End a grant."""
        job.holds, job.drains, job.epoch, job.slots = False, False, 0, {}

    def is_command(self, octets):
        """Return whether a frame is a command to this switch, to the last bit."""
        zero = (*octets[22:24], *octets[28:32], *octets[39:40], *octets[45:])
        ours = octets[:6] == self.address and octets[12:15] == b"\x88\xb5\x02"
        return (
            len(octets) == BYTES
            and ours
            and octets[15] in (REGISTER, ACQUIRE, RELEASE)
            and not any(zero)
            and octets[44] < 4
        )

    def take(self, port, octets, corrupt=False):
        """Take what comes in at a port."""
        if self.tenants and not corrupt and self.is_command(octets):
            if not self.control_ports >> port & 1:
                return []
            return [(port, self.command(octets))]
        verdict, answers = self.judge(port, octets, corrupt), []
        if not verdict:
            frame = frame_of(octets)
            verdict, answers = self.meet(port, frame, self.table[frame.job])
            job = self.table[frame.job]
            if job.drains and job.idle:
                self.end(job)
        self.counts[port, verdict] = self.counts.get((port, verdict), 0) + 1
        return answers

    def judge(self, port, octets, corrupt):
        """Return the verdict that needs no slot, or ''."""
        if corrupt:
            return "CORRUPT"
        if len(octets) < 15:
            return "MALFORMED"
        if octets[:6] != self.address or octets[12:15] != b"\x88\xb5\x02":
            return "FOREIGN"
        if len(octets) not in ((BYTES, LONGER) if self.tree else (BYTES,)) or octets[15] > 3:
            return "MALFORMED"
        frame, longer = frame_of(octets), len(octets) == LONGER
        child = not frame.acked and (frame.is_agg if longer else not frame.saturated)
        full = frame.is_agg and not frame.acked
        parent = self.tree and not longer and (full or (frame.acked and not frame.saturated))
        if not child and not parent:
            return "MALFORMED"
        job = self.table.get(frame.job)
        if job is None or not job.all_ports >> port & 1:
            return "WRONG_JOB"
        above = port == job.parent
        if not (parent if above else child):
            return "WRONG_WAY"
        if not frame.bm >> self.place & 1 if above else frame.bm != 1 << port:
            return "WRONG_WORKER"
        if not job.holds:
            return "NOT_GRANTED"
        if frame.epoch != job.epoch % (1 << 16):
            return "WRONG_RUN"
        if not job.base <= frame.seq < job.base + job.count:
            return "WRONG_SLOT"
        return ""

    def meet(self, port, frame, job):
        """Return the slot's verdict, and answers."""
        slot = job.slot(frame.seq)
        if port == job.parent:
            return self.from_parent(frame, job, slot)
        bit = 1 << port
        if frame.is_agg:
            return self.partial(bit, frame, job, slot)
        return self.acknowledgement(bit, frame, job, slot)

    def partial(self, bit, frame, job, slot):
        """Take a partial activation."""
        if frame.use == (slot.use + 1) % USES:
            if not job.ended(slot):
                return "EARLY", []
            if job.drains:
                return "DRAINING", []
            slot.use, slot.sums, slot.agg, slot.ack = frame.use, frame.sums, bit, 0
            slot.full, slot.freed = None, False
        elif frame.use != slot.use:
            return "STALE", []
        elif slot.agg & bit:
            if slot.agg != job.ports:
                return "REPEATED_PARTIAL", self.pending(frame, bit)
            return "REPEATED_PARTIAL", self.sum(frame, job, slot, bit, again=True)
        else:
            slot.sums = self.added(slot.sums, frame.sums)
            slot.agg |= bit
        return "ADDED", self.sum(frame, job, slot, job.ports) if slot.agg == job.ports else []

    def added(self, sums, others):
        """Return the sums of two frames, which wrap at 37 bits where there are trees."""
        exact = [a + b for a, b in zip(sums, others, strict=True)]
        if self.tree:
            exact = [(value + (1 << 36)) % (1 << 37) - (1 << 36) for value in exact]
        return tuple(exact)

    def sum(self, frame, job, slot, bits, again=False):
        """Return the full activation, or what goes to the parent instead."""
        if job.parent is None:
            sums = tuple(max(-(1 << 31), min(value, (1 << 31) - 1)) for value in slot.sums)
            marks = sum(1 << k for k in range(LANES) if sums[k] != slot.sums[k])
        elif slot.full is not None:
            sums, marks = slot.full.sums, slot.full.saturated
        else:
            up = self.upward(frame, job, 1, slot.sums)
            return up + (self.pending(frame, bits) if again else [])
        return self.answer(frame, bits, 1, 0, marks, sums)

    def acknowledgement(self, bit, frame, job, slot):
        """Take an acknowledgement."""
        if frame.use == (slot.use - 1) % USES:
            return "PREVIOUS_ACK", self.answer(frame, bit, 0, 1)
        if frame.use != slot.use:
            return "STALE", []
        if slot.agg != job.ports or (job.parent is not None and slot.full is None):
            return "PREMATURE_ACK", []
        again = bool(slot.ack & bit)
        verdict = "REPEATED_ACK" if again else "ACKNOWLEDGED"
        slot.ack |= bit
        if slot.ack != job.ports:
            return verdict, self.pending(frame, bit) if again else []
        if job.ended(slot):
            return verdict, self.answer(frame, bit if again else job.ports, 0, 1)
        up = self.upward(frame, job, 0)
        return verdict, up + (self.pending(frame, bit) if again else [])

    def from_parent(self, frame, job, slot):
        """Take the parent's answer."""
        if frame.use != slot.use:
            return "STALE", []
        gone = slot.agg == job.ports
        thanked = slot.ack == job.ports
        wants_sum = gone and slot.full is None
        wants_ack = thanked and not slot.freed
        if frame.is_agg and frame.acked:
            if wants_sum or wants_ack:
                return "PENDING", []
            return ("REPEATED" if gone else "UNASKED"), []
        if frame.is_agg and wants_sum:
            slot.full = frame
            return "FULL", self.answer(frame, job.ports, 1, 0, frame.saturated, frame.sums)
        if not frame.is_agg and wants_ack:
            slot.freed = True
            return "FREED", self.answer(frame, job.ports, 0, 1)
        asked = gone if frame.is_agg else thanked
        return ("REPEATED" if asked else "UNASKED"), []

    def pending(self, frame, bits):
        """Return pending to some ports."""
        return self.answer(frame, bits, 1, 1)

    def answer(self, frame, bits, is_agg, acked, saturated=0, sums=(0,) * LANES):
        """Return an answer to every port of a bitmap."""
        fields = (frame.job, frame.epoch, frame.seq, frame.use, saturated, sums)
        octets = Frame(is_agg, acked, bits, *fields).octets(self.group, self.address)
        return [(port, octets) for port in range(self.ports) if bits >> port & 1]

    def upward(self, frame, job, is_agg, sums=(0,) * LANES):
        """Return a partial activation or an acknowledgement to the parent."""
        fields = (frame.job, frame.epoch, frame.seq, frame.use, 0, sums)
        up = Frame(is_agg, 0, 1 << self.place, *fields)
        return [(job.parent, up.octets(self.above, self.address, bool(is_agg)))]


def overlap(base, count, other, others):
    """Return whether two ranges of slots have one in common."""
    return base < other + others and other < base + count
