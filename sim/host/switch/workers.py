"""Plays workers whose frames are repeated, late, early, damaged or as they should be."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from sim.golden.reduction.frames import BYTES, LANES, WireFrame
from sim.golden.reduction.switch_model import SwitchModel
from sim.golden.turns import Turns
from sim.host.simulated_ports import Arrival, SimulatedPorts
from sim.host.switch.job_switch import JobSwitch
from sim.host.switch.traffic import choose_packet, choose_payload

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"  #: Ethernet addresses
JOB, EPOCH = 1, 9  #: the job of the workers, and the number of its run
PLACE: dict[str, Any] = {"ports": [0, 1], "base": 4, "slots": 2}  #: where the job is
PORTS = sum(1 << port for port in PLACE["ports"])
ROUND = 12  #: most frames in a round, which no queue of answers is too small for
FLOOD, MOST = 6, 400  #: frames, for each answer that a queue holds, that fill it; most of them
FLOODED = 12  #: every so many rounds queues are filled
TOGETHER = (1, 2, 2, 4)  #: frames that come at the same time
LATE = (0, 1, 1, 4)  #: cycles that the last of several beats is late
LENGTHS = (*range(1, BYTES), *range(BYTES + 1, 67), *range(64 + BYTES, 129))  #: of damaged frames
DAMAGED = 0.4  #: of the frames, until each kind of damage has been
CORRUPT = 30  #: frames with a wrong checksum
Damage = Callable[[Arrival], Arrival]


def damages() -> Iterator[Damage]:
    """Yield what makes an arrival wrong: another bit in its fields, or length, or its checksum."""
    for bit in range(8 * 28):  # of all ahead of the numbers
        yield lambda came, bit=1 << bit: came._replace(
            data=(int.from_bytes(came.data, "little") ^ bit).to_bytes(len(came.data), "little")
        )
    for length in LENGTHS:
        yield lambda came, length=length: came._replace(data=(3 * came.data)[:length])
    for _ in range(CORRUPT):
        yield lambda came: came._replace(corrupt=True)


class Workers:
    """Sends frames to a simulated switch, and compares what leaves it with its golden ``model``.

    Each of ``damages`` is done to one frame, and so is each of ``more``. Frames of several ports
    end in the same cycle, or one or two apart; the model takes them in the order of
    :class:`Turns`. What the switch sends leaves a port in order. ``queued`` is the number of
    answers that wait at a port which takes none; further ones are lost.
    """

    job: Any = None  #: the last one that the model had
    alone = False  #: whether no frame may come before the one before is taken

    def __init__(
        self,
        device: SimulatedPorts,
        model: Any,
        rng: Random,
        queued: int,
        more: Sequence[Damage] = (),
    ) -> None:
        self.device, self.model, self.rng, self.queued = device, model, rng, queued
        self.turns = Turns(len(device.came))
        self.sent, self.dropped = Counter[int](), Counter[int]()  #: answers by port
        self.damages = [*damages(), *more]
        self.rng.shuffle(self.damages)

    def play(self, rounds: int) -> None:
        """Send rounds of frames; AssertionError if anything else leaves than the model says."""
        for _ in range(rounds):
            if self.rng.randrange(FLOODED) or not self.device.bare:
                self.exchange(self.frames(min(ROUND, self.queued), DAMAGED))
            else:
                names = [*self.device.came]
                stalled = self.rng.sample(names, self.rng.randint(1, len(names)))
                self.exchange(self.frames(min(MOST, FLOOD * self.queued)), stalled)

    def frames(self, count: int, damaged: float = 0) -> Iterator[list[Arrival]]:
        """Yield the frames of a round, those together that come at the same time."""
        while count > 0 and not self.model.ending:
            together = 1 if self.alone else min(count, self.rng.choice(TOGETHER))
            yield [self.frame(damaged) for _ in range(together)]
            count -= together

    def frame(self, damaged: float) -> Arrival:
        """Return a frame, which has one of the damages that are left with a chance."""
        if self.damages and self.rng.random() < damaged:
            return self.damages.pop()(self.arrival())
        return self.arrival()

    def exchange(
        self, coming: Iterable[Sequence[Arrival]], stalled: Collection[str] = ()
    ) -> list[tuple[int, bytes]]:
        """Let frames come to the switch; return the ports and frames that leave, as is due."""
        arrivals: list[Arrival] = []
        due: list[tuple[int, bytes]] = []
        free, cycle = Counter[str](), 0
        self.turns.begin()
        for bunch in coming:
            for arrival in self.placed(bunch, cycle, free):
                arrivals.append(arrival)
                if self.model.takes_turn(arrival.data, corrupt=arrival.corrupt):
                    self.turns.add(int(arrival.name), arrival.at, arrival)
                else:
                    due += self.taken(arrival)
            cycle = max(free.values()) + self.rng.choice((1, len(bunch), len(bunch) + 8))
            due += self.answers(cycle)
            while any(len(waiting) > 1 for waiting in self.turns.waiting):
                cycle += 1  # no queue of frames is ever full
                due += self.answers(cycle)
        due += self.answers()
        self.device.play(arrivals, self.rng, stalled)
        for name, came in self.device.came.items():
            expected = [data for port, data in due if str(port) == name]
            if name in stalled:
                self.dropped[int(name)] += len(expected[self.queued :])
                expected = expected[: self.queued]
            assert in_order(came) == in_order(expected), f"port {name}, of {arrivals}"
            came.clear()
        return due

    def placed(self, bunch: Sequence[Arrival], cycle: int, free: Counter[str]) -> Iterator[Arrival]:
        """Yield the arrivals of a bunch, which end from ``cycle`` on, as soon as ports are free."""
        bunch = [arrival._replace(late=self.rng.choice(LATE)) for arrival in bunch]
        cycle = max(cycle, *(free[arrival.name] + arrival.cycles for arrival in bunch))
        apart = self.rng.choice((1, 3))
        for arrival in bunch:
            at = cycle + self.rng.randrange(apart)
            free[arrival.name] = at = max(at, free[arrival.name] + arrival.cycles)
            yield arrival._replace(at=at, corrupt=arrival.corrupt and self.device.bare)

    def answers(self, until: float = float("inf")) -> Iterator[tuple[int, bytes]]:
        """Yield what answers the frames that are taken in turn before the cycle ``until``."""
        for arrival in self.turns.taken(until):
            for port, data in self.taken(arrival):
                self.sent[port] += 1
                yield port, data

    def taken(self, arrival: Arrival) -> list[tuple[int, bytes]]:
        """Let the model take a frame; return the ports and frames that leave."""
        return self.model.take(int(arrival.name), arrival.data, corrupt=arrival.corrupt)

    def check_ports(self, switch: JobSwitch) -> None:
        """Raise AssertionError unless a switch has counted the answers that left and were lost."""
        for port, counts in switch.port_counters().items():
            dropped = self.dropped[port]
            lost = {"overflows": 0, "answers_dropped": dropped}
            assert counts == {**lost, "answers_sent": self.sent[port] - dropped}, port

    def arrival(self) -> Arrival:
        """Return a frame of the job, mostly one for which its slot waits."""
        self.job = job = self.model.active.get(JOB) or self.job
        seq = self.some_slot(job.places)
        frame = WireFrame(destination=SWITCH, job=JOB, epoch=EPOCH, seq=seq)
        return arriving(filled(self.rng, frame, job.slot(seq), job.ports))

    def some_slot(self, places: range) -> int:
        """Return the number of a slot of a job, now and then of one beside them."""
        if self.rng.randrange(16):
            return self.rng.choice(places)
        return self.rng.choice((max(0, places.start - 1), places.stop))


def in_order(packets: Iterable[bytes]) -> list[bytes]:
    """Return the switch's own frames in their order, and packets of others in any."""
    return sorted(packets, key=lambda data: b"" if data[6:12] == SWITCH else data)


def filled(rng: Random, frame: WireFrame, slot: Any, everyone: int) -> WireFrame:
    """Return a worker's frame for a slot, mostly what it waits for; ``frame`` has job and slot."""
    is_agg, port, use = choose_packet(rng, slot, everyone)
    source, numbers = b"\2" + rng.randbytes(5), choose_payload(rng, LANES)
    fields = {"source": source, "payload": numbers, "is_agg": is_agg, "bm": 1 << port, "use": use}
    return replace(frame, **fields)


def arriving(frame: WireFrame) -> Arrival:
    """Return a worker's frame at the worker's port."""
    return Arrival(str(frame.bm.bit_length() - 1), frame.to_bytes())


def named(counted: Counter[Any], of: int) -> Counter[str]:
    """Return the counts of verdicts at a port, or of a job, by the names of verdicts."""
    result: Counter[str] = Counter()
    for (k, verdict), count in counted.items():
        result[verdict.name] += count * (k == of)
    return result


def check_counters(switch: JobSwitch, model: SwitchModel) -> None:
    """Raise AssertionError unless a switch has counted what its model has."""
    for port, row in switch.verdicts().items():
        assert Counter(row) == named(model.counters, port), port
    assert switch.counters()["saturations"] == model.saturations


def play_runs(
    device: SimulatedPorts,
    switch: Any,
    rounds: int,
    rng: Random,
    around: Callable[[SwitchModel], Any] = lambda model: model,
    more: Sequence[Damage] = (),
    beyond: int = 0,
) -> None:
    """Let ``rounds`` of frames come to a P4SGD switch in each of two runs of a job, and one behind.

    ``around`` returns the model of what has the switch as a part, in which ``beyond`` answers wait
    at a port behind the queue of the switch. AssertionError if an answer is
    not the model's, or comes to another port, or if a counter is wrong.
    """
    ports, slots, jobs = (switch.build.fixed[name] for name in ("ports", "slots", "jobs"))
    shadow = bool(switch.build.fixed["shadow_built"])
    model = SwitchModel(ports, slots, jobs, SWITCH, GROUP, shadow)
    workers = Workers(device, around(model), rng, switch.build.queued + beyond, more)
    switch.clear_counters()
    switch.set_addresses(SWITCH, GROUP)
    for _ in range(2):
        switch.start_job(JOB, epoch=EPOCH, **PLACE)
        place = {"base": PLACE["base"], "count": PLACE["slots"]}
        model.start_job(JOB, ports=PORTS, epoch=EPOCH, **place)
        workers.play(rounds)
        switch.stop_job(JOB)
        model.stop_job(JOB)
        workers.play(1)
    check_counters(switch, model)
    workers.check_ports(switch)
