"""Plays two workers of a job in a simulation of their SwitchGNN switch."""

from collections.abc import Sequence

from gen.software.emitted.switch.gnn_switch import GnnSwitch, Tables
from gen.software.emitted.switch.simulated_switch import SimulatedSwitch

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"  #: Ethernet addresses
JOB, EPOCH = 1, 9
FEATURE, RESULT, ACK, ADVANCE, DONE = 4, 6, 8, 9, 11  #: kinds of frames
BEAT_BYTES, CONTROL_BYTES = 64, 60
SENT = ((1, -2), (100, 200))  #: the first lanes of both workers' features; all others are 0
AGGREGATOR, HOME = 0, 1  #: where they are added, and the port that their sum goes to


def tables(banks: int) -> Tables:
    """Return tables by which both features are added, and nothing else."""
    row = [0] + [None] * (banks - 1)
    return Tables(lists=[row], blocks=[{AGGREGATOR: (2, HOME)}], program=[(0, 1)])


def frame(kind: int, port: int, payload: Sequence[int] | None = None, lanes: int = 0) -> bytes:
    """Return a frame of turn 0 of the worker at a port; a payload is a feature."""
    head = bytearray(BEAT_BYTES if payload is not None else CONTROL_BYTES)
    head[:16] = SWITCH + GROUP + b"\x88\xb5\x02" + bytes([kind])
    for at, size, value in ((16, 4, 1 << port), (20, 2, JOB), (22, 2, EPOCH)):
        head[at : at + size] = value.to_bytes(size, "little")
    if payload is None:
        return bytes(head)
    head[46:48] = (1).to_bytes(2, "little")  # rows, from row 0 on
    body = b"".join(value.to_bytes(2, "little", signed=True) for value in payload)
    return bytes(head) + body.ljust(-(-2 * lanes // BEAT_BYTES) * BEAT_BYTES, b"\0")


def add_up(device: SimulatedSwitch, switch: GnnSwitch) -> None:
    """Send a feature from ports 0 and 1, see their sum at port HOME, and end the turn.

    AssertionError if anything else leaves, or is counted.
    """
    lanes = switch.build.fixed["lanes"]
    for port, feature in enumerate(SENT):
        device.send(str(port), frame(FEATURE, port, feature, lanes))
    for port in range(len(SENT)):
        device.send(str(port), frame(DONE, port))
    left = [[octets[15] for octets in device.came[str(port)]] for port in range(len(SENT))]
    assert sorted(left[0]) == [ACK, ADVANCE]
    assert sorted(left[1]) == [RESULT, ACK, ADVANCE]
    (result,) = (octets for octets in device.came[str(HOME)] if octets[15] == RESULT)
    found = [
        int.from_bytes(result[BEAT_BYTES + 4 * k :][:4], "little", signed=True)
        for k in range(lanes)
    ]
    total = [a + b for a, b in zip(*SENT, strict=True)]
    assert found == total + [0] * (lanes - len(total))
    assert [switch.verdicts()[port]["ADDED"] for port in range(len(SENT))] == [1, 1]
    assert switch.counters()["turns"] == 1
    assert switch.table_errors(JOB).cause == "NONE"
    print(f"worker {HOME} has the sum {total}; {switch.counters()['rows']} rows were added")
