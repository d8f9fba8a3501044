"""Sends packets of hosts and of workers through the simulated switch, set up as on a card.

``python bench/run.py +seed=1`` builds the Verilog and runs this; ``+rounds=4`` plays a tenth of the
frames, for a slow simulator. Copy it for tests of your own.
"""

from functools import partial
from importlib import import_module
from random import Random
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge
from network_switch_host import BUILD, attach
from network_switch_host.hub_model import BEYOND, HubModel, of_hosts
from network_switch_host.simulated_hosts import SimulatedHosts

A, B, ALL = b"\2\0\0\0\0\x0a", b"\2\0\0\0\0\x0b", b"\xff" * 6  #: Ethernet addresses of hosts
SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"  #: those of the switch and of its answers
NUMBERS, LENGTH = 1000, 100  #: of a vector, and of a frame
ROUNDS = int(cocotb.plusargs.get("rounds", 40))  #: of P4SGD's frames
PACKETS, WIDE = 5 * ROUNDS // 2, 5 * ROUNDS  #: of hosts, and frames of AllReduces

LATE, PAUSES = 3, 8  #: cycles that NetSparse's last beats are late; pauses until all is answered


@cocotb.test()
async def serves_hosts_and_workers(dut: Any) -> None:
    """Let two hosts find each other, and the workers of each engine with jobs add up numbers."""
    device = SimulatedHosts(dut, BUILD.fixed["ports"])
    await device.start()
    await bridge(program)(device)


def program(device: SimulatedHosts) -> None:
    """Set the switch up as a program does on a card, and be its hosts and workers."""
    switch = attach(device)
    ports = range(BUILD.fixed["ports"])
    while not device.ask(0, packet(ALL, A)):  # until its memories know their free places
        device.pause()
    assert device.ask(1, packet(A, B)) == [0]
    switch.set_addresses(SWITCH, GROUP)
    rng = Random(int(cocotb.plusargs.get("seed", 1)))
    if "p4sgd" in BUILD.parts:
        workers = import_module("p4sgd_switch_host.workers")
        more = [*of_hosts(rng, len(ports), (A, B, ALL), PACKETS)]
        known = [packet(ALL, host) for host in (A, B)]
        hub = partial(HubModel, known=known)
        workers.play_runs(device, switch.part("p4sgd"), ROUNDS, rng, hub, more, BEYOND)
    if "allreduce" in BUILD.parts:
        draw = np.random.default_rng(rng.getrandbits(32))
        workers = import_module("allreduce_switch_host.wide_workers")
        both = workers.WideWorkers(device, switch.part("allreduce"), 2, LENGTH)
        rows = draw.integers(-(1 << 30), 1 << 30, (2, NUMBERS), np.int32)
        assert all((result == rows.sum(0)).all() for result in both.all_reduce(rows, "SUM"))
        both.play_out_of_order(draw, WIDE)
    if "switchgnn" in BUILD.parts:
        import_module("switchgnn_switch_host.gnn_workers").run_job(device, switch.part("switchgnn"))
    if "netsparse" in BUILD.parts:
        host, own = import_module("netsparse_switch_host.simulated_nodes"), switch.part("netsparse")
        mtu = own.build.fixed["mtu"]
        nodes = host.Nodes(device, mtu, lambda _, port: str(port), LATE, PAUSES)
        host.run_gathers(nodes, own)
    assert device.ask(1, packet(ALL, A)) == [0, *ports[2:]]  # it has moved
    assert device.ask(0, packet(A, B)) == [1]
    print(f"hosts and workers at {len(ports)} ports have what is theirs")


def packet(receiver: bytes, sender: bytes) -> bytes:
    """Return a packet of two beats without its checksum."""
    return (receiver + sender + b"\x88\xb6").ljust(100, b"\5")
