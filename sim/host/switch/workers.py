"""Plays workers whose frames are repeated, late, early, damaged or as they should be."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from sim.golden.reduction.frames import BYTES, LANES, WireFrame
from sim.golden.reduction.switch_model import SwitchModel
from sim.host.simulated_ports import Arrival, SimulatedPorts
from sim.host.switch.job_switch import JobSwitch
from sim.host.switch.traffic import choose_packet, choose_payload

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"  #: Ethernet addresses
JOB, EPOCH = 1, 9  #: the job of the workers, and the number of its run
PLACE: dict[str, Any] = {"ports": [0, 1], "base": 4, "slots": 2}  #: where the job is
PORTS = sum(1 << port for port in PLACE["ports"])
ROUND = 12  #: most frames until all answers are taken, so that no queue of answers is full
LENGTHS = (*range(1, BYTES), *range(BYTES + 1, 67), 64 + BYTES, 128)  #: of damaged frames
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

    Each of ``damages`` is done to one frame, and so is each of ``more``. If there are more, what
    leaves a port has any order.
    """

    job: Any = None  #: the last one that the model had

    def __init__(
        self, device: SimulatedPorts, model: Any, rng: Random, more: Sequence[Damage] = ()
    ) -> None:
        self.device, self.model, self.rng = device, model, rng
        self.order: Any = sorted if more else list
        self.damages = [*damages(), *more]
        self.rng.shuffle(self.damages)

    def play(self, rounds: int) -> None:
        """Send rounds of frames; AssertionError if anything else leaves than the model says."""
        for _ in range(rounds):
            self.exchange(self.frames())

    def frames(self) -> Iterator[Arrival]:
        """Yield the frames of a round."""
        for _ in range(ROUND):
            damaged = self.damages and self.rng.random() < DAMAGED
            if not self.model.ending:
                yield self.damages.pop()(self.arrival()) if damaged else self.arrival()

    def exchange(self, coming: Iterable[Arrival]) -> list[tuple[int, bytes]]:
        """Let frames come to the switch; return the ports and frames that leave, as is due."""
        arrivals: list[Arrival] = []
        due: list[tuple[int, bytes]] = []
        for arrival in coming:
            due += self.model.take(int(arrival.name), arrival.data, corrupt=arrival.corrupt)
            arrivals.append(arrival)
        self.device.play(arrivals)
        for name, came in self.device.came.items():
            expected = self.order(data for port, data in due if str(port) == name)
            assert self.order(came) == expected, f"port {name}, of {arrivals}"
            came.clear()
        return due

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
) -> None:
    """Let ``rounds`` of frames come to a P4SGD switch in each of two runs of a job, and one behind.

    ``around`` returns the model of what has the switch as a part. AssertionError if an answer is
    not the model's, or comes to another port, or if a counter is wrong.
    """
    ports, slots, jobs = (switch.build.fixed[name] for name in ("ports", "slots", "jobs"))
    shadow = bool(switch.build.fixed["shadow_built"])
    model = SwitchModel(ports, slots, jobs, SWITCH, GROUP, shadow)
    workers = Workers(device, around(model), rng, more)
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
