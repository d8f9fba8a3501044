"""Checks what METIS leaves behind; parts are tested where they are used."""

import os
import signal
from threading import Event, Timer

import numpy as np
import pytest
from scipy.sparse import csr_array

from sim.workloads.metis import metis


def test_a_signal_ends_what_waits_after_metis() -> None:
    """METIS puts back the handler of SIGTERM such that calls of the system go on behind it."""

    class Ended(Exception):
        pass

    def end(*_: object) -> None:
        raise Ended

    def close() -> None:
        late.set()
        os.close(write)

    (read, write), late = os.pipe(), Event()
    before = signal.signal(signal.SIGTERM, end)
    timers = [Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)), Timer(10, close)]
    try:
        metis(csr_array(np.roll(np.eye(8), 1, 0) + np.roll(np.eye(8), -1, 0)), 2, 1)
        for timer in timers:
            timer.start()
        with pytest.raises(Ended):
            os.read(read, 1)
        assert not late.is_set()
    finally:
        signal.signal(signal.SIGTERM, before)
        timers[1].cancel()
