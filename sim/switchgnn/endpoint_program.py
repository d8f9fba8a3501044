"""Runs the host software of SwitchGNN's endpoint for a worker of a job."""

from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdl.switchgnn.endpoint.params import EndpointParams
from sim.harness.host_program import HostProgram
from sim.switchgnn.endpoint_side import Regions, endpoint_side
from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.worker_rule import Share, WorkerSetup
from sim.switchgnn.host.endpoint import JobFailed
from sim.switchgnn.host.turns import Layout, Send, Turn
from sim.switchgnn.switch_program import bits_of
from sim.switchgnn.wire import SWITCH

Sums = dict[tuple[int, int], NDArray[np.integer]]  #: sums by turn and number
TIMERS = MappingProxyType({"send": 700, "fetch": 1500, "gap": 20, "done": 900})
GAP = 64  #: bytes that ``memory`` reads while another read begins


class EndpointProgram(HostProgram):
    """Runs jobs that golden setups describe, as the worker at ``port``, with its ``address``.

    ``memory`` reads and writes what is in ``regions``, which are those of a card by default.
    """

    def __init__(
        self,
        dut: Any,
        params: EndpointParams,
        port: int,
        *,
        bus: Any,
        memory: Any,
        address: bytes,
        regions: Regions | None = None,
    ) -> None:
        super().__init__(dut, bus, endpoint_side(params, regions), memory)
        self.params, self.port, self.memory, self.address = params, port, memory, address

    @property
    def layout(self) -> Layout:
        """Return where the job is that was loaded last."""
        return self.program.layout

    async def set_up(self, **timers: int) -> None:
        """Set addresses, and timers, some of which are not those of TIMERS."""

        def set_up(program: Any) -> None:
            program.gap = GAP
            program.set_addresses(self.address, SWITCH)
            program.set_timers(**{**TIMERS, **timers})

        await self.do(set_up)

    async def load(self, setup: WorkerSetup, after: Layout | None = None) -> Layout:
        """Lay a job out in memory with its payloads; ValueError if the memory is too small."""
        layout = await self.run("load", turns_of(setup), after)
        await self.write_features(setup, layout)
        return layout

    async def write_features(self, setup: WorkerSetup, layout: Layout) -> None:
        """Write the payloads of a job that is in memory, and is the one to start from now on."""

        def write(program: Any) -> None:
            program.use(layout)
            for turn, placed in enumerate(layout.placed):
                frames = range(len(placed.turn.sends))
                values = np.array([setup.payload(turn, seq) for seq in frames], int)
                program.write_payloads(turn, values.reshape(len(frames), self.params.lanes))

        await self.do(write)

    async def start(self, setup: WorkerSetup, **named: Any) -> None:
        """Start a job that is in memory, as :meth:`Endpoint.start` does."""
        await self.run("start", port=self.port, two=setup.open_turns == 2, **named)

    async def ends(self) -> str:
        """Wait for the job's end; return FINISHED, IDLE if it was stopped, or why it failed."""
        try:
            await self.run("wait")
        except JobFailed as failed:
            return failed.cause
        return "FINISHED"

    async def sums(self) -> Sums:
        """Return all sums, by turn and aggregator."""
        return await self.do(partial(self._rows, "sums"))

    async def copies(self) -> Sums:
        """Return all copies, by turn and vertex."""
        return await self.do(partial(self._rows, "copies"))

    def _rows(self, name: str, program: Any) -> Sums:
        turns, rows = range(len(self.layout.placed)), getattr(program, name)
        return {(turn, item): row for turn in turns for item, row in rows(turn).items()}


def turns_of(setup: WorkerSetup) -> list[Turn]:
    """Return a golden worker's job as the host software has it."""
    shares = [setup.share(turn) for turn in range(setup.turns)]
    turns = {key: turn_of(share) for key, share in {id(each): each for each in shares}.items()}
    return [turns[id(share)] for share in shares]


def turn_of(share: Share) -> Turn:
    """Return a worker's share of a turn."""
    return Turn(
        sends=[
            Send(
                list=sent.list,
                rows=sent.rows,
                source=sent.source,
                copy_to=[*bits_of(sent.raw)],
                partial=sent.kind is Kind.PARTIAL,
            )
            for sent in share.sends
        ],
        sums=share.sums,
        copies={copy.source: copy.owner for copy in share.copies},
    )
