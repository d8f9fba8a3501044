"""Puts a node of a simulated cluster together: a SNIC with its host's memory and its own."""

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import snic_registers
from hdl.netsparse.snic import Snic
from hdl.netsparse.snic_counters import CLASSES
from sim.netsparse.surroundings.limits import INDEX_BITS
from sim.surroundings.axi_ram import AxiRam, AxiRamParams
from sim.surroundings.pcie.host import PcieHost
from sim.surroundings.pcie.params import PcieHostParams

HOST, DRAM = 0, 1  #: RAM ``2 * node + HOST`` is a node's host memory, the other its SNIC's
LARGEST_READ = 2  #: that a host behind PCI Express allows, 128 bytes << code
MAX_ADDRESS_BITS = 34  #: width of an address of a simulated memory, at most

#: Counts accesses to a SNIC's registers that have been answered.
ACCESSES = data.StructLayout({"writes": 32, "reads": 32})


def host_memory(snic: SnicParams) -> AxiRamParams | PcieHostParams:
    """Return the sizes of a node's host memory: behind a bus, or behind PCI Express."""
    address_bits = min(MAX_ADDRESS_BITS, snic.rig.address_bits)
    if snic.over_pcie:
        return PcieHostParams(address_bits=address_bits)
    return AxiRamParams(address_bits=address_bits, processor=True)


def snic_memory(snic: SnicParams) -> AxiRamParams:
    """Return the sizes of a SNIC's own memory, its DRAM."""
    return AxiRamParams(address_bits=min(MAX_ADDRESS_BITS, snic.dram_address_bits))


class Node(Component):
    """Connects a :class:`Snic` to memories, and to a network by the ports named as its own.

    ``index`` must be constant: the node's number. ``host`` and ``dram`` are the settings of the
    two memories; their failures apply only to RAM number ``fail_index``. ``dump`` writes both to
    their files when it rises. ``missing`` and ``lost`` count accesses beyond a memory's end,
    summed. ``access`` is that of the host's processor to its memory, ``register_accesses`` are
    those to the SNIC over ``s_axil``.
    """

    def __init__(self, params: SnicParams) -> None:
        host, dram = host_memory(params), snic_memory(params)
        super().__init__(
            params,
            s_axil=In(AxiLiteSignature(address_bits=snic_registers(params).address_bits)),
            **{f"m_axis_{kind}": Out(AXIS) for kind in CLASSES},
            **{f"s_axis_{kind}": In(AXIS) for kind in CLASSES},
            index=In(INDEX_BITS),
            host=In(host.settings),
            dram=In(dram.settings),
            fail_index=In(INDEX_BITS + 1),
            dump=In(1),
            irq=Out(1),
            missing=Out(32),
            lost=Out(32),
            access=In(host.access),
            accessed=Out(host.data_bits),
            register_accesses=Out(ACCESSES),
        )

    def build(self, m: Module) -> None:
        m.submodules.snic = snic = Snic(self.params)
        host = self.add_host(m, snic)
        m.submodules.dram = dram = AxiRam(snic_memory(self.params))
        connect(m, flipped(self.s_axil), snic.s_axil)
        for name in (f"{path}_axis_{kind}" for path in "ms" for kind in CLASSES):
            connect(m, flipped(getattr(self, name)), getattr(snic, name))
        connect_bus(m, snic.m_axi_dram, dram.axi)
        self.set_ram(m, DRAM, dram, self.dram)
        m.d.comb += [
            self.irq.eq(snic.irq),
            host.access.eq(self.access),
            self.accessed.eq(host.accessed),
        ]
        if self.params.over_pcie:
            missing, lost = host.counts.unsupported, host.counts.lost
        else:
            missing, lost = host.missing, host.lost
        m.d.comb += [
            self.missing.eq((missing + dram.missing)[:32]),
            self.lost.eq((lost + dram.lost)[:32]),
        ]
        bus, counts = self.s_axil, self.register_accesses
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += counts.writes.eq(counts.writes + 1)
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += counts.reads.eq(counts.reads + 1)

    def add_host(self, m: Module, snic: Snic) -> AxiRam | PcieHost:
        """Add the host's memory, and the SNIC's way to it."""
        params = host_memory(self.params)
        if isinstance(params, AxiRamParams):
            m.submodules.host = ram = AxiRam(params)
            connect_bus(m, snic.m_axi_host, ram.axi)
            self.set_ram(m, HOST, ram, self.host)
            return ram
        m.submodules.host = host = PcieHost(params)
        connect(m, snic.rq, host.rq)
        connect(m, host.rc, snic.rc)
        m.d.comb += [
            snic.limits.read.eq(LARGEST_READ),
            snic.limits.payload.eq(self.host.payload[:2]),
            snic.credits.eq(host.credits),
            snic.numbers.eq(host.numbers),
            snic.function.master.eq(1),
            host.index.eq(self.index),
            host.settings.eq(self.host),
            host.dump.eq(self.dump),
        ]
        return host

    def set_ram(self, m: Module, which: int, ram: AxiRam, settings) -> None:
        """Set a memory: its failures only if it is the one that is to fail."""
        index = Cat(Const(which, 1), self.index)
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
        own, reference = getattr(master, name), getattr(slave, name)
        if member.flow == Out:
            m.d.comb += reference.eq(low_bits(own, len(Value.cast(reference))))
        else:
            m.d.comb += own.eq(reference)
