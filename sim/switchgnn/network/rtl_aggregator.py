"""Aggregates by the RTL: the switch and an endpoint of each worker, whole or in parts."""

import os
import pickle
import secrets
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.harness.clusters import Cluster
from sim.harness.in_simulator import to_text
from sim.harness.session import RunFailed
from sim.harness.verilator import Build
from sim.surroundings.exchange import epoch_of
from sim.switchgnn.gcn.golden_aggregator import Jobs, Planner
from sim.switchgnn.network.counting import counters_of
from sim.switchgnn.network.link_settings import LinkSettings
from sim.switchgnn.network.members import Members, cuts, everything, parts_of
from sim.switchgnn.network.network import Network, NetworkParams, empty_network
from sim.switchgnn.network.parts import part_of
from sim.switchgnn.network.requests import (
    JOB,
    Aggregate,
    Begin,
    Count,
    Counters,
    Plan,
    ServerAddress,
)
from sim.switchgnn.planning.workers import WorkerPartition

GREETING_SECONDS = 5.0  #: in which who connects must show that it knows the key


class RtlNetwork:
    """Simulates a network for as long as its context lasts.

    The simulator is another process, which waits while nothing is asked of it; or many are, with
    the simulators of all parts (:func:`~sim.switchgnn.network.parts.build_parts`).
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
        processes: int | None = None,
        workers: Any = None,
    ) -> None:
        """Take ``timeout``, the cycles until a worker repeats a frame; 0: what suits the links.

        With ``ecn`` the switch marks frames, and workers slow down. At most ``processes`` parts
        work at a time, by default all; they do so on ``workers`` of a Dask cluster
        (:class:`~sim.cluster.placing.PlacedParts`), if there are any.
        """
        self.params, self.simulator, self.folder = params, simulator, folder.absolute()
        self.processes, self.workers = processes, workers
        self.planner = planner
        open_turns = planner.setup.shape.open_turns
        self.use = Begin(open_turns=open_turns, links=links, timeout=timeout, ecn=ecn)
        self.plans = 0  #: plans that the simulator was told
        self.user: RtlAggregator | None = None  #: whose counts are to be read
        self.counted: Counter[str] = Counter()  #: all counters at the last reading
        self.cpu_seconds: Sequence[float] = ()  #: of each simulation, at the last reading
        self.failure: BaseException | None = None  #: what made the simulation fail
        self.thread = threading.Thread(target=self.simulate, daemon=True)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        # The path of a socket must be short.
        with tempfile.TemporaryDirectory() as place, self.listener(place) as listener:
            cluster = self.cluster
            self.thread.start()
            connected: dict[str, Connection] = {}
            for _ in cluster.folders:
                connection = accepted(listener, self.server.key)
                connected[self.heard(connection)] = connection
        members = cluster.parts if cluster.cut else [cluster.everything]
        self.connections = [connected[each.name] for each in members]
        self.report(self.use)
        return self

    def __exit__(self, *exception: object) -> None:
        for connection in self.connections:
            connection.close()
        self.thread.join()
        if self.failure is not None and exception[0] is None:
            raise self.failure

    def listener(self, place: str) -> Listener:
        """Listen for simulators; those of other machines must know a key, which Dask carries."""
        key = secrets.token_bytes() if self.workers else None
        address = (self.workers.own_host, 0) if self.workers else f"{place}/socket"
        result = Listener(address, backlog=4096)
        self.server = ServerAddress(address=result.address, key=key)
        return result

    def plusargs(self) -> list[str]:
        """Return arguments of the simulation: memories hold zeros at first."""
        return empty_network(self.params, self.folder)

    @property
    def cluster(self) -> Cluster[Members]:
        """Describe what is simulated, as a whole or in parts."""
        parts = parts_of(self.params)
        return Cluster(
            simulator=self.simulator,
            test_module=self.test_module,
            folder=self.folder,
            plusargs=self.plusargs(),
            everything=everything(self.params),
            parts=parts,
            links=cuts(parts),
            epoch=epoch_of(self.use.links.latency),
            component=self.component_of,
            files=lambda members: [path.name for path in self.folder.glob("*.bin")],
            env={JOB: to_text(self.server)},
        )

    def component_of(self, members: Members) -> Any:
        """Return the hardware of a part, or of the whole."""
        return part_of(members) if members.ports else self.component(self.params)

    def simulate(self) -> None:
        """Run the simulation to its end, in a thread."""
        try:
            seed = self.use.links.seed
            self.cluster.run(seed=seed, processes=self.processes, workers=self.workers)
        except BaseException as failure:  # handed on to who asks
            self.failure = failure
        with suppress(OSError):  # one that died before it asked for work leaves who waits for it
            self.server.connect().close()

    def report(self, request: Any) -> None:
        """Send a request to all parts; if the simulation has ended, raise what ended it."""
        message = pickle.dumps(request)
        try:
            for connection in self.connections:
                connection.send_bytes(message)
        except OSError:
            self.raise_end()

    def issue(self, request: Any) -> list[Any]:
        """Return each part's answer; if the simulation has ended, raise what ended it."""
        self.report(request)
        return [self.heard(connection) for connection in self.connections]

    def heard(self, connection: Connection) -> Any:
        """Return what a part says; if the simulation has ended, raise what ended it."""
        try:
            return connection.recv()
        except (EOFError, OSError):
            self.raise_end()

    def aggregate(self, number: int, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the sums by the plans of a number; raise RunFailed if there are none."""
        answers = self.issue(Aggregate(number=number, features=features))
        failures = [answer.failure for answer in answers if answer.sums is None]
        if failures:
            raise RunFailed(next(filter(None, failures), ""))
        return np.sum([answer.sums for answer in answers], axis=0)

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
        counted = self.issue(Count(details=details))
        self.cpu_seconds = [each.seconds for each in counted]
        return counters_of(counted, self.params.switch.lanes)

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


def accepted(listener: Listener, key: bytes | None) -> Connection:
    """Return the next connection of who knows the key, if there is one, and says so in time."""
    while True:
        connection: Any = listener.accept()
        if key is None:
            return connection
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            timer = threading.Timer(GREETING_SECONDS, line.shutdown, [socket.SHUT_RDWR])
            timer.start()
            try:
                deliver_challenge(connection, key)
                answer_challenge(connection, key)
                return connection
            except (AuthenticationError, EOFError, OSError):
                connection.close()
            finally:
                timer.cancel()


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
