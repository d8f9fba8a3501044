"""Implements the board's registers and counters."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.crossing.count_crossing import WAITING_BITS
from hdl.common.register_block import RegisterBlock
from hdl.u280.cage_status import CageStatus, CageStatusParams
from hdl.u280.hbm import STACKS, TEMPERATURE_BITS
from hdl.u280.mac_signals import CUTS, DEMANDS, LEVELS, SETTINGS, STATUS
from hdl.u280.registers import (
    ADDRESS_BITS,
    IDENTITY,
    RARE_BITS,
    VERSION,
    BoardRegistersParams,
    board_registers,
)


class BoardStatus(Component):
    """Shows the host what the board does (:func:`board_registers`), through ``axil``.

    Of each cage: :class:`CageStatus`. ``irq`` is ``request`` where the host has enabled it. With
    ``params.msix`` there are ``irq_late`` and ``irq_silent`` of a
    :class:`hdl.u280.pcie_block.PcieStreams`.
    """

    register_map = staticmethod(board_registers)

    def __init__(self, params: BoardRegistersParams) -> None:
        self.registers = board_registers(params)
        self.cage = CageStatusParams(flow=params.flow)
        super().__init__(
            params,
            axil=In(AxiLiteSignature(address_bits=ADDRESS_BITS)),
            memory_ready=In(1),
            temperature=In(TEMPERATURE_BITS).array(STACKS),
            levels=In(LEVELS).array(params.cages),
            counts=In(WAITING_BITS).array(params.cages, len(self.cage.events)),
            cuts=In(CUTS).array(params.cages),
            settings=Out(SETTINGS).array(params.cages),
            demands=Out(DEMANDS).array(params.cages),
            request=In(1),
            irq=Out(1),
            **({"irq_late": In(1), "irq_silent": In(1)} if params.msix else {}),
        )

    def build(self, m: Module) -> None:
        m.submodules.registers = registers = RegisterBlock(self.registers)
        connect(m, flipped(self.axil), registers.axil)
        control, status = registers.control, registers.status
        m.d.comb += [
            status.board.eq(IDENTITY),
            status.board_version.eq(VERSION),
            status.memory_ready.eq(self.memory_ready),
            status.interrupt_request.eq(self.request),
        ]
        m.d.sync += self.irq.eq(self.request & control.interrupt_enable)
        if self.params.hbm:
            m.d.comb += [
                status[f"degrees_{k}"].eq(degrees) for k, degrees in enumerate(self.temperature)
            ]
        if self.params.msix:
            late = Signal(RARE_BITS)
            m.d.sync += late.eq(Mux(control.clear_losses, 0, late + self.irq_late)[:RARE_BITS])
            m.d.comb += [
                status.interrupt_silent.eq(self.irq_silent),
                status.interrupts_late.eq(late),
            ]
        for k in range(self.params.cages):
            m.submodules[f"cage_{k}"] = cage = CageStatus(self.cage)
            shown = self.levels[k].status
            m.d.comb += [
                cage.happenings.eq(self.levels[k].happenings),
                *(to.eq(of) for to, of in zip(cage.counts, self.counts[k], strict=True)),
                cage.cuts.eq(self.cuts[k]),
                cage.clear.eq(control.clear_losses),
                cage.commands.whole.eq(control[f"reset_{k}"]),
                cage.commands.transmit.eq(control[f"reset_transmit_{k}"]),
                cage.commands.receive.eq(control[f"reset_receive_{k}"]),
                self.demands[k].eq(cage.demands),
                *(self.settings[k][name].eq(control[f"{name}_{k}"]) for name in SETTINGS.members),
                status.links[k].eq(shown.linked),
                *(status[f"{name}_{k}"].eq(shown[name]) for name in STATUS.members),
                *(status[f"{name}_{k}"].eq(cage.sums[name]) for name in self.cage.sums.members),
            ]
