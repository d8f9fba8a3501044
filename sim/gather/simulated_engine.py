"""Runs a simulated gather engine beside a program, which drives it as it drives a card."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Client, Connection, Listener
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from gen.base.registers.python_driver import driver_of
from hdl.gather.engine_params import GatherEngineParams
from sim.gather.engine_side import engine_side
from sim.gather.gather_session import GatherSession
from sim.gather.host.gather_engine import Engine
from sim.gather.surroundings.cards_system import CardsSystem
from sim.gather.workload import GatherWorkload
from sim.harness.host_program import PATIENCE
from sim.harness.verilator import Simulation, run
from sim.host.device import DeviceError

LINE, MEMORY = "line", "memory"  #: arguments of the simulation: a socket's path, bytes
TEST = "sim.gather.engine_in_simulator"
CALLS = ("read", "write", "pause", "read_memory", "write_memory")


class RemoteDevice:
    """Is the device of a simulated card in another process: its methods are called by ``line``.

    Simulated time goes on while a call is carried out. Several threads may call. ValueError for an
    address beyond host memory, DeviceError if the simulation has ended.
    """

    def __init__(self, line: Connection, memory_bytes: int) -> None:
        self.line, self.memory_bytes, self.lock = line, memory_bytes, Lock()

    def __getattr__(self, name: str) -> Any:
        if name not in CALLS:
            raise AttributeError(name)
        return partial(self.call, name)

    def call(self, name: str, *args: Any) -> Any:
        """Return what the method of that name returns."""
        if name in ("read_memory", "write_memory"):
            first, what = args
            end = first + (what if isinstance(what, int) else len(what))
            if not 0 <= first <= end <= self.memory_bytes:
                raise ValueError(f"the card sees {self.memory_bytes} bytes: {first} to {end}")
        try:
            with self.lock:
                self.line.send((name, args))
                return self.line.recv()
        except (EOFError, OSError) as error:
            raise DeviceError("the simulation has ended") from error

    def end(self) -> None:
        """End the simulation; a process that was forked may still have the line, and end later."""
        with suppress(OSError), self.lock, self.line:
            self.line.send(None)


@contextmanager
def simulated_engine(params: GatherEngineParams, memory_bytes: int = 1 << 20) -> Iterator[Engine]:
    """Simulate a card whose host has memory from address 0 on; give the driver of its engine.

    The simulator is that of ``ingather gather`` and runs until the context ends, in a process of
    its own. SimulationError if it fails.
    """
    hardware = GatherSession.hardware(params, GatherWorkload())
    built, side = GatherSession.build(hardware), engine_side(params)
    with TemporaryDirectory(prefix="ingather-engine-") as name, ThreadPoolExecutor(1) as pool:
        place = f"{name}/{LINE}"
        arguments = [f"+{LINE}={place}", f"+{MEMORY}={memory_bytes}"]
        simulation = Simulation(
            test_module=TEST, params=hardware, component=CardsSystem, plusargs=arguments
        )
        with Listener(place) as listener:
            running = pool.submit(run, built, simulation, seed=1)
            running.add_done_callback(lambda _: knock(place))
            device = RemoteDevice(listener.accept(), memory_bytes)
        try:
            engine = side.program(device, driver_of(side.map, device))
            engine.seconds = PATIENCE
            yield engine
        finally:
            device.end()
            running.result()


def knock(place: str) -> None:
    """End the wait for a simulation that has ended before it came to the socket."""
    with suppress(OSError):
        Client(place).close()
