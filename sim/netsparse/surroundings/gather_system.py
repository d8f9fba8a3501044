"""SNICs with their memories around a hub, in one simulated design."""

from dataclasses import dataclass, field

from amaranth.hdl import Const, Module, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import snic_registers
from hdl.netsparse.snic import Snic
from sim.netsparse.surroundings.hub import Hub, HubParams
from sim.surroundings.axi_ram import AxiRam, AxiRamParams

HOST, DRAM = 0, 1  #: RAM ``2 * node + HOST`` is a node's host memory, the other its SNIC's
MOST_ADDRESS_BITS = 34  #: of a simulated memory


@dataclass(frozen=True, kw_only=True)
class GatherParams:
    """Sizes of the system."""

    snic: SnicParams = field(default_factory=SnicParams)
    hub: HubParams = field(default_factory=lambda: HubParams(nodes=2))

    def __post_init__(self) -> None:
        if self.hub.nodes > self.snic.rig.nodes:
            raise ValueError(
                f"{self.hub.nodes} nodes are more than the SNICs are built for:"
                f" {self.snic.rig.nodes}"
            )

    @property
    def suffix(self) -> str:
        """Nodes, and what each is."""
        return f"{self.hub.suffix}_{self.snic.suffix}"

    @property
    def nodes(self) -> int:
        """N."""
        return self.hub.nodes

    @property
    def host(self) -> AxiRamParams:
        """A node's host memory."""
        return AxiRamParams(
            address_bits=min(MOST_ADDRESS_BITS, self.snic.rig.address_bits), processor=True
        )

    @property
    def dram(self) -> AxiRamParams:
        """A SNIC's memory."""
        return AxiRamParams(address_bits=min(MOST_ADDRESS_BITS, self.snic.dram_address_bits))


#: Accesses to a SNIC's registers that have been answered.
ACCESSES = data.StructLayout({"writes": 32, "reads": 32})


class GatherSystem(Component):
    """N :class:`Snic` with host memory and DRAM around a :class:`Hub`.

    ``host`` and ``dram`` are the settings of every such memory; their failures apply only to RAM
    number ``fail_index``. ``dump`` writes all memories to their files when it rises. ``missing``
    and ``lost`` count accesses beyond a memory's end, summed. ``access`` is that of a host's
    processor to its memory, ``register_accesses`` are those to a SNIC over its ``s_axil``.
    """

    def __init__(self, params: GatherParams) -> None:
        axil = AxiLiteSignature(address_bits=snic_registers(params.snic).address_bits)
        super().__init__(
            params,
            {
                "s_axil": In(axil).array(params.nodes),
                "host": In(params.host.settings),
                "dram": In(params.dram.settings),
                "fail_index": In(8),
                "hub": In(params.hub.settings),
                "reads_counts": Out(params.hub.counts),
                "responses_counts": Out(params.hub.counts),
                "dump": In(1),
                "interrupts": Out(params.nodes),
                "missing": Out(32),
                "lost": Out(32),
                "access": In(params.host.access).array(params.nodes),
                "accessed": Out(params.host.data_bits).array(params.nodes),
                "register_accesses": Out(ACCESSES).array(params.nodes),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.hub = hub = Hub(self.params.hub)
        m.d.comb += [
            hub.settings.eq(self.hub),
            self.reads_counts.eq(hub.reads_counts),
            self.responses_counts.eq(hub.responses_counts),
        ]
        rams = []
        for k in range(self.params.nodes):
            m.submodules[f"snic_{k}"] = snic = Snic(self.params.snic)
            m.submodules[f"host_{k}"] = host = AxiRam(self.params.host)
            m.submodules[f"dram_{k}"] = dram = AxiRam(self.params.dram)
            connect(m, flipped(self.s_axil[k]), snic.s_axil)
            for name in ("reads", "responses"):
                connect(m, getattr(snic, f"m_axis_{name}"), getattr(hub, f"{name}_i")[k])
                connect(m, getattr(hub, f"{name}_o")[k], getattr(snic, f"s_axis_{name}"))
            connect_bus(m, snic.m_axi_host, host.axi)
            connect_bus(m, snic.m_axi_dram, dram.axi)
            m.d.comb += [
                self.interrupts[k].eq(snic.irq),
                host.access.eq(self.access[k]),
                self.accessed[k].eq(host.accessed),
            ]
            self.count_accesses(m, self.s_axil[k], self.register_accesses[k])
            for index, ram, settings in ((HOST, host, self.host), (DRAM, dram, self.dram)):
                self.set_ram(m, 2 * k + index, ram, settings)
                rams.append(ram)
        m.d.comb += [
            self.missing.eq(sum((ram.missing for ram in rams), start=Const(0, 32))[:32]),
            self.lost.eq(sum((ram.lost for ram in rams), start=Const(0, 32))[:32]),
        ]
        return m

    def count_accesses(self, m: Module, bus, counts) -> None:
        """Answers on B and R, for what a host pays for registers."""
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += counts.writes.eq(counts.writes + 1)
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += counts.reads.eq(counts.reads + 1)

    def set_ram(self, m: Module, index: int, ram: AxiRam, settings) -> None:
        """The settings of one memory: its failures only if it is the one that is to fail."""
        fails = self.fail_index == index
        m.d.comb += [
            ram.index.eq(index),
            ram.dump.eq(self.dump),
            ram.settings.eq(settings),
            ram.settings.fail_read.eq(settings.fail_read & fails),
            ram.settings.fail_write.eq(settings.fail_write & fails),
        ]


def connect_bus(m: Module, master, slave) -> None:
    """Connect a bus to one with fewer address bits."""
    for name, member in master.signature.members.items():
        ours, theirs = getattr(master, name), getattr(slave, name)
        if member.flow == Out:
            m.d.comb += theirs.eq(low_bits(ours, len(Value.cast(theirs))))
        else:
            m.d.comb += ours.eq(theirs)
