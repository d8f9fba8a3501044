"""Drives a worker's card: its gather engine brings in what its endpoint sends, turn by turn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdl.gather.engine_params import COMPLETION_BYTES
from hdl.switchgnn.protocol import Kind, payload_bytes
from sim.gather.engine_side import engine_side
from sim.gather.host.gather_engine import Engine, GatherFailed
from sim.gather.host.request import Request, Table
from sim.gather.host.ring import DESCRIPTOR_BYTES, Ring
from sim.gather.host.unified_table import aligned
from sim.harness.host_program import HostProgram
from sim.harness.session import RunFailed
from sim.network_switch.step.params import RING_PLACES, ROOM_BITS, WorkersParams
from sim.network_switch.step.register_path import RegisterPath
from sim.surroundings.side_port import SidePort
from sim.switchgnn.endpoint_program import EndpointProgram
from sim.switchgnn.golden.worker_rule import WorkerSetup
from sim.switchgnn.host.turns import Layout
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.endpoint_rams import EndpointRams

LANE_BYTES = 2
COMPLETIONS = DESCRIPTOR_BYTES * RING_PLACES  #: place of completions, behind the ring
STALE = 0xA5  #: what the card's memory of features holds before rows come


class GatheringWorker(EndpointProgram):
    """Runs jobs as an :class:`EndpointProgram`, whose payloads the gather engine brings in.

    Host memory has a table with a row for each vertex of the graph, of which those that the worker
    sends are written. A work request for each turn fetches the slices of the rows in the order of
    their frames. When its completion has come, the endpoint is told that the turn is ready; so it
    sends a turn while the engine fetches the next ones.
    """

    def __init__(self, dut: Any, params: WorkersParams, number: int, address: bytes) -> None:
        super().__init__(
            dut,
            params.endpoint,
            number,
            bus=f"axil_{number}",
            memory=EndpointRams(dut, number, params),
            address=address,
            regions=params.regions,
        )
        self.number, self.regions = number, params.regions
        self.host = SidePort(dut, params.host, number, "host")
        side = engine_side(params.gather)
        self.engine = HostProgram(dut, RegisterPath(dut, number), side, self.host)
        self.setup: WorkerSetup | None = None
        self.job: PlannedJob | None = None
        self.requests: list[Request] = []
        self.ring: Ring | None = None
        self.compared = 0  #: bytes that were gathered and compared

    async def open(self) -> None:
        """Open the ring by which the engine gets its work requests."""

        def open(engine: Engine) -> None:
            self.ring = Ring(engine, 0, RING_PLACES)
            self.ring.open()

        await self.engine.do(open)

    async def write_features(self, setup: WorkerSetup, layout: Layout) -> None:
        """Write rows and idxs of a job to host memory, and what is stale to the card's."""
        assert self.job is not None
        await self.run("use", layout)
        self.setup, self.requests = setup, []
        rows, row_bytes = self.rows(self.job.features[0]), self.row_bytes
        stride = rows.shape[1] * row_bytes
        idxs = [np.array([s.source for s in item.turn.sends], "<u4") for item in layout.placed]
        place = aligned(COMPLETIONS + COMPLETION_BYTES * setup.turns)
        end = place + len(rows) * stride
        for turn, (numbers, item) in enumerate(zip(idxs, layout.placed, strict=True)):
            at = place + self.job.slices[turn].begin // self.params.lanes * row_bytes
            request = Request(
                table=Table(address=at, rows=len(rows), row_bytes=row_bytes, stride=stride),
                idx_address=aligned(end),
                count=numbers.size,
                completion=COMPLETIONS + COMPLETION_BYTES * turn,
                destination=item.features,
                tag=turn,
            )
            self.requests.append(request)
            end = request.idx_address + numbers.nbytes
            if end > 1 << ROOM_BITS:
                raise RunFailed(f"{end:,} bytes do not fit host memory of {1 << ROOM_BITS:,}")
            if numbers.size:
                await self.host.write_memory(request.idx_address, numbers.tobytes())
                stale = bytes([STALE]) * (numbers.size * row_bytes)
                await self.memory.write_memory(self.place(item.features), stale)
        for vertex in np.unique(np.concatenate(idxs)).tolist():
            await self.host.write_memory(place + vertex * stride, rows[vertex].tobytes())

    @property
    def row_bytes(self) -> int:
        """Return the bytes of a frame's payload in a card's memory, which one row brings."""
        return payload_bytes(Kind.FEATURE, self.params.lanes)

    def rows(self, features: NDArray[np.int16]) -> NDArray[np.uint8]:
        """Return the rows of host memory: the slices of each vertex, of ``row_bytes`` each."""
        vertices, width = features.shape
        lanes = self.params.lanes
        padded = np.zeros((vertices, -(-width // lanes) * lanes), "<i2")
        padded[:, :width] = features
        rows = np.zeros((vertices, padded.shape[1] // lanes, self.row_bytes // LANE_BYTES), "<i2")
        rows[:, :, :lanes] = padded.reshape(vertices, -1, lanes)
        return rows.view(np.uint8)

    def place(self, address: int) -> int:
        """Return the address for DMA of one in the memory of features."""
        region, at, _ = self.regions["features"]
        return region + address - at

    async def start(self, setup: WorkerSetup, **named: Any) -> None:
        """Start a job of which no turn is ready."""
        await super().start(setup, ready=0, **named)

    async def wait(self) -> None:
        """Gather turn by turn, and wait for the job's end; RunFailed if the gather fails."""
        ring, requests = self.ring, self.requests
        assert ring is not None
        await self.engine.do(lambda _: ring.submit(*requests))
        for turn, request in enumerate(requests):
            try:
                await self.engine.run("wait", request)
            except GatherFailed as failed:
                raise RunFailed(f"worker {self.number}, turn {turn}: {failed}") from None
            await self.run("set_ready", turn + 1)
        await self.run("wait")

    async def compare(self) -> None:
        """Compare each gathered byte of the job with its features; RunFailed if one differs."""
        assert self.setup is not None
        for turn, request in enumerate(self.requests):
            frames = range(request.count)
            values = np.array([self.setup.payload(turn, seq) for seq in frames], np.int64)
            right = self.layout.payloads(turn, values.reshape(-1, self.params.lanes))
            octets = await self.memory.read_memory(self.place(request.destination), len(right))
            self.compared += len(right)
            differs = np.frombuffer(octets, np.uint8) != np.frombuffer(right, np.uint8)
            for byte in np.flatnonzero(differs)[:1].tolist():
                vertex = self.layout.placed[turn].turn.sends[byte // self.row_bytes].source
                raise RunFailed(
                    f"worker {self.number}, turn {turn}: byte {byte % self.row_bytes} of the row of"
                    f" vertex {vertex} is {octets[byte]:#x} in HBM, must be {right[byte]:#x}"
                )
