"""Plays the workers, parents and controller of jobs that hold a MINA switch in turn."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from sim.golden.reduction.allreduce import SwitchSlot
from sim.golden.reduction.frames import LANES, WireFrame
from sim.golden.reduction.tenant_switch import Control
from sim.golden.reduction.tree_frames import long_frame
from sim.golden.reduction.tree_rule import SUM_BITS
from sim.golden.reduction.tree_switch import TreeSwitchModel
from sim.golden.tenancy import EPOCHS, Command, Reason, State, Verb
from sim.golden.tenancy_frames import from_bytes, to_bytes
from sim.host.simulated_ports import Arrival, SimulatedPorts
from sim.host.switch.mina_switch import MinaSwitch
from sim.host.switch.traffic import choose_packet, choose_payload
from sim.host.switch.workers import (
    EPOCH,
    GROUP,
    PLACE,
    PORTS,
    SWITCH,
    Workers,
    arriving,
    check_counters,
    filled,
    named,
)

FULL, ACKED, PENDING = (True, False), (False, True), (True, True)  #: flags of a parent's frames
TAKEN = (Reason.SWITCH_TAKEN, Reason.PORTS_TAKEN, Reason.SLOTS_TAKEN)
BASES, MOST_SLOTS = (0, 2, 4), 3  #: where jobs have slots, some in common


class TenantWorkers(Workers):
    """Sends frames of jobs that a controller registers, and to which it grants the switch.

    Commands come by the last port, which is open to them, and now and then by a closed one. The
    job of a frame may have a parent, which answers, or hold the switch no more.
    """

    model: TreeSwitchModel

    def __init__(self, device: SimulatedPorts, switch: MinaSwitch, rng: Random) -> None:
        ports, slots, jobs = (switch.build.fixed[name] for name in ("ports", "slots", "jobs"))
        super().__init__(
            device, TreeSwitchModel(ports, slots, jobs, SWITCH, GROUP), rng, switch.build.queued
        )
        self.switch, self.control, self.last = switch, ports - 1, [EPOCH] * jobs
        self.grants, self.refusals = Counter[int](), Counter[int]()
        self.model.above, self.model.place = self.rng.randbytes(6), self.rng.randrange(32)
        self.model.open_ports = 1 << self.control
        switch.set_parents(self.model.above, self.model.place)
        switch.open_ports([self.control])
        switch.set_addresses(SWITCH, GROUP)
        switch.clear_counters()

    def take_turns(self, turns: int) -> None:
        """Register all jobs, one with a parent, and give ``turns`` commands, all ahead of frames.

        AssertionError if an answer, or a counter in the end, is not the model's.
        """
        place: dict[str, Any] = {"ports": PORTS, "base": PLACE["base"], "count": PLACE["slots"]}
        for job in range(self.model.jobs):
            place["parent"] = None if job or self.control in PLACE["ports"] else self.control
            command = Command(verb=Verb.REGISTER, switch=0, job=job, epoch=EPOCH, **place)
            self.give(command, self.control)
        for turn in range(turns):
            apart = bool(turn & 8)
            self.switch.share(most=self.model.jobs, ports_apart=apart)
            self.model.share(most=self.model.jobs, apart=apart)
            ports = [*range(self.model.ports), *8 * [self.control]]
            self.give(self.command(), self.rng.choice(ports))
            self.play(3)
        self.check()

    def command(self) -> Command:
        """Return a command for any job, mostly one that makes sense."""
        job = self.rng.randrange(self.model.jobs)
        holds = job in self.model.holders
        verbs = [*Verb][:3] + 4 * [Verb.RELEASE if holds else Verb.ACQUIRE]
        verb = self.rng.choice(verbs)
        epoch = self.last[job] + (verb is Verb.ACQUIRE and not holds) - (not self.rng.randrange(6))
        command = Command(verb=verb, switch=self.rng.getrandbits(32), job=job, epoch=epoch)
        if verb is Verb.RELEASE:
            return replace(command, force=not self.rng.randrange(4))
        if verb is Verb.ACQUIRE:
            return command
        parent, *children = self.rng.choices(range(self.model.ports), k=3)
        return replace(
            command,
            ports=sum(1 << k for k in {*children}),
            parent=parent if self.rng.randrange(3) else None,
            base=self.rng.choice(BASES),
            count=self.rng.randint(1, MOST_SLOTS),
        )

    def give(self, command: Command, port: int) -> None:
        """Give a command at a port; it is answered as the model says, unless the port is closed."""
        item = self.model.tenants[command.job]
        data = to_bytes(command, destination=SWITCH, source=self.rng.randbytes(6))
        for _, answer in self.exchange([[Arrival(str(port), data)]]):
            reported = from_bytes(answer)
            if reported.verb is Verb.GRANTED:
                self.last[command.job] = command.epoch
                self.grants[command.job] += item is not None and not item.holds
            self.refusals[command.job] += reported.reason in TAKEN

    @property
    def alone(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Return whether a frame may end a grant: those behind it would come to an open end."""
        return any(item.state is State.DRAINING for item in self.model.holders.values())

    def exchange(
        self, coming: Iterable[Sequence[Arrival]], stalled: Collection[str] = ()
    ) -> list[tuple[int, bytes]]:
        """Let frames come and go; then grants of jobs with nothing under way have ended."""
        due = super().exchange(coming, stalled)
        self.model.settle()
        return due

    def arrival(self) -> Arrival:
        """Return a frame of a job, mostly one that holds the switch."""
        some = self.model.holders if self.rng.randrange(8) else None
        number = self.rng.choice([*(some or range(self.model.jobs))])
        item = self.model.tenants[number]
        assert item is not None
        seq, epoch = self.some_slot(item.slots), self.last[number] % EPOCHS
        own = self.model.own_part(number, seq)
        frame = WireFrame(destination=SWITCH, job=number, epoch=epoch, seq=seq)
        if item.parent is None or self.rng.random() < 0.6:
            return of_child(self.rng, frame, own, item.ports)
        data = of_parent(self.rng, frame, own, item.ports, self.model.place)
        return Arrival(str(item.parent), data)

    def check(self) -> None:
        """Raise AssertionError unless the switch has counted what the model has."""
        switch, model = self.switch, self.model
        check_counters(switch, model)
        self.check_ports(switch)
        for job in range(model.jobs):
            assert Counter(switch.tenant_verdicts(job)) == named(model.by_job, job), job
            counts = switch.tenant_counters(job)
            due = self.grants, self.refusals, model.operations, model.octets
            result = [counts[n] for n in ("grants", "refusals", "operations", "bytes")]
            assert result == [each[job] for each in due], job
        for port in range(model.ports):
            due = {kind.name.lower(): model.control[port, kind] for kind in Control}
            assert switch.control_counters(port) == due, port


def of_child(rng: Random, frame: WireFrame, own: SwitchSlot, everyone: int) -> Arrival:
    """Return a frame of a worker, or of a switch below, whose sums have more bits."""
    frame = filled(rng, frame, own, everyone)
    arrival = arriving(frame)
    if not frame.is_agg or rng.randrange(2):
        return arrival
    sums = choose_payload(rng, LANES, rng.choice((33, 34, SUM_BITS)))
    return arrival._replace(data=long_frame(frame, sums))


def of_parent(rng: Random, frame: WireFrame, own: SwitchSlot, everyone: int, place: int) -> bytes:
    """Return a frame of the parent, mostly what the slot waits for."""
    (is_agg, acked), use = ACKED if own.ack_bm == everyone else FULL, own.use
    if not rng.randrange(4):
        is_agg, acked = rng.choice((FULL, ACKED, PENDING))
        use = choose_packet(rng, own, everyone)[2]
    clamped = rng.getrandbits(LANES) if is_agg and not acked else 0
    bm = rng.getrandbits(32) | (rng.randrange(8) > 0) << place
    fields = {"is_agg": is_agg, "acked": acked, "use": use, "bm": bm, "saturated": clamped}
    return replace(frame, payload=choose_payload(rng, LANES), **fields).to_bytes()
