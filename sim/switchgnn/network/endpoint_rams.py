"""Gives a host access to the memories of a simulated endpoint beside their buses."""

from typing import Any

from sim.harness.payloads import pack
from sim.surroundings.side_port import SidePort
from sim.switchgnn.endpoint_program import EndpointProgram
from sim.switchgnn.network.cluster import ClusterParams


class EndpointRams:
    """Reads and writes the memories of the endpoint at ``port`` as a card's DMA does.

    They lie one behind the other, as ``ClusterParams.regions`` says; an access is to one of them.
    """

    def __init__(self, dut: Any, port: int, params: ClusterParams) -> None:
        self.dut, self.port, self.params = dut, port, params
        self.ports = [SidePort(dut, params.ram, port, name) for name in params.rams]
        for name in params.rams:
            self.set(name)

    def set(self, name: str, **settings: int) -> None:
        """Set how the memory ``name`` behaves."""
        word = pack(self.params.ram.settings, {"read_latency": 20} | settings)
        getattr(self.dut, f"{name}_settings_{self.port}").value = word

    async def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of a memory."""
        number, at = divmod(address, self.params.room)
        await self.ports[number].write_memory(at, data)

    async def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of a memory."""
        number, at = divmod(address, self.params.room)
        return await self.ports[number].read_memory(at, size)


def endpoint_program(
    dut: Any, number: int, params: ClusterParams, address: bytes, port: int | None = None
) -> EndpointProgram:
    """Return the host of an endpoint, which takes frames to ``address``.

    It is at ``port`` of its switch, or at the port with its number.
    """
    return EndpointProgram(
        dut,
        params.endpoint,
        number if port is None else port,
        bus=f"axil_{number}",
        memory=EndpointRams(dut, number, params),
        address=address,
        regions=params.regions,
    )
