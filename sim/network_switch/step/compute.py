"""States the cycles of a worker's compute, by a formula: products of matrices, nothing else."""

from sim.switchgnn.gcn.network import Network

#: Names the formula; ReLU, softmax, scaling and the change of weights are not counted.
FORMULA = "cycles = ceil(V m / R): V vertices of the largest share, m multiply-adds of a vertex"


def multiply_adds(network: Network) -> list[int]:
    """Return the multiply-adds of a vertex before each aggregation of an epoch, then the rest.

    A layer's product is X W forward; backward it is X^T G for the weights, and G W^T for the layer
    below, if there is one.
    """
    result, waiting = [], 0
    layers = network.layers
    for layer in layers:
        product = layer.inputs * layer.outputs
        before = 0 if layer.aggregates_first else product
        result.append(waiting + before)
        waiting = product - before
    for number, layer in reversed([*enumerate(layers)]):
        product = layer.inputs * layer.outputs
        if not layer.aggregates_first:
            result.append(waiting)
            waiting = 0
        waiting += product if number == 0 else 2 * product
        if number and layer.aggregates_first:
            result.append(waiting)
            waiting = 0
    return [*result, waiting]


def compute_cycles(network: Network, vertices: int, rate: int) -> list[int]:
    """Return the cycles by FORMULA in each place of :func:`multiply_adds`.

    ``vertices`` is V, ``rate`` is R, the multiply-adds of a cycle.
    """
    return [-(-vertices * count // rate) for count in multiply_adds(network)]
