"""Sets up gathers of SNICs on cards."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, lil_array

from gen.base.settings import make_params
from gen.designs.catalogue import find_design
from sim.netsparse.host.snic.snic import Table
from sim.surroundings.card.cards import CardsParams
from tests.sim.netsparse.cases import make_gather

SNIC = make_params(
    find_design("netsparse-snic").params_class,
    find_design("netsparse-snic").presets["tiny"] | {"address_bits": 40},
)
NODES = 2
CARDS = CardsParams(cards=(("snic", SNIC),) * NODES, fibres=(((0, 0), (1, 0)),))
LINE_BYTES = 64
LINE_IDXS = 8 * LINE_BYTES  #: of which a line of the idx filter knows


def small_gather():
    """Gather some hundred idxs; each node has a unit that asks and a unit that serves.

    The idxs lie in more lines of the idx filter than its cache holds, two in each, and come twice:
    the second time, what was written to the SNIC's memory says that they are there.
    """
    rng = np.random.default_rng(1)
    lines = 3 * SNIC.filter_cache_bytes // LINE_BYTES
    rows = lines * LINE_IDXS
    matrix = lil_array((NODES * rows, NODES * rows))
    starts = np.arange(lines) * LINE_IDXS
    for node in range(NODES):
        low, high = rng.integers(LINE_IDXS // 2, size=(2, lines)) + starts
        for row, columns in enumerate((low, high + LINE_IDXS // 2, [*low, *high + LINE_IDXS // 2])):
            matrix[node * rows + row, (1 - node) * rows + np.sort(columns)] = 1
    return make_gather(rng, csr_array(matrix), NODES, 16, 1, 1, property_address=36)


async def set_up(snic, node, gather):
    job = gather.job(SNIC).nodes[node]
    await snic.set_up(
        node,
        gather.partition.boundaries,
        servers=job.servers,
        served=Table(address=snic.base + job.served_address, row_bytes=job.served_bytes),
        filter_address=job.filter_address,
    )
    await snic.board.write(interrupt_enable=1)
    return [
        replace(
            request,
            idx_address=snic.base + request.idx_address,
            property_address=snic.base + request.property_address,
        )
        for queue in job.requests
        for request in queue
    ]
