"""Simulates a card with a gather engine: the engine and its device memory, apart from a host."""

from dataclasses import field
from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Member, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params
from hdl.gather.axi_requester import lead_out as connect_bus
from hdl.gather.engine import GatherEngine
from hdl.gather.engine_params import GatherEngineParams
from sim.surroundings.axi_ram import AxiRam, AxiRamParams


class CardParams(Params, suffix="{engine.suffix}"):
    """Sets the sizes of the engine, and with them of the rest."""

    engine: GatherEngineParams = field(default_factory=GatherEngineParams)

    @property
    def ram(self) -> AxiRamParams:
        """Return the sizes of device memory, which a test reads as its processor."""
        return AxiRamParams(
            address_bits=self.engine.address_bits, data_bits=self.engine.data_bits, processor=True
        )


class CardSystem(Component):
    """Has the ports of a :class:`hdl.gather.engine.GatherEngine` to the block for PCI Express.

    ``settings``, ``access``, ``accessed``, ``dump`` and ``lost`` are those of device memory
    (:class:`sim.surroundings.axi_ram.AxiRam`), which is the RAM number ``index``, a constant.
    """

    groups_of = GatherEngine  #: of functional coverage

    def __init__(self, params: CardParams) -> None:
        engine = GatherEngine(params.engine)
        self.outside = {
            name: member for name, member in engine.signature.members.items() if name != "m_axi"
        }
        super().__init__(
            params,
            **self.outside,
            index=In(8),
            settings=In(params.ram.settings),
            access=In(params.ram.access),
            accessed=Out(params.ram.data_bits),
            lost=Out(32),
            dump=In(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.engine = engine = GatherEngine(self.params.engine)
        m.submodules.memory = memory = AxiRam(self.params.ram)
        for name, member in self.outside.items():
            lead_out(m, member, getattr(engine, name), getattr(self, name))
        if "m_axi" in engine.signature.members:
            connect_bus(m, engine.m_axi, memory.axi)
        m.d.comb += [
            memory.index.eq(self.index),
            memory.settings.eq(self.settings),
            memory.access.eq(self.access),
            memory.dump.eq(self.dump),
            self.accessed.eq(memory.accessed),
            self.lost.eq(memory.lost),
        ]


def lead_out(m: Module, member: Member, inside: Any, port: Any) -> None:
    """Make ``port`` of a component that of a part ``inside`` it, which has the same ``member``."""
    if member.is_signature:
        connect(m, *((flipped(port), inside) if member.flow == In else (inside, flipped(port))))
    else:
        m.d.comb += inside.eq(port) if member.flow == In else port.eq(inside)
