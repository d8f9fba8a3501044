"""Runs a job on the simulated endpoint through its host package, as a program on a card would.

The switch and the job's other worker are golden models. ``python bench/run.py`` builds the Verilog
and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge
from switchgnn_endpoint_host import BUILD, Device, Send, Turn, attach
from switchgnn_endpoint_host.frames import Kind
from switchgnn_endpoint_host.golden_network import GoldenNetwork
from switchgnn_endpoint_host.job_setup import Descriptor, JobSetup
from switchgnn_endpoint_host.simulated_endpoint import SimulatedEndpoint
from switchgnn_endpoint_host.worker import WorkerModel
from switchgnn_endpoint_host.worker_rule import Contribution, Copy, Share, WorkerSetup

SEED, JOB, EPOCH, TURNS = 1, 1, 9, 3
SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"  #: Ethernet addresses
OTHER, OWN = 0, 1  #: ports of the workers; that at port p has vertices p, p + 2, p + 4 ...
VERTICES, SUMS, BANKS = 8, 4, 2  #: the sum of aggregator a goes to the worker at port a % 2
LANES, WINDOW = BUILD.fixed["lanes"], BUILD.fixed["window"]
TIMERS = {"send": 2000, "fetch": 3000, "gap": 20, "done": 2000}
FEATURES = np.random.default_rng(SEED).integers(-(1 << 15), 1 << 15, (TURNS, VERTICES, LANES))
ADDED = (np.arange(VERTICES) + np.arange(SUMS)[:, None]) % 3 > 0  #: [sums, vertices]: what is added
ROWS = [(int(v), int(a)) for v, a in np.argwhere(ADDED.T)]  #: of the switch: one per addition


def send_of(vertex: int) -> Send:
    """Return the frame of a vertex; 0 and 1 are also copied to the worker without them."""
    rows = [k for k, (v, _) in enumerate(ROWS) if v == vertex]
    copies = [1 - vertex] if vertex in (OTHER, OWN) else []
    return Send(list=rows[0], rows=len(rows), source=vertex, copy_to=copies)


def the_network() -> GoldenNetwork:
    """Return the network of the endpoint: the switch, and the worker at port OTHER."""
    rows = [[a // BANKS if bank == a % BANKS else None for bank in range(BANKS)] for _, a in ROWS]
    setup = JobSetup(
        ports=1 << OTHER | 1 << OWN,
        banks=BANKS,
        depth=SUMS // BANKS,
        window=WINDOW,
        blocks=[{a: Descriptor(int(ADDED[a].sum()), a % 2) for a in range(SUMS)}],
        rows=rows,
    )
    sends = [send_of(vertex) for vertex in range(OTHER, VERTICES, 2)]
    contributions = [
        Contribution(Kind.FEATURE, s.list, s.rows, s.source, sum(1 << port for port in s.copy_to))
        for s in sends
    ]
    share = Share(contributions, range(OTHER, SUMS, 2), [Copy(OWN, owner=OWN)])
    worker = WorkerSetup(
        turns=TURNS,
        window=WINDOW,
        share=lambda turn: share,
        payload=lambda turn, k: FEATURES[turn, sends[k].source],
    )
    other = WorkerModel(worker, port=OTHER, job=JOB, epoch=EPOCH, ready=TURNS)
    return GoldenNetwork.of(setup, OWN, other)


@cocotb.test()
async def sums_and_copies_of_each_turn_come(dut: Any) -> None:
    """Run a job of two workers; compare what is in memory with NumPy's sums."""
    network = the_network()
    device = SimulatedEndpoint(dut, BUILD, network)
    await device.start()
    await bridge(program)(device)
    assert {key: value.tolist() for key, value in network.other.sums.items()} == {
        (turn, a): (FEATURES[turn].T @ ADDED[a]).tolist()
        for turn in range(TURNS)
        for a in range(OTHER, SUMS, 2)
    }


def program(device: Device) -> None:
    """Do what a program does on a card: nothing here knows that ``device`` is simulated."""
    vertices = range(OWN, VERTICES, 2)
    turn = Turn(
        sends=[send_of(vertex) for vertex in vertices],
        sums=range(OWN, SUMS, 2),
        copies={OTHER: OTHER},
    )
    endpoint = attach(device)
    endpoint.clear_counters()
    endpoint.set_addresses(GROUP, SWITCH)
    endpoint.set_timers(**TIMERS)
    endpoint.load([turn] * TURNS)
    endpoint.write_payloads(0, FEATURES[0, vertices])
    endpoint.start(JOB, epoch=EPOCH, port=OWN, ready=1)
    endpoint.wait(1)  # the next payloads may be computed from the sums of turn 0
    for number in range(1, TURNS):
        endpoint.write_payloads(number, FEATURES[number, vertices])
    endpoint.set_ready(TURNS)
    endpoint.wait()
    for number in range(TURNS):
        sums = {a: (FEATURES[number].T @ ADDED[a]).tolist() for a in turn.sums}
        assert {a: result.tolist() for a, result in endpoint.sums(number).items()} == sums
        assert (endpoint.copies(number)[OTHER] == FEATURES[number, OTHER]).all()
    counts = endpoint.counters()
    assert counts["taken_sum"] == TURNS * len(turn.sums)
    assert counts["sent_feature"] - counts["sent_again"] == TURNS * len(turn.sends)
    print(f"all sums and copies of {TURNS} turns are there, after {counts['cycles']} cycles")
