"""Models a host of MINA as a whole, frame by frame, with its timers as ticks.

The rules are those of :mod:`sim.mina.agreement.member_rule`. It knows no transport: a task of
cocotb or a test gives it what comes in and sends what it answers.
"""

from dataclasses import dataclass, field

from sim.mina.agreement import host_rule as hosting
from sim.mina.agreement.frames import Frame, Sent
from sim.mina.agreement.member_rule import (
    Member,
    MemberSetup,
    at_start,
    member_rule,
    sent,
    stalls,
    starts,
)
from sim.mina.agreement.operation_rule import Parts


@dataclass
class HostModel:
    """Models a host, which carries out its job's operations one after the other.

    ``ready`` is the number of operations whose parts the host has: it may be raised at any time.
    ``patience`` is how many ticks an operation may go on without anything new before the
    controller is told.
    """

    setup: MemberSetup
    ready: int
    patience: int = 4
    sums: dict[int, Parts] = field(default_factory=dict)  #: newest sums of operations that are over
    ina: set[int] = field(default_factory=set)  #: operations whose sums switches have made

    def __post_init__(self) -> None:
        self.member: Member = at_start(self.setup)
        self.idle_ticks = 0

    @property
    def over(self) -> bool:
        """Return whether all operations are over, or the job is."""
        host = self.member.host
        return host.ended or (host.index >= self.ready and not host.busy)

    def on_frame(self, frame: Frame) -> Sent:
        """Take a frame that comes in; return what is sent then."""
        before = self.member
        self.member, answers = member_rule(self.setup, before, frame)
        if self.member.operation != before.operation:  # a round is no progress
            self.idle_ticks = 0
        self.keep()
        return (*answers, *self.advance())

    def on_tick(self) -> Sent:
        """Let some time pass: send again whatever is not answered."""
        first = self.advance()
        if first:
            return first
        again = sent(self.setup, self.member)
        self.idle_ticks += 1
        if self.member.host.busy and self.idle_ticks >= self.patience:
            self.idle_ticks = 0
            self.member, reports = stalls(self.member)
            return (*again, *reports)
        return again

    def advance(self) -> Sent:
        """Start the next operation, if it may start; return its first frames."""
        host = self.member.host
        if not hosting.may_start(host) or host.index >= self.ready:
            return ()
        self.member = starts(self.setup, self.member)
        self.idle_ticks = 0
        self.keep()
        return sent(self.setup, self.member)

    def keep(self) -> None:
        """Hand on the sums of an operation that is over."""
        host, operation = self.member.host, self.member.operation
        if operation is None or host.busy or host.ended:
            return
        self.sums[operation.index] = operation.result
        (self.ina.add if operation.epoch else self.ina.discard)(operation.index)
