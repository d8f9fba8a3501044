"""Models the controller of a group as a whole, frame by frame, with its timers as ticks.

The rules are those of :mod:`sim.mina.agreement.group_rule`; here is when the controller does what
it may: which job gets the tree next, for how long it waits for hosts and switches.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from sim.golden.tenancy import Command
from sim.mina.agreement import controller_rule as control
from sim.mina.agreement import group_rule as grouping
from sim.mina.agreement.controller_rule import Controller, JobHosts, Phase
from sim.mina.agreement.frames import Frame, Kind, Message, Sent
from sim.mina.agreement.group_rule import Group, GroupSetup
from sim.mina.agreement.hold_rule import Step


@dataclass(frozen=True, kw_only=True)
class Stable:
    """Holds what outlives the controller: it is on disk before anything that follows is sent."""

    jobs: tuple[JobHosts, ...]
    dropped: tuple[JobHosts, ...] = ()
    number: int = 0


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Says how many ticks the controller waits."""

    host: int = 60  #: ticks without an answer of a host until its job is over
    round: int = 12  #: ticks without all hosts' answers until a round is given up
    drain: int = 6  #: ticks in which slots do not finish until a release is forced
    switch: int = 30  #: ticks without an answer of a switch until its trees are out of use
    trust: int = 60  #: ticks until a switch that did not answer is tried again
    interval: int = 3  #: ticks between rounds


@dataclass
class ControllerModel:
    """Models the controller of a group of jobs, frame by frame.

    ``turns`` are the jobs and trees that get INA in turn, ``length`` is for how many operations.
    """

    setup: GroupSetup
    stable: Stable
    turns: tuple[tuple[int, int], ...]
    length: int = 2
    patience: Patience = field(default_factory=Patience)
    anew: bool = False  #: whether there has been a controller before
    counters: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        stable = self.stable
        controller = Controller(jobs=stable.jobs, dropped=stable.dropped, number=stable.number)
        self.group = Group(controller=controller)
        if self.anew:
            self.group = grouping.restarted(self.group)
        self.silent: Counter[int] = Counter()  #: by host: ticks for which it has been asked
        self.waited = 0  #: ticks for which switches have been asked
        self.in_round = 0  #: ticks since the round began, or since it ended
        self.outages: dict[int, int] = {}  #: by switch that is lost: ticks until it is tried again
        self.stalled = False  #: a host has said so since the last round
        self.turn = 0

    def restarted(self) -> "ControllerModel":
        """Return the controller that takes this one's place, with what outlives it."""
        return replace(self, anew=True, counters=self.counters)

    def on_frame(self, frame: Frame) -> Sent:
        """Take a frame that comes in; return what is sent then."""
        before = self.group
        if isinstance(frame, Message):
            self.silent[frame.host] = 0
            self.stalled |= frame.kind is Kind.REPORT
        group, answers = grouping.group_rule(self.setup, before, frame)
        return (*answers, *self.became(group))

    def on_tick(self) -> Sent:
        """Let some time pass: ask again for what is not answered, and do the next thing."""
        self.watch_switches()
        ends = self.watch_hosts()
        acted = (*ends, *self.act())
        return (*acted, *grouping.sent(self.group))

    def became(self, group: Group) -> Sent:
        """Take the group's new state; return what has to be sent at once."""
        before, self.group = self.group, group
        controller = group.controller
        self.stable = Stable(
            jobs=controller.jobs, dropped=controller.dropped, number=controller.number
        )
        if group.hold != before.hold:
            self.waited = 0
        if controller.phase is not before.controller.phase:
            self.in_round = 0
        ready = controller.phase is Phase.REQUESTING and controller.all_requested
        if ready:
            return self.decide()
        return ()

    def with_controller(self, controller: Controller) -> Sent:
        """Take the new state of the rounds; return what has to be sent at once."""
        return self.became(grouping.with_controller(self.setup, self.group, controller))

    def decide(self) -> Sent:
        """Decide the round, as all hosts have acknowledged; return what is sent."""
        return self.end_round(control.decides(self.group.controller))

    def end_round(self, controller: Controller) -> Sent:
        """End the round, decided or given up; return what tells the hosts so at once."""
        reported = controller.phase is Phase.REPORTING
        self.counters["told" if reported else "given up"] += 1
        self.with_controller(controller)
        messages = control.repeated(controller) if reported else control.aborts(controller)
        return tuple(map(grouping.to_host, messages))

    def watch_hosts(self) -> Sent:
        """Give up hosts that do not answer for too long, and their jobs; return what is sent."""
        controller = self.group.controller
        waiting = {message.host for message in control.repeated(controller)}
        for host in waiting:
            self.silent[host] += 1
        lost = {host for host in waiting if self.silent[host] > self.patience.host}
        sent: Sent = ()
        for job in sorted({controller.hosts[host] for host in lost}):
            sent += self.drop(job)
        return sent

    def drop(self, job: int) -> Sent:
        """End a job; return what tells its hosts so."""
        hosts = dict(self.group.controller.jobs)[job]
        self.counters["dropped"] += 1
        reported = self.with_controller(control.drops(self.group.controller, job))
        ends = (Message(kind=Kind.END, host=host, job=job) for host in hosts)
        return (*map(grouping.to_host, ends), *reported)

    def watch_switches(self) -> None:
        """Force what drains for too long, and give up switches that do not answer."""
        self.outages = {switch: left - 1 for switch, left in self.outages.items()}
        for switch in [switch for switch, left in self.outages.items() if left < 0]:
            del self.outages[switch]
            self.became(grouping.trusts(self.group, switch))
        hold = self.group.hold
        if hold is None or not hold.waits:
            return
        self.waited += 1
        if hold.step is Step.RELEASING and not hold.force and self.waited > self.patience.drain:
            self.group = grouping.forces(self.group)
        if self.waited <= self.patience.switch:
            return
        self.counters["switches lost"] += 1
        sent = grouping.sent(self.group)
        for switch in {frame.switch for _, frame in sent if isinstance(frame, Command)}:
            self.outages[switch] = self.patience.trust
            self.became(grouping.loses(self.group, switch))

    def act(self) -> Sent:
        """Do the next thing, if there is one; return what is sent."""
        group = self.group
        controller, hold = group.controller, group.hold
        self.in_round += 1
        if controller.phase is Phase.REQUESTING:
            late = self.in_round > self.patience.round and control.may_abandon(controller)
            return self.end_round(control.abandons(controller)) if late else ()
        if controller.phase is not Phase.IDLE:
            return ()
        # A host that reports may wait for one that is lost: a round finds out, grant or none.
        reported = hold is not None and hold.step in (Step.HELD, Step.IN_USE)
        due = reported and self.in_round > self.patience.interval
        if controller.grant is None or self.stalled or due:
            self.stalled = False
            self.counters["rounds"] += 1
            return self.with_controller(
                control.begins(controller, grouping.wish(group, self.length))
            )
        self.acquire()
        return ()

    def acquire(self) -> None:
        """Let the next job in turn try to get its tree."""
        live = dict(self.group.controller.jobs)
        for k in range(len(self.turns)):
            job, tree = self.turns[(self.turn + k) % len(self.turns)]
            if job in live and grouping.may_acquire(self.setup, self.group, tree):
                self.turn = (self.turn + k + 1) % len(self.turns)
                self.became(grouping.acquires(self.setup, self.group, job, tree))
                return
