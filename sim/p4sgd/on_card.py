"""Trains an epoch on a worker's real card, through the files of AMD's driver ``xdma``."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen.registers.python_driver import class_name
from hdl.common.registers import RegisterMap
from hdl.p4sgd.host.model_address import group_address, model_bus
from hdl.p4sgd.host.registers import constants, worker_registers
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.pcie import MODEL_BASE
from hdl.u280.registers import BASE, BoardRegistersParams, board_registers
from hdl.u280.worker_board import LABELS, word_ports
from sim.harness.register_driver import driver_module
from sim.p4sgd.training import TrainingRun


class CardError(RuntimeError):
    """Says that the card is not what it should be, or stopped."""


@dataclass(frozen=True, kw_only=True)
class Devices:
    """Names the files by which a driver shows a card."""

    registers: Path = Path("/dev/xdma0_user")
    to_card: Path = Path("/dev/xdma0_h2c_0")
    from_card: Path = Path("/dev/xdma0_c2h_0")


def train_an_epoch(run: TrainingRun, devices: Devices, seconds: float = 60.0) -> NDArray[np.int64]:
    """Train one epoch of ``run`` on a worker alone, from weights 0; return the weights [D].

    Raises OSError if a device is not there, :class:`CardError` if the card holds another design,
    has no memory yet, stops with a cause, or has no end within ``seconds``.
    """
    with ExitStack() as stack:
        worker = stack.enter_context(mapped(devices.registers, worker_registers(run.params), 0))
        board = stack.enter_context(
            mapped(
                devices.registers, board_registers(BoardRegistersParams(cages=1, hbm=True)), BASE
            )
        )
        for name, value in constants(run.params).items():
            if (found := worker.read(name)) != value:
                raise CardError(f"the card holds another design: {name} is {found}, not {value}")
        if not board.read("memory_ready"):
            raise CardError("the card's memory is not ready")
        worker.write(soft_reset=1)
        wait(lambda: not worker.read("busy"), "the soft reset", seconds)
        with open(devices.to_card, "r+b", buffering=0) as memory:
            for address, data in memory_images(run):
                transfer(memory.fileno(), data, address)
        worker.write(**run.settings(1), clear_counters=1)
        worker.write(start=1)
        wait(lambda: worker.read("done") or worker.read("failed"), "the epoch", seconds)
        if worker.read("failed"):
            raise CardError(f"the worker stopped: {worker.read('cause').name}")
        with open(devices.from_card, "r+b", buffering=0) as memory:
            return read_weights(run, memory.fileno())


def memory_images(run: TrainingRun) -> Iterator[tuple[int, bytes]]:
    """Yield what the host writes by DMA: address and bytes of words, labels and weights 0."""
    ports = [port for ports in word_ports(run.params) for port in ports]
    for port, image in zip([*ports, LABELS], run.images, strict=True):
        yield port << CHANNEL_BITS, image
    (model,) = run.models(np.zeros(run.features, np.int64))
    for engine, weights in enumerate(model):
        yield model_address(run, engine), weights.astype("<i4").tobytes()


def model_address(run: TrainingRun, engine: int) -> int:
    """Return the address at which DMA finds an engine's weights."""
    index = engine << group_address(run.params)["engine"].offset
    return MODEL_BASE + index * model_bus(run.params).data_bits // 8


def read_weights(run: TrainingRun, memory: int) -> NDArray[np.int64]:
    """Read the weights [D] that the model memories hold; ``memory`` is open for reading."""
    size = run.chunks * run.params.engine.lanes * 4
    found = [
        np.frombuffer(os.pread(memory, size, model_address(run, engine)), "<i4")
        for engine in range(run.params.engines)
    ]
    if any(4 * len(weights) != size for weights in found):
        raise CardError("the card gave fewer weights than there are")
    return run.weights([np.stack(found).reshape(run.params.engines, run.chunks, -1)])


def transfer(memory: int, data: bytes, address: int) -> None:
    """Write all of ``data`` at ``address``, however many writes that takes."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(memory, rest, address)
        if not written:
            raise CardError(f"the card takes nothing at {address:#x}")
        rest, address = rest[written:], address + written


@contextmanager
def mapped(path: Path, map: RegisterMap, offset: int) -> Iterator[Any]:
    """Map the registers of ``map`` at ``offset`` of a window; yield their generated driver."""
    module: Any = driver_module(map)
    with module.MappedBus(str(path), offset) as bus:
        yield getattr(module, class_name(map))(bus)


def wait(condition: Any, what: str, seconds: float) -> None:
    """Look until ``condition`` holds; raise :class:`CardError` if it never does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise CardError(f"{what} has not ended within {seconds:g} s")
