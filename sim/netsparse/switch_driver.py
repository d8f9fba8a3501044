"""Drives a NetSparse switch as a host does: routes, settings, counters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import ClockCycles

from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.registers import switch_registers
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from sim.harness.register_driver import RegisterDriver

POLL_CYCLES = 32  #: cycles between two polls of a register
COUNTER_CYCLES = 6  #: cycles until a counter is shown that was chosen


@dataclass(frozen=True, kw_only=True)
class SwitchCounts:
    """Holds what a switch has counted."""

    ports: Sequence[Mapping[str, int]]  #: counters by port
    pipes: Sequence[Mapping[str, int]]  #: counters by middle pipe

    def port(self, name: str) -> int:
        """Return the sum of a counter over all ports."""
        return sum(each[name] for each in self.ports)

    def pipe(self, name: str) -> int:
        """Return the sum of a counter over all middle pipes; 0 if there are none."""
        return sum(each[name] for each in self.pipes)


class SwitchDriver(RegisterDriver):
    """Drives the register bus of a simulated switch."""

    def __init__(self, dut: Any, params: NetSparseSwitchParams, bus: Any = "s_axil") -> None:
        super().__init__(dut, bus, switch_registers(params))
        self.params = params

    async def set_routes(self, routes: Mapping[int, int]) -> None:
        """Let ``routes`` say which port leads to a node; nodes without one have no route."""
        for node in range(self.params.nodes):
            port = routes.get(node)
            await self.write(route_node=node, route_port=port or 0, route_known=port is not None)
            if await self.read("route_illegal"):
                raise ValueError(f"no route: node {node} by port {port}")
            await self.write(write_route=1)

    async def configure(self, property_bytes: int) -> None:
        """Empty the caches, for properties of that size, and wait until they are."""
        await self.write(property_bytes=property_bytes)
        await self.write(configure=1)
        while await self.read("clearing"):
            await ClockCycles(self.dut.clk, POLL_CYCLES)

    async def set_up(
        self,
        number: int,
        routes: Mapping[int, int],
        uplinks: int,
        property_bytes: int,
        **settings: int,
    ) -> None:
        """Tell a switch all it must know before its first packet; its counters begin at 0.

        ``uplinks`` is a mask of the ports that lead to other racks, ``settings`` are register
        fields. Whether routes of all switches fit each other, a topology says.
        """
        await self.set_routes(routes)
        await self.write(node=number, mac_base_low=0, mac_base_high=0x0200, ip_base=0x0A000000)
        await self.write(uplinks=uplinks, **settings)
        await self.configure(property_bytes)
        await self.write(clear_counters=1)

    async def counts(self) -> SwitchCounts:
        """Return all counters."""
        return SwitchCounts(
            ports=[await self.port_counters(port) for port in range(self.params.ports)],
            pipes=[await self.pipe_counters(pipe) for pipe in range(self.params.pipes)],
        )

    async def port_counters(self, port: int) -> dict[str, int]:
        """Return the counters of a port by name."""
        await self.write(counter_part=port)
        return await self.counted("port", PORT_COUNTERS, wait=COUNTER_CYCLES)

    async def pipe_counters(self, pipe: int) -> dict[str, int]:
        """Return the counters of a middle pipe by name."""
        await self.write(counter_part=pipe)
        return await self.counted("pipe", PIPE_COUNTERS, wait=COUNTER_CYCLES)
