"""Models SwitchGNN's switch as a whole, frame by frame: in by a port, out by ports.

The rule of a job is :func:`sim.switchgnn.golden.switch_rule.switch_rule`; here are the jobs, the
order in which a frame is judged, and what is counted. Loads, the delay of ACKs and the timer of
PARTIALs, which take time in hardware, are events here.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sim.golden.job_table import JobRange, JobTable, Refusal, Stranger
from sim.switchgnn.golden.congestion import hears
from sim.switchgnn.golden.frames import Frame, Kind, Quality
from sim.switchgnn.golden.job_setup import Cause, JobSetup, TableError
from sim.switchgnn.golden.job_state import Job
from sim.switchgnn.golden.switch_rule import (
    Verdict,
    delayed_acks,
    leave_rule,
    load_rule,
    queued,
    repeats,
    switch_rule,
    unloaded,
)

Sent = list[tuple[int, Frame]]  # ports and what leaves by them


@dataclass(kw_only=True)
class RunningJob(JobRange):
    """Holds an active job: its slots are its aggregators, of the same indices in every bank."""

    setup: JobSetup
    state: Job
    passed: int = 0  # bitmap of ports whose next ACK has the mark of another switch
    errors: Counter[Cause] = field(default_factory=Counter)
    first_error: TableError | None = None


@dataclass
class Counts:
    """Counts what the switch counts beside verdicts."""

    rows: int = 0  # of lists, and one for each PARTIAL
    additions: int = 0  # into aggregators
    results: int = 0  # sums that left, RESULT or PARTIAL, repeats included
    repeats: int = 0  # of results: fetched, or not acknowledged by another switch
    turns: int = 0  # that have ended
    marks: int = 0  # ECN in what left


@dataclass
class SwitchModel:
    """Models a switch of this many ports, with banks of this many aggregators each.

    ``congested_in`` and ``congested_out`` are bitmaps of the ports whose queues are above their
    level, on the way in and on the way out (:mod:`sim.switchgnn.golden.congestion`).
    """

    ports: int
    banks: int
    depth: int
    jobs: int
    counters: Counter[tuple[int, Verdict | Stranger | Quality]] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)
    congested_in: int = 0
    congested_out: int = 0

    def __post_init__(self) -> None:
        self.table: JobTable[RunningJob] = JobTable(self.ports, self.depth, self.jobs)

    def start_job(self, number: int, *, setup: JobSetup, epoch: int, base: int) -> Refusal | None:
        """Start a job with its region at index ``base`` of every bank, or return the refusal."""
        if setup.banks != self.banks:
            raise ValueError(f"the switch has {self.banks} banks, the tables {setup.banks}")
        job = RunningJob(
            ports=setup.ports,
            epoch=epoch,
            base=base,
            count=setup.open_turns * setup.depth,
            setup=setup,
            state=Job.at_start(setup),
        )
        return self.table.start(number, job)

    def stop_job(self, number: int) -> None:
        """Take no more frames of a job."""
        self.table.stop(number)

    def load(self) -> None:
        """Load the aggregators of all open turns that are not loaded."""
        for job in self.table.active.values():
            for turn in unloaded(job.setup, job.state):
                job.state = load_rule(job.setup, job.state, turn)

    def take(self, port: int, arrival: Frame | Quality) -> Sent:
        """Take a frame, or what is none, at ``port``; return its answers, with their ports."""
        if not isinstance(arrival, Frame):
            self.counters[port, arrival] += 1
            return []
        job = self.table.judge(port, number=arrival.job, bm=arrival.bm, epoch=arrival.epoch)
        if isinstance(job, Stranger):
            self.counters[port, job] += 1
            return []
        outcome = switch_rule(job.setup, job.state, arrival, port)
        self.counters[port, outcome.verdict] += 1
        self.counts.turns += outcome.job.lo - job.state.lo
        if outcome.verdict is Verdict.ADDED:
            self.counts.rows += 1 if arrival.kind is Kind.PARTIAL else arrival.rows
            self.counts.additions += len([*job.setup.added_to(arrival)]) - len(outcome.errors)
        self.counts.repeats += outcome.verdict is Verdict.FETCHED
        if outcome.verdict is Verdict.ACKNOWLEDGED and arrival.ecn:
            job.passed |= job.setup.below & ~(1 << port)
        self.note(job, outcome.errors)
        job.state = outcome.job
        return self.signed(arrival.job, job, [*outcome.sent, *self.leave(job)])

    def note(self, job: RunningJob, errors: Iterable[TableError]) -> None:
        """Count errors of a job's tables, and keep its first one."""
        for error in errors:
            job.errors[error.cause] += 1
            job.first_error = job.first_error or error

    def leave(self, job: RunningJob) -> Sent:
        """Return all complete sums, except those that wait for another switch's window."""
        sent = []
        for place in list(queued(job.state)):
            job.state, frame = leave_rule(job.setup, job.state, place)
            sent += [frame] if frame else []
        self.counts.results += len(sent)
        return sent

    def ack_delay_over(self) -> Sent:
        """Acknowledge whatever has come and is not acknowledged."""
        sent = []
        for number, job in self.table.active.items():
            job.state, acks = delayed_acks(job.setup, job.state)
            sent += self.signed(number, job, acks)
        return sent

    def partial_timeout(self) -> Sent:
        """Return the PARTIALs that no other switch has acknowledged, to be sent again."""
        sent = []
        for number, job in self.table.active.items():
            again = list(repeats(job.setup, job.state))
            self.counts.results += len(again)
            self.counts.repeats += len(again)
            sent += self.signed(number, job, again)
        return sent

    def signed(self, number: int, job: RunningJob, sent: Iterable[tuple[int, Frame]]) -> Sent:
        """Return what leaves, with its job, its port and its marks."""
        named = []
        for port, frame in sent:
            marked = self.is_marked(frame.kind, port, job)
            self.counts.marks += marked
            bit = 1 << job.setup.links.get(port, port)
            if frame.kind is Kind.ACK:
                job.passed &= ~(1 << port)
            frame = replace(frame, bm=bit, job=number, epoch=job.epoch, ecn=marked)
            named.append((port, frame))
        return named

    def is_marked(self, kind: Kind, port: int, job: RunningJob) -> bool:
        """Return whether a frame of a job that leaves by a port is marked."""
        if kind is Kind.ACK:
            return hears(port, job.ports, self.congested_in, self.congested_out, job.passed)
        return kind in (Kind.RESULT, Kind.RAW) and bool(self.congested_out >> port & 1)
