"""Sets up switches and workers of a SwitchGNN job, of which a system says only which tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.worker_rule import Share, WorkerSetup
from tests.protocol.switchgnn.nodes import FAULTS, Rules, SwitchNode, WorkerNode
from tests.protocol.unordered import Unordered

DIGIT_BITS = 4  # of a sum: how often it has a contribution


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Turns, windows, and what is late; a system of a class that derives from it has nodes."""

    turns: int = 2
    window: int = 1
    open_turns: int = 1
    late_loads: bool = False
    late_sums: bool = False
    doubles: bool = True
    run: int = 0  # of the job: each has features of its own
    rules: Rules = field(default_factory=Rules)
    watched: frozenset[str] = FAULTS

    @property
    def sources(self) -> int:
        """Return the number of vertices that have features."""
        raise NotImplementedError

    @property
    def nodes(self) -> list[SwitchNode | WorkerNode]:
        """Return the switches, then the workers."""
        raise NotImplementedError

    def block(self, turn: int) -> int:
        """Return which block of edges a turn has."""
        return 0

    def feature(self, turn: int, source: int) -> Any:
        """Return the feature of a source in a turn."""
        before = self.run * self.turns + turn
        return 1 << DIGIT_BITS * (before * self.sources + source)

    def job(self, **tables: Any) -> JobSetup:
        """Return a switch's job, with these tables."""
        return JobSetup(window=self.window, open_turns=self.open_turns, **tables)

    def switch(
        self, name: str, setup: JobSetup, peers: Mapping[int, tuple[int, int]]
    ) -> SwitchNode:
        """Return a switch with the nodes behind its ports."""
        return SwitchNode(
            name=name,
            setup=setup,
            turns=self.turns,
            peers=peers,
            rules=self.rules,
            watched=self.watched,
            late_loads=self.late_loads,
            late_sums=self.late_sums,
        )

    def worker(
        self,
        name: str,
        peer: tuple[int, int],
        shares: Sequence[Share],
        right_sum: Callable[[int, int], int],
    ) -> WorkerNode:
        """Return a worker with its share of each block, and the sums that it must get."""

        def share(turn: int) -> Share:
            return shares[self.block(turn)]

        setup = WorkerSetup(
            turns=self.turns,
            window=self.window,
            open_turns=self.open_turns,
            share=share,
            payload=lambda turn, seq: self.feature(turn, share(turn).sends[seq].source),
        )
        return WorkerNode(
            name=name,
            setup=setup,
            peer=peer,
            right_sum=right_sum,
            right_copy=self.feature,
            rules=self.rules,
            watched=self.watched,
        )

    def system(self, rules: Rules | None = None, watched: frozenset[str] = FAULTS) -> Unordered:
        """Return all nodes on a network."""
        setup = replace(self, rules=rules or Rules(), watched=watched)
        return Unordered(setup.nodes, self.doubles)
