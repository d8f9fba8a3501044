"""Trains on the simulated worker through its host package, as a program on a card would.

``python bench/run.py`` builds the Verilog and runs this on samples that are drawn. With
``+data=FILE.npz`` it trains on arrays X [samples, features] and y, of 0 and 1. Copy it for tests of
your own.
"""

from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge
from numpy.typing import NDArray
from p4sgd_worker_host import BUILD, Device, Quantiser, attach
from p4sgd_worker_host.simulated_worker import SimulatedWorker

SEED = 1
SAMPLES, BITS = 75, 4
HOW: dict[str, Any] = {"loss": "logistic", "batch": 16, "rate": 0.5, "epochs": 2}


@cocotb.test()
async def trains_as_the_golden_model_does(dut: Any) -> None:
    """Train on the RTL; compare the weights with those of the model in NumPy, bit for bit."""
    device = SimulatedWorker(dut, BUILD)
    await device.start()
    await bridge(program)(device)


def program(device: Device) -> None:
    """Do what a program does on a card: nothing here knows that ``device`` is simulated."""
    features, labels = data()
    quantiser = Quantiser.fit(features, BITS)
    worker = attach(device)
    worker.load(quantiser.encode(features), labels, bits=BITS, signed=quantiser.signed)
    worker.clear_counters()
    worker.run(**HOW)
    result = worker.weights()
    assert (result == worker.golden(np.zeros_like(result), **HOW)).all()
    assert result.any()
    print(
        f"all {result.size} weights equal the golden model's; {worker.counters()['cycles']} cycles"
    )


def data() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the features and labels of the file that is named, or drawn ones, for each class."""
    if file := cocotb.plusargs.get("data"):
        with np.load(str(file)) as arrays:
            return arrays["X"], arrays["y"]
    rng = np.random.default_rng(SEED)
    features = rng.random((SAMPLES, BUILD.geometry.lanes * BUILD.geometry.engines + 3))
    planes = rng.normal(size=BUILD.shape(features.shape[1]))
    return features, (planes @ features.T > 0).astype(int)
