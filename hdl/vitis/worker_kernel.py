"""Makes a P4SGD worker an RTL kernel for Vitis."""

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, Module, ResetSignal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.crossing.reset_synchroniser import ResetSynchroniser, ResetSynchroniserParams
from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.worker import Worker
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.axi_wires import connect_bus
from hdl.vitis.axi_lite_decoder import AxiLiteDecoder
from hdl.vitis.base_address import ADDRESS_BITS, BaseAddress, BaseAddressParams
from hdl.vitis.kernel_control import KernelControl
from hdl.vitis.kernel_registers import ADDRESS_BITS as REGISTER_BITS
from hdl.vitis.kernel_registers import KernelParams
from hdl.vitis.memory_mover import MemoryMover, MemoryMoverParams
from hdl.vitis.packet_entry import STREAM, PacketEntry

CONTROL_BITS = REGISTER_BITS + 1  #: width of a byte address of s_axi_control
RESET = ResetSynchroniserParams(stages=15)
HBM_CHANNELS = 32  #: channels, of 256 MB each, and the most managers


class WorkerKernel(Component):
    """Wraps a :class:`Worker` as UG1393's table of RTL kernel interfaces has it.

    ``s_axi_control`` has the worker's registers at 0 and the kernel's own at 0x1000
    (:func:`kernel_registers`). ``m_axi_words``, ``m_axi_labels`` and, with a ``tile``,
    ``m_axi_weights`` are the worker's managers, at the base addresses that the host sets
    (:class:`BaseAddress`). The model is copied between the buffer of ``m_axi_model`` and the worker
    (:class:`MemoryMover`). ``s_axis`` never waits (:class:`PacketEntry`); ``m_axis`` may have gaps
    within a packet. ``interrupt`` is a level: see :class:`KernelControl`.

    ``ap_rst_n`` is low for two cycles of ``ap_clk`` or longer; the kernel's own reset lasts
    RESET.stages cycles more, and is asserted even while the clock stands still.
    """

    domains = ()
    clock, reset = "ap_clk", "ap_rst_n"

    def __init__(self, params: WorkerParams) -> None:
        self.core = core = Worker(params)
        members = core.signature.members
        names = [name for name in members if name.startswith("m_axi_")]
        model = model_bus(params)
        self.mover = MemoryMoverParams(address_bits=model.address_bits, data_bits=model.data_bits)
        self.buses = {name: BaseAddressParams.of(members[name].signature) for name in names}
        self.buses["m_axi_model"] = BaseAddressParams.of(self.mover.axi)
        self.shapes = {name: members[name].dimensions for name in names} | {"m_axi_model": ()}
        self.kernel = KernelParams(managers=tuple(name[6:] for name, *_ in self.managers()))
        assert core.registers.address_bits == REGISTER_BITS
        assert core.reset_cycles <= RESET.stages + 2
        ports = {
            name: Out(bus.bus(ADDRESS_BITS)).array(*self.shapes[name])
            for name, bus in self.buses.items()
        }
        super().__init__(
            params,
            {
                "ap_clk": In(1),
                "ap_rst_n": In(1),
                "s_axi_control": In(AxiLiteSignature(address_bits=CONTROL_BITS)),
                **ports,
                "m_axis": Out(STREAM),
                "s_axis": In(STREAM),
                "interrupt": Out(1),
            },
        )

    def managers(self) -> Iterator[tuple[str, str, int | None]]:
        """Yield each manager's port, the member that it belongs to, and its index there."""
        for name, dimensions in self.shapes.items():
            for k in range(*dimensions) if dimensions else (None,):
                yield name if k is None else f"{name}_{k}", name, k

    def elaborate(self, platform) -> Module:
        m = Module()
        m.domains += ClockDomain("sync", local=True)
        m.submodules.kernel_reset = reset = ResetSynchroniser(RESET)
        m.d.comb += [
            ClockSignal().eq(self.ap_clk),
            reset.i.eq(~self.ap_rst_n),
            ResetSignal().eq(reset.reset),
        ]
        m.submodules.core = core = self.core
        m.submodules.mover = mover = MemoryMover(self.mover)
        control = self.add_control(m, core, mover)
        for page, (port, name, k) in zip(control.pages, self.managers(), strict=True):
            m.submodules[port] = base = BaseAddress(self.buses[name])
            part = mover.memory if name == "m_axi_model" else element(getattr(core, name), k)
            connect_bus(m, part, base.i)
            connect(m, base.o, flipped(element(getattr(self, name), k)))
            m.d.comb += base.page.eq(page)
        connect_bus(m, mover.inner, core.s_axi_model)
        self.add_network(m, core, control)
        return m

    def add_control(self, m: Module, core: Worker, mover: MemoryMover) -> KernelControl:
        """Add the registers of the kernel, and what leads to both maps."""
        m.submodules.decoder = decoder = AxiLiteDecoder.sized()
        m.submodules.control = control = KernelControl(self.kernel)
        connect(m, flipped(self.s_axi_control), decoder.i)
        connect(m, decoder.o[0], core.s_axil)
        connect(m, decoder.o[1], control.axil)
        m.d.comb += [
            control.design_busy.eq(core.busy),
            *(getattr(mover, n).eq(getattr(control, n)) for n in ("load", "store", "tick")),
            mover.transfer.eq(control.transfer),
            *(
                getattr(control, f"copy_{n}").eq(getattr(mover, n))
                for n in ("busy", "done", "broken")
            ),
            control.failed_beats.eq(mover.failed_beats),
            control.failed_bursts.eq(mover.failed_bursts),
            self.interrupt.eq(control.irq),
        ]
        return control

    def add_network(self, m: Module, core: Worker, control: KernelControl) -> None:
        """Connect the streams of packets."""
        m.submodules.entry = entry = PacketEntry.sized()
        connect(m, flipped(self.s_axis), entry.i)
        connect(m, entry.o, core.s_axis)
        m.d.comb += control.dropped.eq(entry.dropped)
        connect_bus(m, core.m_axis, self.m_axis)


def element(bus: Any, index: int | None) -> Any:
    """Return a bus, or one of an array of buses."""
    return bus if index is None else bus[index]


def hbm_channels(kernel: WorkerKernel) -> list[int]:
    """Return the channel of HBM of each manager's buffer: as far apart as there is room."""
    count = len(kernel.kernel.managers)
    return [k * HBM_CHANNELS // count for k in range(count)]
