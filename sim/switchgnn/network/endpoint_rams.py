"""Gives a host access to the memories of a simulated endpoint beside their buses."""

from collections.abc import Sequence
from typing import Any

from cocotb.triggers import RisingEdge

from hdl.common.packets import BEAT_BYTES
from sim.harness.payloads import pack
from sim.switchgnn.endpoint_program import EndpointProgram
from sim.switchgnn.network.cluster import ClusterParams


class Rams:
    """Reads and writes the memories ``names`` at ``port`` by their ports for a processor.

    Each has ``room`` bytes; they lie one behind the other. ``access`` is the layout of an access.
    A beat takes a cycle.
    """

    def __init__(self, dut: Any, port: int, names: Sequence[str], access: Any, room: int) -> None:
        self.dut, self.port, self.edge = dut, port, RisingEdge(dut.clk)
        self.names, self.access, self.room = names, access, room
        for name in names:
            getattr(dut, f"{name}_access_{port}").value = 0

    def _place(self, address: int) -> tuple[str, int]:
        """Return the name of the memory at an address, and the address there."""
        number, at = divmod(address, self.room)
        return self.names[number], at

    async def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of a memory."""
        name, at = self._place(address)
        access = getattr(self.dut, f"{name}_access_{self.port}")
        beat, first = divmod(at, BEAT_BYTES)
        octets = bytes(first) + data
        for begin in range(0, len(octets), BEAT_BYTES):
            piece = octets[begin : begin + BEAT_BYTES]
            fields = {
                "valid": 1,
                "beat": beat + begin // BEAT_BYTES,
                "strobes": (1 << len(piece)) - (1 << (0 if begin else first)),
                "data": int.from_bytes(piece, "little"),
            }
            access.value = pack(self.access, fields)
            await self.edge
        access.value = 0

    async def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of a memory."""
        name, at = self._place(address)
        access = getattr(self.dut, f"{name}_access_{self.port}")
        accessed = getattr(self.dut, f"{name}_accessed_{self.port}")
        first, octets = at % BEAT_BYTES, b""
        beats = range(at // BEAT_BYTES, -(-(at + size) // BEAT_BYTES))
        for beat in beats:
            access.value = pack(self.access, {"valid": 1, "beat": beat})
            await self.edge
            if beat != beats.start:  # what was read a cycle ago has come
                octets += int(accessed.value).to_bytes(BEAT_BYTES, "little")
        access.value = 0
        await self.edge
        octets += int(accessed.value).to_bytes(BEAT_BYTES, "little")
        return octets[first : first + size]


class EndpointRams(Rams):
    """Reads and writes the memories of the endpoint at ``port`` as a card's DMA does.

    They lie one behind the other, as ``ClusterParams.regions`` says.
    """

    def __init__(self, dut: Any, port: int, params: ClusterParams) -> None:
        super().__init__(dut, port, params.rams, params.ram.access, params.room)
        self.params = params
        for name in params.rams:
            self.set(name)

    def set(self, name: str, **settings: int) -> None:
        """Set how the memory ``name`` behaves."""
        word = pack(self.params.ram.settings, {"read_latency": 20} | settings)
        getattr(self.dut, f"{name}_settings_{self.port}").value = word


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
