"""Places a P4SGD worker on an Alveo U280."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import connect

from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.worker import Worker
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.axi_wires import connect_bus
from hdl.u280.board import Board, check_slr_stages
from hdl.u280.hbm import Hbm
from hdl.u280.hbm_ip import ADDRESS_BITS, CHANNEL_BITS
from hdl.u280.hbm_port import HbmPortParams
from hdl.u280.pcie import MODEL_BASE, PcieDma

PORTS_PER_ENGINE = 4
LABELS, HOST = 2, 3  #: ports of engine 0 that carry something else


class WorkerBoard(Board):
    """Places the worker beside HBM, its switch at cage 0, its host behind PCI Express by DMA.

    HBM's port 4e carries the words of engine e, with port 4e + 1 where a word has two beats; port
    2 labels and port 3 all that the host reads and writes. A worker's address on a port is one in
    the 256 MB nearest to it: in bytes of HBM, 256 MB times the port's number and the address.

    BAR 0, 1 MB: the worker's registers at 0, the board's (:func:`board_registers`) at 0x10000.
    DMA: HBM, 8 GB, from 0; the model (:class:`ModelPort`) from 0x200000000. The interrupt is
    requested while the worker is not busy; the board's registers let it pass.
    """

    def __init__(self, params: WorkerParams) -> None:
        if params.address_bits > CHANNEL_BITS:
            raise ValueError(
                f"address_bits must be at most {CHANNEL_BITS} on this board, a port's 256 MB of"
                f" HBM: {params.address_bits}"
            )
        if params.slrs > 1:
            check_slr_stages(params.slr_stages)
        link = PcieDma.sized(
            register_bits=worker_registers(params).address_bits,
            model_bits=model_bus(params).address_bits,
        )
        reads = HbmPortParams(address_bits=params.address_bits)
        words = tuple(port for ports in word_ports(params) for port in ports)
        ports = dict.fromkeys((*words, LABELS), reads)
        ports[HOST] = HbmPortParams(address_bits=ADDRESS_BITS, writes=True)
        memory = Hbm.sized(ports=tuple(sorted(ports.items())))
        super().__init__(params, link, [0], memory=memory)

    def elaborate(self, platform) -> Module:
        params, memory = self.params, self.memory
        m = self.begin()
        m.submodules.core = core = Worker(params)
        mac = self.add_cage(m, self.cages[0])
        self.send(m, mac, 0, core.m_axis)
        self.take(m, mac, 0, core.s_axis)
        ports = [port for ports in word_ports(params) for port in ports]
        for port, bus in zip(ports, core.m_axi_words, strict=True):
            connect(m, bus, getattr(memory, f"port_{port}"))
        connect(m, core.m_axi_labels, getattr(memory, f"port_{LABELS}"))
        connect_bus(m, self.of_link(m, "dma_hbm"), getattr(memory, f"port_{HOST}"))
        connect_bus(m, self.of_link(m, "registers_0"), core.s_axil)
        connect_bus(m, self.of_link(m, "dma_model"), core.s_axi_model)
        status = self.add_status(m, [mac])
        m.d.comb += status.request.eq(~core.busy)
        return m


def host_addresses(params: WorkerParams) -> dict[str, Any]:
    """Return where DMA finds the memory at each port of words, labels and the weights, in bytes."""
    ports = [port for ports in word_ports(params) for port in ports]
    return {
        "words": tuple(port << CHANNEL_BITS for port in ports),
        "labels": LABELS << CHANNEL_BITS,
        "model": MODEL_BASE,
    }


def word_ports(params: WorkerParams) -> list[list[int]]:
    """Return the ports of HBM that carry each engine's words."""
    return [
        [PORTS_PER_ENGINE * engine + k for k in range(params.ports)]
        for engine in range(params.engines)
    ]
