"""Tests a card with an endpoint: its memory, its DMA, and its MAC."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from sim.host.selftest.board import Board
from sim.host.selftest.checks import Check, CheckFailed, Tell
from sim.host.selftest.memory_test import memory_checks
from sim.host.selftest.program import run_program
from sim.switchgnn.host.endpoint import Endpoint
from sim.switchgnn.host.turns import Send, Turn

CAGE = 0
FRAMES = 1000  #: number of frames that are sent at least
TIMEOUT = 25_000  #: clock cycles until frames without an ACK leave again
LOOKS = 10_000  #: reads of the counters, at most
SENT = ("sent_feature", "sent_done")  #: counters of frames that leave
OWN, SWITCH = bytes.fromhex("020000000001"), bytes.fromhex("02000000ff00")


def checks_of(endpoint: Endpoint, size: int, mode: str) -> Mapping[str, Check]:
    """Return the checks of an endpoint's card by name; ``size`` bytes of its memory are tested."""
    return {
        **memory_checks(endpoint.device, size),
        "mac": partial(check_mac, endpoint, mode),
    }


ABOUT = (
    "a SwitchGNN endpoint: write and read its memory by DMA, measure DMA, let frames come back"
    " through the MAC"
)
main = partial(run_program, ABOUT, ("memory", "dma", "mac"), ("bytes", "loopback"), checks_of)


def check_mac(endpoint: Endpoint, mode: str, tell: Tell) -> str:
    """Send features that nobody acknowledges; check that every frame comes back by the loopback.

    The frames are addressed to a switch that is not there. The endpoint counts each one that comes
    back as foreign, since it is not addressed to the endpoint.
    """
    board = Board(endpoint.device, endpoint.build.board)
    tell("the MAC hears itself")
    with board.loopback(CAGE, mode, endpoint.seconds):
        endpoint.stop()
        endpoint.clear_counters()
        start_sending(endpoint)
        back, sent = settled(endpoint)
        endpoint.stop()
    if back != sent:
        raise CheckFailed(f"{back} of {sent} frames came back")
    return f"all of {sent} frames came back"


def start_sending(endpoint: Endpoint) -> None:
    """Start a job in which the endpoint sends a turn's features and DONE again and again."""
    fixed = endpoint.build.fixed
    turn = Turn(sends=[Send(list=0, rows=1, source=k) for k in range(fixed["window"])])
    endpoint.set_addresses(OWN, SWITCH)
    endpoint.set_timers(send=TIMEOUT, fetch=TIMEOUT, gap=64, done=TIMEOUT)
    endpoint.load([turn])
    endpoint.write_payloads(0, np.ones((len(turn.sends), fixed["lanes"]), int))
    endpoint.start(0, epoch=0, port=0)


def settled(endpoint: Endpoint) -> tuple[int, int]:
    """Return how many frames came back, and how many were sent.

    Both are read until they are equal and at least FRAMES, but no more than LOOKS times. They
    become equal in the time before frames are sent again.
    """
    back = sent = 0
    for _ in range(LOOKS):
        endpoint.device.pause()
        back = endpoint.counter("taken_foreign")  # read first, so it is never more than was sent
        sent = sum(map(endpoint.counter, SENT))
        if back == sent >= FRAMES:
            break
    return back, sent
