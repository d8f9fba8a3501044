"""Models a SwitchGNN switch, frame by frame, from its programming guide alone."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tests.gen.guides.gnn_frames_from_the_guide import (
    ACK,
    ADVANCE,
    DONE,
    FEATURE,
    FETCH,
    PARTIAL,
    RAW,
    RAWFETCH,
    RESULT,
    Frame,
    parsed,
)

VALID = 0x8000
LISTS, DESCRIPTORS, PROGRAM = range(3)


@dataclass
class Aggregator:
    """What an aggregator of a job holds."""

    expected: int = 0
    port: int = 0
    turn: int = -1  # that its sum is of
    left: int = 0
    sums: tuple = ()


@dataclass
class Job:
    """A job, with its tables: rows of numbers."""

    ports: int
    epoch: int
    base: int
    depth: int
    two: int
    lists: list
    descriptors: list  # rows of P words
    program: list  # (first row, rows, turns)
    lo: int = 0
    done: int = 0
    come: dict = field(default_factory=dict)  # seqs by turn and port
    blocks: dict = field(default_factory=dict)  # step's block, aggregators, by half
    errors: Counter = field(default_factory=Counter)
    first: tuple | None = None

    def is_open(self, turn):
        """Return whether a turn is open."""
        return self.lo <= turn <= self.lo + self.two

    def block(self, turn):
        """Return first row and rows of a turn's block."""
        turn %= sum(turns for _, _, turns in self.program)
        for first, rows, turns in self.program:
            if turn < turns:
                return first, rows
            turn -= turns
        raise AssertionError

    def aggregators(self, turn, banks):
        """Return the aggregators of a turn, loaded with its block, by number."""
        half, block = turn % 2 if self.two else 0, self.block(turn)
        if self.blocks.get(half, (None,))[0] != block:
            first, rows = block
            loaded = {}
            for number in range(self.depth // (1 + self.two) * banks):
                index, bank = divmod(number, banks)
                word = self.descriptors[first + index][bank] if index < rows else 0
                loaded[number] = Aggregator(word % (1 << 16), word >> 16)
            self.blocks[half] = block, loaded
        return self.blocks[half][1]


@dataclass
class Switch:
    """A switch whose `ack_every` is 1; `take` returns [(port, Frame)]."""

    ports: int
    banks: int
    depth: int
    lanes: int
    window: int
    jobs: int
    address: bytes = b""
    active: dict = field(default_factory=dict)
    counts: Counter = field(default_factory=Counter)

    def start(self, number, job):
        """Start a job; return why it is refused, or 'NONE'."""
        others = [one for k, one in self.active.items() if k != number]
        apart = (
            one.base >= job.base + job.depth or job.base >= one.base + one.depth for one in others
        )
        for reason, applies in {
            "NO_SUCH_JOB": number >= self.jobs,
            "NO_PORTS": job.ports == 0,
            "NO_SUCH_PORT": job.ports >= 1 << self.ports,
            "BAD_SLOTS": job.depth == 0 or job.base + job.depth > self.depth,
            "PORTS_TAKEN": any(one.ports & job.ports for one in others),
            "SLOTS_TAKEN": not all(apart),
        }.items():
            if applies:
                return reason
        self.active[number] = job
        return "NONE"

    def take(self, port, octets, corrupt=False):
        """Take what comes by a port, when all turns that are open are ready."""
        frame = None if corrupt or len(octets) < 16 else parsed(octets, self.lanes)
        verdict = self.judge(port, octets, corrupt, frame)
        sent = []
        if not verdict:
            job = self.active[frame.job]
            verdict, sent = self.meet(port, frame, job)
            sent = [
                (to, Frame(bm=1 << to, job=frame.job, epoch=job.epoch, **fields))
                for to, fields in sent
            ]
        self.counts[port, verdict] += 1
        return sent

    def judge(self, port, octets, corrupt, frame):
        """Return the verdict that needs nothing but frame and jobs, or ''."""
        if corrupt:
            return "CORRUPT"
        if len(octets) < 15:
            return "MALFORMED"
        if octets[:6] != self.address or octets[12:15] != b"\x88\xb5\x02":
            return "FOREIGN"
        if frame is None:
            return "MALFORMED"
        job = self.active.get(frame.job)
        if job is None or not job.ports >> port & 1:
            return "WRONG_JOB"
        if frame.bm != 1 << port:
            return "WRONG_WORKER"
        if frame.epoch != job.epoch:
            return "WRONG_RUN"
        return "MISPLACED" if frame.kind in (RESULT, ACK, ADVANCE) else ""

    def meet(self, port, frame, job):
        """Return the verdict of a frame of a job, and what leaves by which ports."""
        if frame.kind == DONE:
            return self.done(port, frame, job)
        if not job.is_open(frame.turn):
            return "CLOSED", []
        if frame.kind == FETCH:
            one = job.aggregators(frame.turn, self.banks).get(frame.list)
            if one is None:
                return "UNREADY", []
            return "FETCHED", self.result(frame.turn, frame.list, one)
        if frame.kind in (RAW, RAWFETCH):
            same = {"kind": frame.kind, "turn": frame.turn, "source": frame.source}
            same |= {"payload": frame.payload, "raw": (1 << port) * (frame.kind == RAWFETCH)}
            return "PASSED", self.each(frame.raw & job.ports, same)
        return self.contribution(port, frame, job)

    def each(self, ports, fields):
        """Return a frame for each port of a bitmap."""
        return [(port, fields) for port in range(self.ports) if ports >> port & 1]

    def done(self, port, frame, job):
        """Take DONE."""
        if frame.turn > job.lo:
            return "EARLY", []
        if frame.turn < job.lo:
            return "OVER", [(port, {"kind": ADVANCE, "turn": job.lo})]
        job.done |= 1 << port
        if job.done != job.ports:
            return "DONE", []
        job.come = {key: seqs for key, seqs in job.come.items() if key[0] != job.lo}
        job.lo, job.done = job.lo + 1, 0
        return "DONE", self.each(job.ports, {"kind": ADVANCE, "turn": job.lo})

    def contribution(self, port, frame, job):
        """Take a FEATURE or PARTIAL."""
        seqs = job.come.setdefault((frame.turn, port), set())
        if frame.seq >= lowest(seqs) + self.window:
            return "AHEAD", []
        again = frame.seq in seqs
        seqs.add(frame.seq)
        base = lowest(seqs)
        bitmap = sum(1 << seq - base for seq in seqs if seq >= base)
        ack = (port, {"kind": ACK, "turn": frame.turn, "seq": base, "bitmap": bitmap})
        if again:
            return "REPEATED", [ack]
        sent = [ack]
        if frame.kind == FEATURE:
            copy = {"kind": RAW, "turn": frame.turn, "source": frame.source}
            sent += self.each(frame.raw & job.ports, copy | {"payload": frame.payload})
        for row, number in self.added_to(frame, job):
            sent += self.add(frame, job, row, number)
        return "ADDED", sent

    def added_to(self, frame, job):
        """Yield row and aggregator of each addition; no aggregator where there is no row."""
        if frame.kind == PARTIAL:
            yield 0, frame.list
            return
        for row in range(frame.list, frame.list + frame.rows):
            if row >= len(job.lists):
                yield row, None
                continue
            for bank in range(self.banks):
                entry = job.lists[row] >> 16 * bank & 0xFFFF
                if entry & VALID:
                    yield row, (entry - VALID) * self.banks + bank

    def add(self, frame, job, row, number):
        """Add a contribution to an aggregator; return the sum if it is complete."""
        aggregators = job.aggregators(frame.turn, self.banks)
        one = aggregators.get(number)
        cause = ""
        if number is None:
            cause = "NO_SUCH_ROW"
        elif one is None:
            cause = "OUTSIDE"
        elif not one.expected:
            cause = "UNUSED"
        elif one.turn == frame.turn and not one.left:
            cause = "COMPLETE"
        if cause:
            job.errors[cause] += 1
            job.first = job.first or (cause, frame.turn, row, number or 0)
            return []
        if one.turn == frame.turn:
            exact = np.add(one.sums, frame.payload, dtype=np.int64)
            one.sums, one.left = tuple(exact.astype(np.int32).tolist()), one.left - 1
        else:
            one.turn, one.sums, one.left = frame.turn, frame.payload, one.expected - 1
        return self.result(frame.turn, number, one)

    def result(self, turn, number, one):
        """Return a sum that is complete in a turn."""
        if one.turn != turn or one.left or not one.expected:
            return []
        return [(one.port, {"kind": RESULT, "turn": turn, "list": number, "payload": one.sums})]


def lowest(seqs):
    """Return the lowest number that is not among seqs."""
    number = 0
    while number in seqs:
        number += 1
    return number


def table_writes(registers, table, row, words):
    """Return the accesses that write rows of a table, as words."""
    accesses = registers.write(table=table, table_row=row) + registers.command("begin_table")
    for word in words:
        accesses += registers.write(table_word=word) + registers.command("write_word")
    return accesses


def job_writes(registers, number, job, list_base, descriptor_base, banks, on_chip=True):
    """Return the accesses of steps 4 to 6; rows of descriptors count from `descriptor_base`."""
    words = -(-16 * banks // 32)
    accesses = []
    if on_chip:
        rows = [row >> 32 * k & 0xFFFFFFFF for row in job.lists for k in range(words)]
        accesses += table_writes(registers, LISTS, list_base, rows)
        rows = [word for row in job.descriptors for word in row]
        accesses += table_writes(registers, DESCRIPTORS, descriptor_base, rows)
    accesses += registers.write(job_number=number, job_epoch=job.epoch)
    steps = [word for first, *rest in job.program for word in (descriptor_base + first, *rest)]
    accesses += table_writes(registers, PROGRAM, 0, steps)
    accesses += registers.write(job_ports=job.ports)
    accesses += registers.write(job_base=job.base)
    accesses += registers.write(job_depth=job.depth)
    accesses += registers.write(job_two=job.two, job_last_step=len(job.program) - 1)
    accesses += registers.write(job_list_base=list_base)
    accesses += registers.write(job_list_rows=len(job.lists))
    return accesses + registers.command("start_job")


def in_memory(rows, row_bytes, first, line, ports):
    """Return [(port, byte address, bytes)] of a table's rows from row `first` on, in memory."""
    octets = b"".join(row.to_bytes(row_bytes, "little") for row in rows)
    at, found = first * row_bytes, []
    while octets:
        beat, offset = divmod(at, 32)
        part, octets = octets[: 32 - offset], octets[32 - offset :]
        found.append((beat % ports, 32 * (line + beat // ports) + offset, part))
        at += len(part)
    return found
