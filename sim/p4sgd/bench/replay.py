"""Replays the host's writes of a training run by a program without Python."""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hdl.common.registers import Register
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.host.counters import COUNTERS
from hdl.p4sgd.host.model_address import group_address, model_bus
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.payloads import pack
from sim.harness.verilate import Build
from sim.p4sgd.surroundings.worker_system import memory_params
from sim.p4sgd.train import memory_arguments
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import MemorySettings
from sim.workloads.layout import weights_to_model

#: source of the simulator's second main program
FREE_RUNNING = Path(__file__).with_name("free_running.cpp")


@dataclass(frozen=True)
class Replay:
    """Holds what a run without Python reports."""

    cycles: int  #: number of cycles from the end of reset, host accesses included
    seconds: float
    counters: Mapping[str, int]  #: low 32 bits of the hardware's counters


def register_word(register: Register, values: Mapping[str, int]) -> int:
    """Return the word of a register with these values in its fields; the others keep their init."""
    word = 0
    for field, offset in zip(register.fields, register.offsets, strict=True):
        value = values.get(field.name, field.init)
        word |= (value & ((1 << field.bits) - 1)) << offset
    return word


def register_writes(params: WorkerParams, values: Mapping[str, int]) -> Iterator[str]:
    """Yield a write of each register that has one of the fields."""
    for address, register in worker_registers(params).placed:
        if any(field.name in values for field in register.fields):
            yield f"register {address:x} {register_word(register, values):x}"


def model_writes(params: WorkerParams, model: NDArray[np.int32]) -> Iterator[str]:
    """Yield a write of every beat of weights [engines, chunks, lanes]."""
    beat_bytes = model_bus(params).data_bits // 8
    layout = group_address(params)
    for (engine, chunk), lanes in zip(
        np.ndindex(model.shape[:2]), model.reshape(-1, params.engine.lanes), strict=True
    ):
        first = engine << layout["engine"].offset | chunk << layout["chunk"].offset
        for group, weights in enumerate(lanes.reshape(-1, GROUP_LANES)):
            words = " ".join(f"{int(weight) & 0xFFFFFFFF:x}" for weight in weights)
            yield f"model {(first + group) * beat_bytes:x} {words}"


def script(training: TrainingRun, memory: MemorySettings) -> list[str]:
    """Return the script of a run: settings, an empty model, all epochs, and reads at the end."""
    params = training.params
    settings = memory_params(params).settings
    packed = pack(settings, memory.fields)
    words = [packed >> shift & 0xFFFFFFFF for shift in range(0, settings.size, 32)]
    start = np.zeros(training.shape, dtype=np.int64)
    model = weights_to_model(start, training.geometry, 0, training.chunks)
    return [
        " ".join(["memory", *(f"{word:x}" for word in words)]),
        *register_writes(params, training.settings(training.requested.epochs)),
        *model_writes(params, model),
        *register_writes(params, {"start": 1}),
        "run",
        *(f"read {address:x}" for address in looked_at(params)),
    ]


def looked_at(params: WorkerParams) -> dict[int, str]:
    """Return the addresses of the state and of the low words of the counters, by name."""
    names = {"state": "state"} | {f"{name}_count": name for name in COUNTERS}
    registers = worker_registers(params).placed
    return {address: names[r.name] for address, r in registers if r.name in names}


def replay(
    training: TrainingRun, simulator: Build, folder: Path, memory: MemorySettings | None = None
) -> Replay:
    """Train in ``folder`` without Python; return what the program reported."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "script.txt"
    path.write_text("\n".join(script(training, memory or MemorySettings())) + "\n")
    program = simulator.folder / FREE_RUNNING.stem
    arguments = memory_arguments(training, folder)
    output = subprocess.run(
        [str(program), f"+script={path}", *arguments], capture_output=True, text=True, check=False
    )
    if output.returncode:
        raise RuntimeError(f"{program.name} failed: {output.stderr or output.stdout}")
    return read_replay(output.stdout, training)


def read_replay(text: str, training: TrainingRun) -> Replay:
    """Read what the program printed; raise an error unless it went through the whole run."""
    *reads, (cycles, seconds) = [line.split() for line in text.splitlines()]
    names = looked_at(training.params)
    counters = {names[int(address)]: int(word) for address, word in reads}
    state = counters.pop("state")
    expected = training.micro_batches * training.classes * training.requested.epochs
    if state != done_state(training.params) or counters["micro_batches"] != expected:
        raise RuntimeError(
            f"the run without Python ended in state {state:#x} after"
            f" {counters['micro_batches']} micro-batches of {expected}"
        )
    return Replay(int(cycles), float(seconds), counters)


def done_state(params: WorkerParams) -> int:
    """Return the state register of a worker that came to the end of a run."""
    registers = worker_registers(params).placed
    state = next(register for _, register in registers if register.name == "state")
    return register_word(state, {"done": 1})
