"""Plays two workers of a job in a simulation of their SwitchGNN switch."""

from typing import Any

import numpy as np

from sim.host.switch.simulated_switch import SimulatedSwitch
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.host.gnn_frames import from_octets, to_octets
from sim.switchgnn.host.gnn_selftest import EPOCH, HOME, JOB, tables
from sim.switchgnn.host.gnn_switch import GnnSwitch

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"  #: Ethernet addresses
SENT = ((1, -2), (100, 200))  #: the first lanes of both workers' features; all others are 0


def add_up(device: SimulatedSwitch, switch: GnnSwitch) -> None:
    """Send a feature from ports 0 and 1, see their sum at port HOME, and end the turn.

    AssertionError if anything else leaves, or is counted.
    """
    lanes = switch.build.fixed["lanes"]

    def tell(port: int, kind: Kind, **fields: Any) -> None:
        frame = Frame(kind=kind, turn=0, bm=1 << port, job=JOB, epoch=EPOCH, **fields)
        device.send(str(port), to_octets(frame, lanes, SWITCH, GROUP))

    for port, feature in enumerate(SENT):
        tell(port, Kind.FEATURE, rows=1, payload=feature)
    for port in range(len(SENT)):
        tell(port, Kind.DONE)
    left = [[from_octets(o, lanes) for o in device.came[str(port)]] for port in range(len(SENT))]
    for came in device.came.values():
        came.clear()
    kinds = [sorted(frame.kind for frame in frames) for frames in left]
    assert kinds == [[Kind.ACK, Kind.ADVANCE], [Kind.ACK, Kind.ADVANCE, Kind.RESULT]]
    (result,) = (frame for frame in left[HOME] if frame.kind is Kind.RESULT)
    total = np.sum(SENT, axis=0)
    assert result.payload.tolist() == [*total, *[0] * (lanes - len(total))]
    assert [switch.verdicts()[port]["ADDED"] for port in range(len(SENT))] == [1, 1]
    assert switch.counters()["turns"] == 1
    assert switch.table_errors(JOB).cause == "NONE"
    print(f"worker {HOME} has the sum {total}; {switch.counters()['rows']} rows were added")


def run_job(device: SimulatedSwitch, switch: GnnSwitch) -> None:
    """Set a switch up as a program does on a card, be its workers in a job, and stop that."""
    switch.clear_counters()
    switch.set_addresses(SWITCH, GROUP)
    switch.set_acks(every=1, delay=100)
    own = tables(switch.build.fixed["banks"])
    switch.start_job(JOB, ports=[0, 1], epoch=EPOCH, base=0, depth=1, tables=own)
    add_up(device, switch)
    switch.stop_job(JOB)
