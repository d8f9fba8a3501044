"""Aggregates by the RTL: the switch and an endpoint of each worker, in one simulation."""

import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.harness.session import RunFailed
from sim.harness.verilator import Build, Simulation, run
from sim.switchgnn.gcn.golden_aggregator import Jobs, Planner
from sim.switchgnn.network.link_settings import LinkSettings
from sim.switchgnn.network.network import Network, NetworkParams, empty_network
from sim.switchgnn.network.requests import JOB, Aggregate, Begin, Count, Counters, Plan
from sim.switchgnn.planning.workers import WorkerPartition


class RtlNetwork:
    """Simulates a network for as long as its context lasts.

    The simulator is another process, which waits while nothing is asked of it.
    """

    component: type[Any] = Network
    test_module = "sim.switchgnn.network.in_simulator"

    def __init__(
        self,
        params: NetworkParams,
        simulator: Build,
        folder: Path,
        planner: Planner,
        *,
        links: LinkSettings,
        timeout: int = 0,
        ecn: bool = False,
    ) -> None:
        """Take ``timeout``, the cycles until a worker repeats a frame; 0: what suits the links.

        With ``ecn`` the switch marks frames, and workers slow down.
        """
        self.params, self.simulator, self.folder = params, simulator, folder.absolute()
        self.planner = planner
        open_turns = planner.setup.shape.open_turns
        self.use = Begin(open_turns=open_turns, links=links, timeout=timeout, ecn=ecn)
        self.plans = 0  #: plans that the simulator was told
        self.user: RtlAggregator | None = None  #: whose counts are to be read
        self.counted: Counter[str] = Counter()  #: all counters at the last reading
        self.failure: BaseException | None = None  #: what made the simulation fail
        self.thread = threading.Thread(target=self.simulate, daemon=True)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:  # the path of a socket must be short
            self.socket = f"{place}/socket"
            with Listener(self.socket) as listener:
                self.thread.start()
                self.requested: Connection = listener.accept()
        self.report(self.use)
        return self

    def __exit__(self, *exception: object) -> None:
        self.requested.close()
        self.thread.join()
        if self.failure is not None and exception[0] is None:
            raise self.failure

    def plusargs(self) -> list[str]:
        """Return arguments of the simulation: memories hold zeros at first."""
        return empty_network(self.params, self.folder)

    def simulate(self) -> None:
        """Run the simulation to its end, in a thread."""
        try:
            run(
                self.simulator,
                Simulation(
                    test_module=self.test_module,
                    params=self.params,
                    component=self.component,
                    plusargs=self.plusargs(),
                    env={JOB: self.socket},
                ),
                seed=self.use.links.seed,
                folder=self.folder,
            )
        except BaseException as failure:  # handed on to who asks
            self.failure = failure
        with suppress(OSError):  # one that died before it asked for work leaves who waits for it
            Client(self.socket).close()

    def report(self, request: Any) -> None:
        """Send a request; if the simulation has ended, raise what ended it."""
        try:
            self.requested.send(request)
        except OSError:
            self.raise_end()

    def issue(self, request: Any) -> Any:
        """Return the answer to a request; if the simulation has ended, raise what ended it."""
        self.report(request)
        try:
            return self.requested.recv()
        except (EOFError, OSError):
            self.raise_end()

    def aggregate(self, number: int, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the sums by the plans of a number; raise RunFailed if there are none."""
        answer = self.issue(Aggregate(number=number, features=features))
        if answer.sums is None:
            raise RunFailed(answer.failure)
        return answer.sums

    def begin(self, user: "RtlAggregator") -> None:
        """Count for another aggregator from now on."""
        if self.user is not user:
            self.settle()
            self.user = user

    def settle(self) -> None:
        """Read what was counted since the last time, and give it to its aggregator.

        Registers are read seldom: it takes as long as an aggregation of a small graph.
        """
        if self.user is not None:
            now = Counter(self.counters().counts)
            self.user.counted.update(now)
            self.user.counted.subtract(self.counted)
            self.user, self.counted = None, now

    def counters(self, *, details: bool = False) -> Counters:
        """Return what the hardware has counted since the beginning."""
        return self.issue(Count(details=details))

    def raise_end(self) -> NoReturn:
        """Raise the reason why there is no simulation any more."""
        self.thread.join()
        failure, self.failure = self.failure, None
        raise failure or RunFailed("the simulation has ended")

    def aggregator(
        self, adjacency: csr_array, partition: WorkerPartition, widths: Sequence[int]
    ) -> "RtlAggregator":
        """Make the aggregator that adds along the edges of a graph."""
        return RtlAggregator(self, self.planner.jobs(adjacency, partition, widths))


class RtlAggregator:
    """Aggregates on a network that others may use too, one at a time."""

    def __init__(self, network: RtlNetwork, jobs: Jobs) -> None:
        self.network, self.number = network, network.plans
        network.plans += 1
        self.counted: Counter[str] = Counter()
        network.report(Plan(number=self.number, jobs=jobs))

    @property
    def counts(self) -> Counter[str]:
        """Return COUNTERS of this aggregator, from hardware."""
        self.network.settle()
        return Counter(self.counted)

    def aggregate(self, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the sums, from hardware; raise RunFailed if they do not come."""
        self.network.begin(self)
        return self.network.aggregate(self.number, features)
