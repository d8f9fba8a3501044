"""Tests a card with a worker: its memory, its DMA, its MAC, and an epoch of training."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from sim.host.device import wait_until
from sim.host.selftest.board import Board
from sim.host.selftest.checks import Check, CheckFailed, Tell
from sim.host.selftest.memory_test import exercise_memory, memory_checks
from sim.host.selftest.program import run_program
from sim.p4sgd.host.job import TRANSPORT, open_job
from sim.p4sgd.host.worker import Worker, WorkerStopped

CAGE = 0
SEED, SAMPLES, BITS = 1, 75, 4
HOW: dict[str, Any] = {"loss": "logistic", "batch": 16, "rate": 0.5}
LOOKS = 1000  #: reads of the counter of packets that come back, at most
MAX_SLOTS = 64  #: slots of the job that sends packets, at most
RETRIES, TIMEOUT = 20, 2000  #: times that each packet is sent again, and clock cycles between


def checks_of(worker: Worker, size: int, mode: str) -> Mapping[str, Check]:
    """Return the checks of a worker's card by name; ``size`` bytes of its memory are tested."""
    return {
        **memory_checks(worker.device, size),
        "memory": partial(check_memory, worker, size),
        "mac": partial(check_mac, worker, mode),
        "epoch": partial(check_epoch, worker),
    }


ABOUT = (
    "a P4SGD worker: write and read its memory by DMA, measure DMA, let packets come back"
    " through the MAC, train an epoch"
)
main = partial(
    run_program, ABOUT, ("memory", "dma", "mac", "epoch"), ("bytes", "loopback"), checks_of
)


def check_memory(worker: Worker, size: int, tell: Tell) -> str:
    """Test the memory that the host reaches by DMA, and that of the weights."""
    exercise_memory(worker.device, 0, size, tell)
    build, fixed = worker.build, worker.build.fixed
    worker.reset()
    weights = fixed["max_chunks"] * build.chunk_stride
    if build.chunk_stride == 4 * fixed["lanes"]:  # or else there are gaps between chunks
        for engine in range(fixed["engines"]):
            place = build.model + engine * build.engine_stride
            exercise_memory(worker.device, place, min(weights, size), tell)
    return f"{size:,} bytes and the weights are right"


def check_mac(worker: Worker, mode: str, tell: Tell) -> str:
    """Send packets that nobody answers; check that every one comes back by the loopback.

    The packets are those of a job of two workers, addressed to a switch that is not there. The
    worker counts each one that comes back as foreign, since it is not addressed to the worker.
    """
    if not worker.build.board:
        raise CheckFailed("a kernel has no MAC of its own")
    board = Board(worker.device, worker.build.board)
    tell("the MAC hears itself")
    with board.loopback(CAGE, mode, worker.seconds):
        worker.clear_counters()
        send_packets(worker)
        sent = worker.registers.read("sent_packets")
        back = returned(worker, sent)
    if back != sent:
        raise CheckFailed(f"{back} of {sent} packets came back")
    if not sent:
        raise CheckFailed("no packet was sent")
    return f"all of {sent} packets came back"


def returned(worker: Worker, sent: int) -> int:
    """Wait until all packets are back, for at most LOOKS reads; return how many are."""
    for _ in range(LOOKS):
        worker.device.pause()
        if worker.registers.read("foreign_packets") >= sent:
            break
    return int(worker.registers.read("foreign_packets"))


def send_packets(worker: Worker) -> None:
    """Let a worker send packets until it gives up waiting for the switch."""
    fixed, before = worker.build.fixed, worker.registers.read("retries")
    slots = min(fixed["slots"], MAX_SLOTS)  # packets that are under way at a time
    samples = np.ones((slots * fixed["banks"], 1), int)
    worker.load(samples, np.ones(worker.build.shape(len(samples))), bits=fixed["min_bits"])
    open_job(worker, 0, 0b11, job=0, epoch=0, base=0, slots=slots, timeout=TIMEOUT, retries=RETRIES)
    try:
        settings = worker.samples.settings(loss="linear", batch=len(samples), rate=1.0)
        worker.begin(settings | TRANSPORT)
        wait_until(worker.device, worker.ended, "giving the switch up", worker.seconds)
    except WorkerStopped as stopped:
        if stopped.cause != "NETWORK":
            raise
    else:
        raise CheckFailed("somebody has answered packets in a loopback")
    finally:
        worker.registers.write(retries=before)


def check_epoch(worker: Worker, tell: Tell) -> str:
    """Train an epoch on random samples; compare the weights with the golden model's."""
    tell("an epoch")
    fixed, rng = worker.build.fixed, np.random.default_rng(SEED)
    features = fixed["lanes"] * fixed["engines"] + 3
    codes = rng.integers(0, 1 << BITS, (SAMPLES, features))
    shape = worker.build.shape
    worker.load(codes, rng.integers(0, 2, shape(SAMPLES)), bits=BITS)
    worker.run(**HOW)
    result, golden = worker.weights(), worker.golden(np.zeros(shape(features)), **HOW)
    if wrong := int((result != golden).sum()):
        raise CheckFailed(f"{wrong} of {result.size} weights differ from the golden model's")
    return f"all {result.size} weights are the golden model's"
