"""Connects a golden switch to simulated endpoints."""

import random
from collections.abc import Iterable
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from sim.harness.streams import Stall, never, start
from sim.switchgnn.endpoint_program import EndpointProgram
from sim.switchgnn.golden.frames import Frame
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.network.cluster import ClusterParams
from sim.switchgnn.network.endpoint_rams import endpoint_program
from sim.switchgnn.network.wires import Faults, Wire
from sim.switchgnn.wire import SWITCH, Addresses, judge, own_address, to_octets

LOAD_CYCLES = 150  #: cycles between two rounds of loading and acknowledging


class GoldenHub:
    """Drives endpoints of a :class:`Cluster` as hosts, and a golden switch at the far ends of
    links.

    Ports of the switch are numbered as the workers are.
    """

    def __init__(
        self,
        dut: Any,
        params: ClusterParams,
        *,
        job: int,
        faults: Faults | None = None,
        stall: Stall = never,
    ) -> None:
        self.dut, self.params, self.job = dut, params, job
        self.lanes = params.endpoint.lanes
        self.faults = faults or Faults()
        self.switch: SwitchModel | None = None
        self.workers: list[EndpointProgram] = []
        self.wires: list[Wire] = []
        for port in range(params.workers):
            self.workers.append(endpoint_program(dut, port, params, own_address(port)))
            self.wires.append(Wire(dut, port, self.take, self.faults, stall=stall))

    async def begin(self) -> None:
        """Start the simulation, and leave reset."""
        await start(self.dut)

    def run_switch(self, setup: JobSetup, epoch: int) -> None:
        """Start a job at the switch, and let its events happen as time passes."""
        size = setup.open_turns * setup.depth
        self.switch = SwitchModel(
            ports=self.params.workers, banks=setup.banks, depth=size, jobs=self.job + 1
        )
        refused = self.switch.start_job(self.job, setup=setup, epoch=epoch, base=0)
        assert refused is None
        cocotb.start_soon(self.pass_time())

    async def pass_time(self) -> None:
        """Load waiting aggregators and send delayed ACKs, at regular intervals."""
        switch, edge = self.switch, RisingEdge(self.dut.clk)
        while switch and self.switch is switch:
            switch.load()
            self.send(switch.ack_delay_over())
            for _ in range(LOAD_CYCLES):
                await edge

    def take(self, port: int, octets: bytes) -> None:
        """Give a packet of an endpoint to the switch."""
        if self.switch:
            corrupt = random.random() < self.faults.corrupt
            arrival = judge(octets, self.lanes, SWITCH, corrupt=corrupt)
            self.send(self.switch.take(port, arrival))

    def send(self, frames: Iterable[tuple[int, Frame]]) -> None:
        """Send the switch's frames by its ports."""
        for port, frame in frames:
            addresses = Addresses(own_address(port), SWITCH)
            self.wires[port].send(to_octets(frame, self.lanes, addresses))
