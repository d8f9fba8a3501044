"""Sends packets of two hosts through the simulated switch, set up through its host package.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
from cocotb.task import bridge
from forwarding_switch_host import BUILD, attach
from forwarding_switch_host.simulated_hosts import SimulatedHosts

A, B, ALL = b"\2\0\0\0\0\x0a", b"\2\0\0\0\0\x0b", b"\xff" * 6  #: Ethernet addresses
TYPE = b"\x88\xb5"  #: an EtherType for experiments
VLAN, GROUP = 100, 1
TAG = b"\x81\0" + VLAN.to_bytes(2, "big")


@cocotb.test()
async def forwards_what_two_hosts_send(dut: Any) -> None:
    """Let two hosts find each other, and part from the others by a VLAN."""
    device = SimulatedHosts(dut, BUILD.fixed["ports"])
    await device.start()
    await bridge(program)(device)


def program(device: SimulatedHosts) -> None:
    """Set the switch up as a program does on a card, and be its hosts."""
    switch = attach(device)
    while not device.ask(0, packet(ALL, A)):  # until its memories know their free places
        device.pause()
    switch.clear_table()
    switch.clear_counters()
    ports = range(BUILD.fixed["ports"])
    assert device.ask(0, packet(ALL, A)) == [*ports[1:]]
    assert device.ask(1, packet(A, B)) == [0]
    assert device.ask(0, packet(B, A)) == [1]
    counted = {name: count for name, count in switch.counters(0).items() if "cast" in name if count}
    assert counted == {"in_unicast_pkts": 1, "in_broadcast_pkts": 1, "out_unicast_pkts": 1}
    assert sorted((entry.mac, entry.port) for entry in switch.table()) == [(A, 0), (B, 1)]
    switch.set_vlan(GROUP, VLAN)
    for port in ports[:2]:
        switch.set_port(port, own_group=0, groups=[0, GROUP])
    assert device.ask(0, packet(ALL, A, TAG)) == [1]
    assert device.ask(0, packet(ALL, A)) == [*ports[1:]]
    print(f"hosts at {len(ports)} ports have what is theirs; both of VLAN {VLAN} are apart")


def packet(receiver: bytes, sender: bytes, tag: bytes = b"") -> bytes:
    """Return a packet of two beats without its checksum."""
    return (receiver + sender + tag + TYPE).ljust(100, b"\5")
