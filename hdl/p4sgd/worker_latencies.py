"""Computes the latencies of a worker's parts around the training loop."""

from hdl.p4sgd.core.engine_chain import EngineChain
from hdl.p4sgd.core.engine_set import EngineSet
from hdl.p4sgd.core.partial_sum import PartialSum
from hdl.p4sgd.core.training_core import TrainingCore
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.params import LABEL_BITS, PORT_BITS
from hdl.p4sgd.engine.tile_engine import TileEngine
from hdl.p4sgd.loss.loss_unit import LossUnit
from hdl.p4sgd.network.model_exchange import ModelExchange
from hdl.p4sgd.transport.transport import Transport
from hdl.p4sgd.worker_params import WorkerParams

OF_CLASSES = "deltas and partials of several classes, one after the other"  #: a key
OVER_DIES = "deltas to engines of other dies, and their partials back"  #: a key


def worker_latencies(params: WorkerParams) -> dict[str, int]:
    """Return the number of cycles of each part of the training loop, by its description."""
    partial_sum = PartialSum(params).latency
    exchange = ModelExchange(params)
    engine = TileEngine if params.movers else Engine
    latencies = engine(params.engine).latencies | {
        "partials to deltas, linear and hinge": partial_sum + LossUnit.latency,
        "partials to deltas, logistic": partial_sum + LossUnit.logistic_latency,
        "deltas to the engines of the first die": TrainingCore.deltas_latency,
        "partial activation to its last frame": Transport.send_latency + exchange.send_latency,
        "last frame to full activation": Transport.receive_latency + exchange.receive_latency,
    }
    if params.classes > 1:
        beats = -(-params.engine.banks * LABEL_BITS // PORT_BITS)  # of a class's labels
        latencies[OF_CLASSES] = EngineSet.latency + (params.classes - 1) * beats
    if params.slrs > 1:
        latencies[OVER_DIES] = EngineChain(params).latency - TrainingCore.deltas_latency
    return latencies
