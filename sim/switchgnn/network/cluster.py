"""Puts endpoints with their memories into one simulated design."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.switchgnn.endpoint.endpoint import Endpoint
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.registers import endpoint_registers
from sim.surroundings.axi_ram import AxiRam, AxiRamParams
from sim.switchgnn.endpoint_side import Regions

RAMS = ("tables", "data")  #: the memories of an endpoint


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """Sets the endpoints, their number, and the size of their memories."""

    endpoint: EndpointParams
    workers: int = 2
    ram_bytes: int = 1 << 22  #: of each memory, by the file that fills it, or what is addressed

    @property
    def ram(self) -> AxiRamParams:
        """Return the sizes of a memory's port."""
        return AxiRamParams(address_bits=self.endpoint.address_bits, processor=True)

    @property
    def room(self) -> int:
        """Return the bytes of a memory that an endpoint reaches."""
        return min(self.ram_bytes, 1 << self.endpoint.address_bits)

    @property
    def regions(self) -> Regions:
        """Return where a host has an endpoint's tables, features and sums: the latter share."""
        room, half = self.room, self.room // 2
        return {
            "tables": (0, 0, room),
            "features": (room, 0, half),
            "sums": (room + half, half, half),
        }

    @property
    def rams(self) -> tuple[str, ...]:
        """Return the names of an endpoint's memories."""
        return RAMS

    @property
    def memories(self) -> int:
        """Return the number of memories of all endpoints."""
        return len(self.rams) * self.workers


class Cluster(Component):
    """Holds endpoints, each with a memory of tables, and one of features and sums.

    Worker k's memories have the numbers 2 k and 2 k + 1. Kinds of it may have ``more`` ports.
    """

    def __init__(self, params: ClusterParams, **more: Any) -> None:
        registers = endpoint_registers(params.endpoint)
        members = {}
        for k in range(params.workers):
            members |= {
                f"axil_{k}": In(AxiLiteSignature(address_bits=registers.address_bits)),
                f"m_axis_{k}": Out(AXIS),
                f"s_axis_{k}": In(AXIS),
            }
            for name in params.rams:
                members |= {
                    f"{name}_settings_{k}": In(params.ram.settings),
                    f"{name}_access_{k}": In(params.ram.access),
                    f"{name}_accessed_{k}": Out(params.ram.data_bits),
                }
        super().__init__(params, members | more)

    def build(self, m: Module) -> None:
        for k in range(self.params.workers):
            m.submodules[f"endpoint_{k}"] = endpoint = Endpoint(self.params.endpoint)
            connect(m, flipped(getattr(self, f"axil_{k}")), endpoint.s_axil)
            connect(m, endpoint.m_axis, flipped(getattr(self, f"m_axis_{k}")))
            connect(m, flipped(getattr(self, f"s_axis_{k}")), endpoint.s_axis)
            buses = self.buses(m, k, endpoint)
            for j, name in enumerate(self.params.rams):
                m.submodules[f"{name}_{k}"] = ram = AxiRam(self.params.ram)
                for bus in buses[name]:
                    for signal, member in bus.signature.members.items():
                        near, far = getattr(ram.axi, signal), getattr(bus, signal)
                        m.d.comb += near.eq(far) if member.flow is Out else far.eq(near)
                m.d.comb += [
                    ram.index.eq(len(buses) * k + j),
                    ram.settings.eq(getattr(self, f"{name}_settings_{k}")),
                    ram.access.eq(getattr(self, f"{name}_access_{k}")),
                    getattr(self, f"{name}_accessed_{k}").eq(ram.accessed),
                ]

    def buses(self, m: Module, k: int, endpoint: Any) -> dict[str, Sequence[Any]]:
        """Return what is behind each of worker k's memories: one bus, or one for each direction."""
        return {
            "tables": (endpoint.m_axi_tables,),
            "data": (endpoint.m_axi_features, endpoint.m_axi_sums),
        }
