"""Plays the ends of the network around the switches: hosts, the controller, their frames."""

from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import Event, Lock, RisingEdge, with_timeout

from hdl.p4sgd.network.frame import FRAME_KEEP
from sim.golden.reduction.frames import BYTES
from sim.golden.tenancy import Command, Verb
from sim.harness.clock import PERIOD_NS, cycle
from sim.mina.surroundings.cluster_system import ClusterParams
from sim.mina.wire import Wired, from_octets, to_octets

SENDER = bytes.fromhex("0400000000ff")  #: source address of all ends
ADDRESSES = 12  #: bytes of a frame that :mod:`sim.mina.wire` leaves zero
PATIENCE = 20_000  #: most cycles until a command is answered
NAMES = ("tvalid", "tdata", "tkeep", "tlast", "tuser")


class Ends:
    """Drives frames into the switches, one every ``pace`` cycles at each end, and takes theirs."""

    def __init__(self, dut: Any, params: ClusterParams) -> None:
        self.dut, self.pace, wiring = dut, params.pace, params.wiring
        hosts, switches = params.cluster.hosts, params.cluster.switches
        ends = range(hosts + switches)
        above = [*(wiring.host_port(host)[0] for host in range(hosts)), *range(switches)]
        self.heads = [wiring.addresses(number)[0] + SENDER for number in above]
        self.queues: list[deque[Wired]] = [deque() for _ in ends]
        self.free = [0 for _ in ends]  # the cycle from which on an end sends its next frame
        self.driven: set[int] = set()
        self.waiting: set[int] = set()  # ends with frames in their queues
        self.inputs = [{name: getattr(dut, f"s_axis_{k}_{name}") for name in NAMES} for k in ends]
        self.outputs = [getattr(dut, f"m_axis_{k}_tdata") for k in ends]
        self.takes: dict[int, Callable[[Any], None]] = {}  #: what takes an end's frames
        for k, handles in enumerate(self.inputs):
            for name, value in zip(NAMES, (0, 0, FRAME_KEEP, 1, 0), strict=True):
                handles[name].value = value
            getattr(dut, f"m_axis_{k}_tready").value = 1

    def send(self, end: int, *frames: Wired) -> None:
        """Queue frames for sending at an end."""
        self.queues[end].extend(frames)
        if frames:
            self.waiting.add(end)

    async def move(self) -> None:
        """Take frames that leave the switches, and drive frames into them, in every cycle."""
        edge, leaving = RisingEdge(self.dut.clk), self.dut.leaving
        while True:
            await edge
            left = int(leaving.value)
            while left:
                end = left.bit_length() - 1
                left ^= 1 << end
                octets = int(self.outputs[end].value).to_bytes(64, "little")[ADDRESSES:BYTES]
                self.takes[end](from_octets(bytes(ADDRESSES) + octets))
            if self.waiting or self.driven:
                self.drive(cycle())

    def drive(self, now: int) -> None:
        """Drive a frame at each end that has one and may send again; switches are always ready."""
        showing = {end for end in self.waiting if now >= self.free[end]}
        for end in showing:
            self.free[end] = now + self.pace
            octets = self.heads[end] + to_octets(self.queues[end].popleft())[ADDRESSES:]
            self.inputs[end]["tdata"].value = int.from_bytes(octets, "little")
            self.inputs[end]["tvalid"].value = 1
            if not self.queues[end]:
                self.waiting.discard(end)
        for end in self.driven - showing:
            self.inputs[end]["tvalid"].value = 0
        self.driven = showing


class Controller:
    """Sends commands to the switches, by the controller's port at each, and awaits answers."""

    def __init__(self, ends: Ends, params: ClusterParams) -> None:
        self.ends, self.hosts = ends, params.cluster.hosts
        switches = range(params.cluster.switches)
        self.locks = [Lock() for _ in switches]
        self.events = [Event() for _ in switches]
        self.answers: list[Command | None] = [None for _ in switches]
        for number in switches:
            ends.takes[self.hosts + number] = self.hears(number)

    def hears(self, number: int) -> Callable[[Any], None]:
        """Return the function that hands a switch's answers to the task that waits for them."""

        def take(answer: Command) -> None:
            self.answers[number] = answer
            self.events[number].set()

        return take

    async def issue(self, number: int, command: Command, expected: Verb) -> None:
        """Send a command and assert its answer, within a time; one command at a time."""
        async with self.locks[number]:
            self.events[number].clear()
            self.ends.send(self.hosts + number, command)
            await with_timeout(self.events[number].wait(), PATIENCE * PERIOD_NS, "ns")
            answer = self.answers[number]
        assert answer is not None
        assert answer.verb is expected, f"switch {number}: {command} gave {answer}"

    async def request_all(self, commands: dict[int, Command], expected: Verb) -> None:
        """Send commands to several switches, by their numbers, and wait for all answers."""
        tasks = [
            cocotb.start_soon(self.issue(number, command, expected))
            for number, command in commands.items()
        ]
        for task in tasks:
            await task
