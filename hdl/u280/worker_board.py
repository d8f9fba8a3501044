"""Places a P4SGD worker on an Alveo U280."""

from typing import Any

from amaranth.hdl import Cat, Const, Module
from amaranth.lib.wiring import connect

from hdl.common.axi_read_arbiter import AxiReadArbiter
from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.worker import Worker
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.axi_wires import connect_bus
from hdl.u280.board import Board, check_slr_stages
from hdl.u280.hbm import Hbm
from hdl.u280.hbm_ip import ADDRESS_BITS, CHANNEL_BITS, PORTS
from hdl.u280.hbm_port import HbmPortParams
from hdl.u280.pcie import MODEL_BASE, PcieDma

LABELS, HOST = 1, 3  #: ports that carry something else, too, if words need all of them
TILED = 6, 7  #: those ports if the weights are in memory
TILED_ENGINES = 4  #: most engines whose weights are in memory: each has eight ports
WEIGHTS = 4  #: which of them carries the weights


class WorkerBoard(Board):
    """Places the worker beside HBM, its switch at cage 0, its host behind PCI Express by DMA.

    HBM's channels of 256 MB are shared out evenly to the ports that carry words: each has as many,
    a power of two, from the channel of its own number on, and no other port's words are there. An
    engine has four channels, or two if there are more than eight engines; sets of engines, one for
    each class, count as engines here. Port 1 carries labels and
    port 3 all that the host reads and writes; words that need these ports, too, share them
    (:class:`AxiReadArbiter`). A worker's address on a port is one from its first channel on; labels
    that are in the memory of a port of words lie behind these.

    Of at most four engines the weights may be in memory. Engine n then has its words at ports 8 n
    and 8 n + 2, in two channels each, and once more at 8 n + 1 and 8 n + 3, its weights at 8 n + 4;
    port 6 carries labels and port 7 what the host reads and writes.

    BAR 0, 1 MB: the worker's registers at 0, the board's (:func:`board_registers`) at 0x10000.
    DMA: HBM, 8 GB, from 0; the model (:class:`ModelPort`) from 0x200000000. The interrupt is
    requested while the worker is not busy; the board's registers let it pass.
    """

    def __init__(self, params: WorkerParams) -> None:
        if params.ports > most_ports(params):
            raise ValueError(
                f"a word must take at most {most_ports(params)} memory ports on this"
                f" board with {params.engines} engines: {params.ports}"
            )
        if params.address_bits > port_bits(params):
            raise ValueError(
                f"address_bits must be at most {port_bits(params)} on this board, a port's part of"
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
        labels, host = side_ports(params)
        ports = dict.fromkeys((*words, labels), reads)
        ports[host] = HbmPortParams(address_bits=ADDRESS_BITS, writes=True)
        if params.movers:
            again = HbmPortParams(address_bits=ADDRESS_BITS)
            ports |= dict.fromkeys((port + 1 for port in words), again)
            bits = max(CHANNEL_BITS, params.weight_address_bits)
            weights = HbmPortParams(address_bits=bits, writes=True)
            ports |= dict.fromkeys(weight_ports(params), weights)
        memory = Hbm.sized(ports=tuple(sorted(ports.items())))
        super().__init__(params, link, [0], memory=memory)

    def build(self, m: Module) -> None:
        params, memory = self.params, self.memory
        self.begin(m)
        m.submodules.core = core = Worker(params)
        mac = self.add_cage(m, self.cages[0])
        self.send(m, mac, 0, core.m_axis)
        self.take(m, mac, 0, core.s_axis)
        ports = [port for ports in word_ports(params) for port in ports]
        labels, host = side_ports(params)
        others = {labels: core.m_axi_labels, host: self.of_link(m, "dma_hbm")}
        for port, bus in others.items():
            connect_bus(m, bus, getattr(memory, f"port_{port}"))
        buses = list(core.m_axi_words)
        for port, bus in zip(ports, buses, strict=False):
            if port in others:
                self.share(m, port, bus, others[port])
            else:
                connect(m, bus, getattr(memory, f"port_{port}"))
        if params.movers:
            for port, bus in zip(ports, buses[len(ports) :], strict=True):
                self.read_again(m, port, bus)
            for port, bus in zip(weight_ports(params), core.m_axi_weights, strict=True):
                connect_bus(m, bus, getattr(memory, f"port_{port}"))
        connect_bus(m, self.of_link(m, "registers_0"), core.s_axil)
        connect_bus(m, self.of_link(m, "dma_model"), core.s_axi_model)
        status = self.add_status(m, [mac])
        m.d.comb += status.request.eq(~core.busy)

    def share(self, m: Module, port: int, words: Any, other: Any) -> None:
        """Let words, and what else a port carries, read by turns."""
        memory = getattr(self.memory, f"port_{port}")
        bits = len(memory.araddr)
        arbiter = AxiReadArbiter.sized(address_bits=bits)
        m.submodules[f"share_{port}"] = arbiter
        connect_bus(m, words, arbiter.i[0])
        if bits == ADDRESS_BITS:  # the host's: those of words are of the port's own channels
            own = Const(port << CHANNEL_BITS >> len(words.araddr))
            m.d.comb += arbiter.i[0].araddr.eq(Cat(words.araddr, own))
        connect_bus(m, other, arbiter.i[1])
        connect_bus(m, arbiter.o, memory)

    def read_again(self, m: Module, port: int, bus: Any) -> None:
        """Connect a bus that reads the words of ``port`` once more, through the next port."""
        memory, bits = getattr(self.memory, f"port_{port + 1}"), self.params.address_bits
        connect_bus(m, bus, memory)
        own = Const(port << CHANNEL_BITS >> bits)
        m.d.comb += memory.araddr.eq(Cat(bus.araddr, own))


def host_addresses(params: WorkerParams) -> dict[str, Any]:
    """Return where DMA finds the memory at each port of words, labels and the weights, in bytes.

    Labels that are in the memory of a port of words end with it. Of a build that this board does
    not take, memories follow each other: those of words, of labels, and then the weights.
    """
    bits, count = params.address_bits, params.sets * params.ports
    words = [port << CHANNEL_BITS for ports in word_ports(params) for port in ports]
    labels, model = side_ports(params)[0] << CHANNEL_BITS >> bits << bits, MODEL_BASE
    if not fits(params):
        *words, labels, model = (port << bits for port in range(count + 2))
    return {
        "words": tuple(words),
        "labels": labels,
        "labels_end": 1 << bits if labels in words else 0,
        "model": model,
    }


def engine_channels(params: WorkerParams) -> int:
    """Return the number of channels of an engine, or of a set of engines."""
    if params.movers:
        return PORTS // TILED_ENGINES
    return PORTS // (8 if params.sets <= 8 else 16)


def most_ports(params: WorkerParams) -> int:
    """Return the most ports of a word: all that an engine has, but two with weights in memory."""
    if params.movers:
        return 2 if params.engines <= TILED_ENGINES else 0
    return engine_channels(params)


def side_ports(params: WorkerParams) -> tuple[int, int]:
    """Return the ports of labels and of the host."""
    return TILED if params.movers else (LABELS, HOST)


def weight_ports(params: WorkerParams) -> list[int]:
    """Return the port of the weights of each engine."""
    return [engine_channels(params) * engine + WEIGHTS for engine in range(params.engines)]


def fits(params: WorkerParams) -> bool:
    """Return whether this board has the ports and the memory of a worker."""
    return params.ports <= most_ports(params) and params.address_bits <= port_bits(params)


def channels(params: WorkerParams) -> int:
    """Return the number of channels of a port of words, a power of two."""
    return 2 if params.movers else engine_channels(params) // params.ports


def port_bits(params: WorkerParams) -> int:
    """Return the width of a byte address in the channels of a port of words."""
    return CHANNEL_BITS + channels(params).bit_length() - 1


def word_ports(params: WorkerParams) -> list[list[int]]:
    """Return the ports of HBM that carry the words of each engine, or set of engines."""
    step = channels(params)
    each = engine_channels(params) if params.movers else step * params.ports
    return [
        [each * engine + step * k for k in range(params.ports)] for engine in range(params.sets)
    ]
