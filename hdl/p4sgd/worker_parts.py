"""Creates the components of a worker."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import DomainRenamer, Module

from hdl.common.bus_watch import BusTimer
from hdl.common.register_block import RegisterBlock
from hdl.common.registers import RegisterMap
from hdl.common.streams import StreamRegisterParams, StreamSkid
from hdl.p4sgd.core.training_core import TrainingCore
from hdl.p4sgd.host.control import Control
from hdl.p4sgd.host.counters import Counters
from hdl.p4sgd.host.model_port import ModelPort
from hdl.p4sgd.memory.hbm_reader import HbmReader
from hdl.p4sgd.memory.label_reader import LabelReader
from hdl.p4sgd.memory.weight_mover import WeightMover
from hdl.p4sgd.network.batch_gate import BatchGate
from hdl.p4sgd.network.frame import Frame
from hdl.p4sgd.network.model_exchange import ModelExchange
from hdl.p4sgd.transport.transport import Transport
from hdl.p4sgd.worker_params import WorkerParams


@dataclass(frozen=True, kw_only=True)
class WorkerParts:
    """Holds the components of a worker, which its wiring connects.

    ``core``, ``exchange``, ``transport`` and ``gate`` are in the clock domain ``core``.
    """

    params: WorkerParams  #: sizes of the worker
    registers: RegisterBlock  #: registers that the host writes and reads
    control: Control  #: the worker's state
    counters: Counters  #: counters of events
    labels: LabelReader  #: reads the labels of the samples
    model_port: ModelPort  #: gives the host access to the weights
    core: TrainingCore  #: engines, their sum and the loss
    exchange: ModelExchange  #: gives the engines' weights to the host or to the network
    transport: Transport  #: adds partial activations over all workers
    gate: BatchGate  #: holds full activations back for the order of vanilla model parallelism
    offer: StreamSkid  #: keeps a frame that was offered to the MAC while the transport is reset
    #: read the words, one for each engine; with a model in memory, then one more for each
    readers: tuple[HbmReader, ...]
    movers: tuple[WeightMover, ...]  #: read and write the weights of each engine, if in memory
    timer: BusTimer  #: measures how long a memory is silent

    @property
    def settings(self) -> Any:
        """Return the fields of the registers that the host writes."""
        return self.registers.control

    @property
    def status(self) -> Any:
        """Return the fields of the registers that the host reads."""
        return self.registers.status


def add_parts(m: Module, params: WorkerParams, registers: RegisterMap) -> WorkerParts:
    """Create the components of a worker, as submodules of ``m``."""
    m.submodules.registers = register_block = RegisterBlock(registers)
    m.submodules.control = control = Control(params)
    m.submodules.counters = counters = Counters(params)
    m.submodules.labels = labels = LabelReader(params)
    m.submodules.model_port = model_port = ModelPort(params)
    in_core = DomainRenamer("core")
    m.submodules.core = core = in_core(TrainingCore(params))
    m.submodules.exchange = exchange = in_core(ModelExchange(params))
    m.submodules.transport = transport = in_core(Transport(params.transport))
    m.submodules.gate = gate = in_core(BatchGate(params))
    frame = StreamRegisterParams(shape=Frame.as_shape().size)
    m.submodules.offer = offer = StreamSkid(frame)
    readers = tuple(HbmReader(params) for _ in range(params.readers))
    movers = tuple(WeightMover(params) for _ in range(params.movers))
    for e, mover in enumerate(movers):
        m.submodules[f"mover_{e}"] = mover
    for e, reader in enumerate(readers):
        m.submodules[f"reader_{e}"] = reader
    m.submodules.timer = timer = BusTimer.sized()
    return WorkerParts(
        params=params,
        registers=register_block,
        control=control,
        counters=counters,
        labels=labels,
        model_port=model_port,
        core=core,
        exchange=exchange,
        transport=transport,
        gate=gate,
        offer=offer,
        readers=readers,
        movers=movers,
        timer=timer,
    )
