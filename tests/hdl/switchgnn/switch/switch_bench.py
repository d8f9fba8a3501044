""""""

import random

import numpy as np

from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup, Step


def setup_of(params, rows, expected, port=lambda k: 0, depth=16):
    """Return a job of all ports and one block, whose aggregators expect this much each."""
    block = {k: Descriptor(expected, port(k)) for k in range(params.banks * depth)}
    return JobSetup(
        ports=(1 << params.ports) - 1,
        banks=params.banks,
        depth=depth,
        window=params.window,
        blocks=[block],
        program=[Step(0, 1 << 20)],
        rows=rows,
    )


def feature(params, port, seq, first, rows):
    lanes = [random.randrange(-(1 << 15), 1 << 15) for _ in range(params.lanes)]
    return Frame(
        kind=Kind.FEATURE,
        turn=0,
        seq=seq,
        list=first,
        rows=rows,
        bm=1 << port,
        job=0,
        epoch=1,
        payload=np.array(lanes),
    )


def workers_of(cuts, epoch=7):
    return {
        port: cut.worker(port, number, epoch + number)
        for number, (cut, _) in cuts.items()
        for port in cut.ports
    }


def check(cuts, workers):
    for cut, _ in cuts.values():
        cut.check({port: workers[port] for port in cut.ports})
