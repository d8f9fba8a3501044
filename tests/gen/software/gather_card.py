"""Stands in for a card with a gather engine, and says by golden models what requests bring."""

import struct

from gen.designs.catalogue import find_design
from gen.software.gather_engine import software
from hdl.gather.engine_params import CHUNK
from sim.gather.golden.engine import Outcome, WorkRequest, carry_out, rows_of
from sim.gather.golden.rows import Table as GoldenTable
from sim.gather.golden.rows import reads
from sim.gather.host.request import Completion, Request, Table, check_request
from sim.golden.pcie_link import LINE, aligned, cut_at, merged, naive
from tests.gen.software.fake_card import FakeCard

DESIGN = find_design("gather-engine")
SMALL = DESIGN.params_of("small")
TABLE = Table(address=0x4000, rows=50, row_bytes=8, stride=12)
REQUEST = Request(
    table=TABLE, idx_address=0x1000, count=3, completion=0x2000, destination=64, tag=9
)
ORDERS = ("MERGED", "ALIGNED", "NAIVE", "FOURTH")  #: by their numbers; there is no fourth one


def reads_of(work, idxs):
    """Return address and bytes of each read of the link for a golden request with these idxs."""
    order = (merged, aligned, naive)[work.order]
    start, end = work.idx_address, work.idx_address + work.count * work.idx_bytes
    cuts = [] if work.on_card else cut_at(start, end, CHUNK if order is merged else LINE)
    return [(a, b - a) for a, b in cuts] + reads(work.table, idxs, order)


def carried_out(request, host, device, build):
    """Return completion, rows and reads of a request that golden models carry out on ``device``.

    Memories are uint8 from address 0 on. The package refuses a request just if the model does, or
    if its stride is too large.
    """
    work, fixed = golden(request), build.fixed
    legal = work.legal(fixed["idx_bits"], len(device))
    legal = legal and work.table.stride < 1 << fixed["stride_bits"]
    try:
        check_request(request, build)
        assert legal, request
    except ValueError:
        assert not legal, request
        return Completion(request.tag, "ILLEGAL", "NONE", 0, 0), [], []
    rows, built = rows_of(host, device, work), reads_of(work, work.idxs(host, device))
    beyond = carry_out(host, device, work, fixed["idx_bits"]).beyond
    return Completion(request.tag, "DONE", "NONE", beyond, 0), rows, built


def completion(tag, outcome, cause=0, beyond=0, failed=0):
    """Return the 16 bytes that a request leaves in host memory when it has ended."""
    return struct.pack("<HBxIII", tag, outcome | cause << 4, beyond, failed, 1 << 31)


def golden(request):
    """Return a request of the host package as the golden models have it."""
    table, fields = request.table, dict(vars(request))
    fields["completion_address"] = fields.pop("completion")
    return WorkRequest(
        **fields
        | {
            "table": GoldenTable(table.address, table.rows, table.row_bytes, table.step),
            "destination": 0 if request.streamed else request.destination,
            "order": ORDERS.index(request.order),
        }
    )


class Card(FakeCard):
    """A card with an engine whose requests end as ``ends`` says, then as DONE."""

    def __init__(self, params=SMALL):
        super().__init__(software(params), submit=self.take)
        self.ends, self.taken, self.waits = [], [], 0

    def take(self):
        place = self.heard_wide("completion")
        self.taken.append(place)
        end = self.ends.pop(0) if self.ends else (Outcome.DONE,)
        if end:
            self.write_memory(place, completion(self.heard("tag"), *end))

    def wait_interrupt(self, seconds):
        """Let the last request end with the second interrupt."""
        self.waits += 1
        if self.waits == 2:
            self.write_memory(self.taken[-1], completion(9, Outcome.DONE))
        return True

    def read_card(self, address, size):
        """Return bytes that tell their addresses."""
        return bytes(at % 256 for at in range(address, address + size))
