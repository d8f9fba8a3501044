"""Plays the workers of a job in a simulation of their switch."""

from collections.abc import Sequence

from gen.software.emitted.switch.simulated_switch import SimulatedSwitch
from sim.p4sgd.golden.frames import WireFrame

WORKER = b"\2\0\0\0\0\0"  #: Ethernet address of a worker, which the switch does not look at


def add_up(
    device: SimulatedSwitch,
    switch: bytes,
    sent: Sequence[tuple[int, ...]],
    *,
    job: int,
    epoch: int,
    slot: int,
) -> list[WireFrame]:
    """Send eight numbers from each port, from port 0 on; return the frame that each port gets.

    They are the slot's first use in the job. AssertionError if a port gets none or several.
    """
    for port, payload in enumerate(sent):
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
    came = [[WireFrame.from_bytes(frame) for frame in device.came[p]] for p in range(len(sent))]
    assert [len(frames) for frames in came] == [1] * len(sent), came
    return [frame for (frame,) in came]
