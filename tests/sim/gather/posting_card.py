"""Stands in for a card whose engine posts rows into host memory, as the golden model has them."""

from threading import enumerate as threads

import numpy as np

from sim.gather.golden.engine import Outcome, WorkRequest, carry_out
from sim.gather.golden.rows import Table
from tests.gen.software.gather_card import DESIGN, completion
from tests.gen.software.gather_card import Card as GatherCard

PARAMS = DESIGN.params_of("tiny", outputs="host", descriptors=2)
HOST_BYTES = 1 << 19


class Card(GatherCard):
    """Carries a request out when it is paused; ``outcomes`` are those of the next requests.

    ``carried`` are the requests that have ended, ``waiting`` those that have not.
    """

    def __init__(self):
        super().__init__(PARAMS)
        self.host = np.zeros(HOST_BYTES, np.uint8)
        self.waiting, self.carried, self.outcomes = [], [], []

    def take(self):
        sizes = (self.heard(name) for name in ("rows", "row_bytes", "stride"))
        request = WorkRequest(
            table=Table(self.heard_wide("base"), *sizes),
            completion_address=self.heard_wide("completion"),
            idx_bytes=8 if self.heard("wide") else 4,
            **{name: self.heard_wide(name) for name in ("idx_address", "destination")},
            **{name: self.heard(name) for name in ("count", "tag", "order", "posted")},
        )
        self.waiting.append(request)

    def pause(self):
        if not self.waiting:
            return
        request, beyond = self.waiting.pop(0), 0
        outcome = self.outcomes.pop(0) if self.outcomes else Outcome.DONE
        if outcome == Outcome.DONE:
            beyond = carry_out(self.host, self.host, request, PARAMS.idx_bits).beyond
        self.carried.append(request)
        end = completion(request.tag, outcome, beyond=beyond)
        self.write_memory(request.completion_address, end)

    def read_memory(self, address, size):
        return self.host[address : address + size].tobytes()

    def write_memory(self, address, data):
        self.host[address : address + len(data)] = np.frombuffer(data, np.uint8)


def producers():
    """Return the threads of pipelines that run."""
    return [thread for thread in threads() if thread.name.startswith("gather producer")]
