"""Makes a job of a single worker, which sends features and gets their sums."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hdl.switchgnn.endpoint.params import EndpointParams
from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup, Step
from sim.switchgnn.golden.worker_rule import Contribution, Share, WorkerSetup


class EndpointJob:
    """Describes a job: ``features`` in each of ``turns``, every ``fan_in`` of which are added to a
    sum.

    Raises ValueError if the endpoint has fewer aggregators than there are sums.
    """

    def __init__(
        self, params: EndpointParams, *, features: int, turns: int, fan_in: int, seed: int
    ) -> None:
        self.params, self.turns, self.fan_in = params, turns, fan_in
        self.sums = -(-features // fan_in)
        if self.sums > params.aggregators:
            raise ValueError(
                f"{features} features, {fan_in} to a sum, need {self.sums} aggregators;"
                f" the endpoint has {params.aggregators}"
            )
        rng = np.random.default_rng(seed)
        self.payloads = rng.integers(-(1 << 15), 1 << 15, (turns, features, params.lanes))

    @cached_property
    def worker(self) -> WorkerSetup:
        """Return what the worker is told of the job."""
        count = self.payloads.shape[1]
        sends = [Contribution(Kind.FEATURE, k // self.fan_in, 1) for k in range(count)]
        share = Share(sends, range(self.sums))
        return WorkerSetup(
            turns=self.turns,
            window=self.params.window,
            share=lambda turn: share,
            payload=lambda turn, seq: self.payloads[turn, seq],
        )

    @cached_property
    def switch(self) -> JobSetup:
        """Return what the switch is told: a list of one row for each sum."""
        banks, count = self.params.banks, self.payloads.shape[1]
        rows = []
        for k in range(self.sums):
            index, bank = divmod(k, banks)
            rows.append([index if b == bank else None for b in range(banks)])
        expected = [min(self.fan_in, count - k * self.fan_in) for k in range(self.sums)]
        return JobSetup(
            ports=1,
            banks=banks,
            depth=-(-self.sums // banks),
            window=self.params.window,
            ack_every=4,
            blocks=[{k: Descriptor(of, 0) for k, of in enumerate(expected)}],
            program=[Step(0, self.turns)],
            rows=rows,
        )

    def golden(self, turn: int, number: int) -> NDArray[np.int64]:
        """Return the sum with this number in a turn."""
        first = number * self.fan_in
        return self.payloads[turn, first : first + self.fan_in].sum(axis=0)
