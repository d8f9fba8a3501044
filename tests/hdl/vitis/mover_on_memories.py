"""Puts a mover between two memories that also a processor reads and writes."""

from amaranth.lib.wiring import In, Out, connect

from hdl.common.component import Component
from hdl.vitis.memory_mover import TRANSFER, MemoryMover
from sim.surroundings.axi_ram import AxiRam, AxiRamParams

SIDES = ("memory", "inner")
VALID = ("arvalid", "awvalid", "wvalid")
STATUS = {"busy": 1, "done": 1, "broken": 1, "failed_beats": 29, "failed_bursts": 29}


class MoverOnMemories(Component):
    """A mover and what is behind its buses, of which the valid signals of addresses are seen."""

    groups_of = MemoryMover  #: of functional coverage

    def __init__(self, params):
        self.ram = AxiRamParams(
            address_bits=params.address_bits, data_bits=params.data_bits, bursts=64, processor=True
        )
        ports = {"load": In(1), "store": In(1), "transfer": In(TRANSFER), "tick": In(1)}
        for side in SIDES:
            ports |= {
                f"{side}_settings": In(self.ram.settings),
                f"{side}_access": In(self.ram.access),
            }
            ports |= {f"{side}_accessed": Out(params.data_bits)}
            ports |= {f"{side}_{name}": Out(1) for name in VALID}
        super().__init__(params, ports | {name: Out(bits) for name, bits in STATUS.items()})

    def build(self, m):
        m.submodules.mover = mover = MemoryMover(self.params)
        m.d.comb += [
            *(getattr(mover, name).eq(getattr(self, name)) for name in ("load", "store", "tick")),
            mover.transfer.eq(self.transfer),
            *(getattr(self, name).eq(getattr(mover, name)) for name in STATUS),
        ]
        for k, side in enumerate(SIDES):
            m.submodules[side] = ram = AxiRam(self.ram)
            bus = getattr(mover, side)
            connect(m, bus, ram.axi)
            m.d.comb += [
                ram.index.eq(k),
                ram.settings.eq(getattr(self, f"{side}_settings")),
                ram.access.eq(getattr(self, f"{side}_access")),
                getattr(self, f"{side}_accessed").eq(ram.accessed),
                *(getattr(self, f"{side}_{n}").eq(getattr(bus, n)) for n in VALID),
            ]
