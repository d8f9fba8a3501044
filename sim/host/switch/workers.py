"""Plays two workers of a job in a simulation of their switch."""

from typing import Any

from sim.golden.reduction.frames import WireFrame
from sim.host.switch.job_switch import JobSwitch
from sim.host.switch.simulated_switch import SimulatedSwitch

WORKER = b"\2\0\0\0\0\0"  #: Ethernet address of a worker, which the switch does not look at
SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"  #: Ethernet addresses
JOB, EPOCH = 1, 9  #: the job of both workers, and the number of its run
PLACE: dict[str, Any] = {"ports": [0, 1], "base": 4, "slots": 2}  #: where the job is
SENT = ((1, -2, 3, -4, 5, -6, 7, -8), (10, 20, 30, 40, 50, 60, 70, 80))
SUM = tuple(a + b for a, b in zip(*SENT, strict=True))


def prepare(switch: JobSwitch) -> None:
    """Set what a switch has to know before any job: its addresses. Its counters begin at 0."""
    switch.clear_counters()
    switch.set_addresses(SWITCH, GROUP)


def add_up(device: SimulatedSwitch, switch: JobSwitch) -> None:
    """Send eight numbers each from ports 0 and 1, and see that their sums come to both.

    They are the first use of the job's first slot. AssertionError if another frame leaves, or none,
    or if the switch has counted anything else.
    """
    for port, payload in enumerate(SENT):
        frame = WireFrame(
            destination=SWITCH,
            source=WORKER,
            is_agg=True,
            bm=1 << port,
            job=JOB,
            epoch=EPOCH,
            seq=PLACE["base"],
            payload=payload,
        )
        device.send(str(port), frame.to_bytes())
    for port in range(len(SENT)):
        (answer,) = map(WireFrame.from_bytes, device.came[str(port)])
        assert (answer.source, answer.bm, answer.payload) == (SWITCH, 0b11, SUM)
    assert [switch.verdicts()[port]["ADDED"] for port in range(len(SENT))] == [1, 1]
    print(f"both workers have the sum; {switch.counters()['packets']} frames were taken")
