"""Models MINA's hosts and controller as nodes of a network, with what only the checker may know.

The checker keeps, for each host, by which grant it has started each of its operations.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.mina.agreement import controller_rule as control
from sim.mina.agreement import host_rule as hosting
from sim.mina.agreement.controller_rule import Controller, Phase, Wish
from sim.mina.agreement.frames import Grant, Kind, Message
from sim.mina.agreement.host_rule import Host, Reaction
from tests.protocol.network import Change, Flight, Moved, Node
from tests.protocol.unordered import Unordered

DIFFER = "hosts of a job decide differently on an operation"
BOTH = "two jobs use a tree at a time"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What hosts and controller do, by the specification or by a variant of it."""

    host: Callable[[Host, Message], Reaction] = hosting.host_rule
    may_start: Callable[[Host], bool] = hosting.may_start
    starts: Callable[[Host], Host] = hosting.starts
    timer: Callable[[Host], Host | None] = lambda host: None  #: of a host that is locked
    controller: Callable[[Controller, Message], tuple[Controller, Message | None]] = (
        control.controller_rule
    )
    may_begin: Callable[[Controller], bool] = lambda controller: controller.phase is Phase.IDLE
    decides: Callable[[Controller], Controller] = control.decides
    may_decide: Callable[[Controller], bool] = lambda controller: controller.all_requested
    may_abandon: Callable[[Controller], bool] = control.may_abandon
    restarted: Callable[[Controller], Controller] = control.restarted


class HostEnd(NamedTuple):
    """A host, and by which grants it started its operations so far; 0 means without INA."""

    host: Host
    log: tuple[int, ...]


class ControllerEnd(NamedTuple):
    """The controller, and how often it may restart from now on."""

    controller: Controller
    restarts: int


def name_of(message: Message) -> str:
    """Return what a message says, without who gets it."""
    index = f" at {message.index}" if message.kind is Kind.ACK else ""
    return f"{message.kind.name} {message.round}{index} of host {message.host}"


@dataclass(frozen=True, kw_only=True)
class HostNode(Node):
    """Models a host, which starts this many operations."""

    start_host: Host
    operations: int
    rules: Rules = field(default_factory=Rules)
    instant: bool = False  #: an operation is over as soon as it is started

    @property
    def name(self) -> str:
        """Return its name in traces."""
        return f"host {self.start_host.number}"

    @property
    def start(self) -> HostEnd:
        """Return the host at the beginning."""
        return HostEnd(self.start_host, ())

    def flights(self, messages: Iterable[Message | None]) -> tuple[Flight, ...]:
        """Return messages to the controller."""
        return tuple(Flight(0, 0, sent, name_of(sent)) for sent in messages if sent is not None)

    def takes(self, held: HostEnd, flight: Flight) -> Change:
        """Return what follows when a message comes in."""
        message = flight.frame
        assert isinstance(message, Message)
        step = f"{self.name} takes {message.kind.name} {message.round}"
        host, answer = self.rules.host(held.host, message)
        return Change(held._replace(host=host), self.flights([answer]), step)

    def moves(self, held: HostEnd) -> Iterator[Change]:
        """Return what it may do: start its next operation, or end the one under way."""
        host = held.host
        if self.rules.may_start(host) and host.index < self.operations:
            after = self.rules.starts(host)
            log = (*held.log, after.used)
            if self.instant:
                after = hosting.finishes(after)
            how = f"by grant {after.used}" if after.used else "without INA"
            step = f"{self.name} starts operation {host.index} {how}"
            yield Change(HostEnd(after, log), (), step)
        if host.busy:
            step = f"{self.name} ends operation {host.index - 1}"
            yield Change(held._replace(host=hosting.finishes(host)), (), step)
        unlocked = self.rules.timer(host)
        if unlocked is not None:
            yield Change(held._replace(host=unlocked), (), f"{self.name} unlocks by its timer")

    def repeats(self, held: HostEnd) -> tuple[Flight, ...]:
        """Return what it sends again."""
        return self.flights(hosting.repeated(held.host))

    def at_rest(self, held: HostEnd) -> bool:
        """Whether all operations are over, and it is not locked."""
        host = held.host
        return host.index == self.operations and not host.busy and not host.locked


def alternately(number: int, jobs: int, length: int) -> Wish:
    """Return each round's wish: the tree for the next job in turn, after the owner has stopped."""
    grant = Grant(job=number % jobs, epoch=number, end=length)
    return Wish(grant=grant, withdraw=True)


@dataclass(frozen=True, kw_only=True)
class ControllerNode(Node):
    """Models the controller, which begins this many rounds, and one more after each restart."""

    jobs: tuple[tuple[int, tuple[int, ...]], ...]
    rounds: int
    restarts: int = 0
    length: int = 1
    wish: Callable[[int, int, int], Wish] = alternately
    rules: Rules = field(default_factory=Rules)

    @property
    def start(self) -> ControllerEnd:
        """Return the controller at the beginning."""
        return ControllerEnd(Controller(jobs=self.jobs), self.restarts)

    def flights(self, messages: Iterable[Message | None]) -> tuple[Flight, ...]:
        """Return messages to hosts; host h is node h + 1."""
        return tuple(
            Flight(sent.host + 1, 0, sent, name_of(sent)) for sent in messages if sent is not None
        )

    def takes(self, held: ControllerEnd, flight: Flight) -> Change:
        """Return what follows when a message comes in."""
        message = flight.frame
        assert isinstance(message, Message)
        controller, answer = self.rules.controller(held.controller, message)
        step = f"controller takes {flight.name}"
        return Change(held._replace(controller=controller), self.flights([answer]), step)

    def moves(self, held: ControllerEnd) -> Iterator[Change]:
        """Return what it may do: begin a round, decide one, give one up, or restart."""
        controller = held.controller
        for step, after in self.choices(controller):
            ends = controller.phase is Phase.REQUESTING and after.phase is Phase.IDLE
            sent = self.flights(control.aborts(after)) if ends else ()
            yield Change(held._replace(controller=after), sent, f"controller {step}")
        if held.restarts:
            after = self.rules.restarted(controller)
            left = ControllerEnd(after, held.restarts - 1)
            yield Change(left, (), "controller restarts")

    def choices(self, controller: Controller) -> Iterator[tuple[str, Controller]]:
        """Return what it may do about rounds."""
        left = controller.number < self.rounds or controller.grant is None
        if left and self.rules.may_begin(controller):
            number = controller.number + 1
            wish = self.wish(number, len(self.jobs), self.length)
            yield f"begins round {number}", control.begins(controller, wish)
        if controller.phase is Phase.REQUESTING:
            if self.rules.may_decide(controller):
                after = self.rules.decides(controller)
                reported = after.phase is not Phase.IDLE
                yield f"{'decides' if reported else 'ends'} round {controller.round}", after
            if self.rules.may_abandon(controller):
                yield f"gives up round {controller.round}", control.abandons(controller)

    def repeats(self, held: ControllerEnd) -> tuple[Flight, ...]:
        """Return what it sends again."""
        return self.flights(control.repeated(held.controller))

    def at_rest(self, held: ControllerEnd) -> bool:
        """Whether no round is under way, and it knows what the hosts have."""
        controller = held.controller
        return controller.phase is Phase.IDLE and controller.grant is not None


class Agreement(Unordered):
    """Has the controller, then hosts, and checks what several nodes together do wrong."""

    def __init__(self, nodes: list) -> None:
        super().__init__(nodes)
        self.faults: dict[int, str] = {}  # by the ends

    def wrong(self, ends: int, moved: Moved) -> str:
        """Return what is wrong with what the nodes hold together, whatever has changed."""
        if ends not in self.faults:
            self.faults[ends] = self.fault(self.held(ends))
        return self.faults[ends]

    def fault(self, held: list) -> str:
        """Return the first thing that is wrong."""
        ends = [item for item in held if isinstance(item, HostEnd)]
        for k, item in enumerate(ends):
            for other in ends[k + 1 :]:
                if item.host.job == other.host.job:
                    pairs = zip(item.log, other.log, strict=False)
                    if any(a != b for a, b in pairs):
                        return DIFFER
                elif uses(item.host) and uses(other.host):
                    return BOTH
        return ""


def uses(host: Host) -> bool:
    """Whether an operation with INA is under way."""
    return host.busy and host.used != 0


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """Sets up a system of a controller and hosts, without switches."""

    jobs: tuple[tuple[int, tuple[int, ...]], ...] = ((0, (0, 1)),)
    operations: int = 3
    rounds: int = 3
    restarts: int = 0
    length: int = 1
    instant: bool = True

    def system(self, rules: Rules | None = None) -> Agreement:
        """Return the network."""
        rules = rules or Rules()
        controller = ControllerNode(
            jobs=self.jobs,
            rounds=self.rounds,
            restarts=self.restarts,
            length=self.length,
            rules=rules,
        )
        hosts = [
            HostNode(
                start_host=Host(number=host, job=job),
                operations=self.operations,
                rules=rules,
                instant=self.instant,
            )
            for job, hosts in self.jobs
            for host in hosts
        ]
        return Agreement([controller, *hosts])
