"""Plays two workers of a job in a simulation of their switch."""

from gen.software.emitted.switch.simulated_switch import SimulatedSwitch
from sim.p4sgd.golden.frames import WireFrame

WORKER = b"\2\0\0\0\0\0"  #: Ethernet address of a worker, which the switch does not look at
SENT = ((1, -2, 3, -4, 5, -6, 7, -8), (10, 20, 30, 40, 50, 60, 70, 80))
SUM = tuple(a + b for a, b in zip(*SENT, strict=True))


def add_up(device: SimulatedSwitch, switch: bytes, *, job: int, epoch: int, slot: int) -> None:
    """Send eight numbers each from ports 0 and 1, and see that their sums come to both.

    They are the slot's first use in the job, whose frames go to the address ``switch``.
    AssertionError if another frame leaves, or none.
    """
    for port, payload in enumerate(SENT):
        frame = WireFrame(
            destination=switch,
            source=WORKER,
            is_agg=True,
            bm=1 << port,
            job=job,
            epoch=epoch,
            seq=slot,
            payload=payload,
        )
        device.send(port, frame.to_bytes())
    for port in range(len(SENT)):
        (answer,) = map(WireFrame.from_bytes, device.came[port])
        assert (answer.source, answer.bm, answer.payload) == (switch, 0b11, SUM)
