"""Makes the test that a component is simulated at each of its sizes."""

import pytest

from sim.harness.verilator import simulate
from tests.long import short_and_long


def simulated(
    kind, sizes, module, *, short=None, each=False, ids=lambda params: params.suffix, **options
):
    """Return a test that runs the cocotb tests of ``module`` on a ``kind`` of each of ``sizes``.

    A dictionary names its sizes, in the tests and in ``short``: from these each commit draws one,
    all unless given; with ``each`` it runs them all, as there are planted mistakes that some sizes
    do not find. ``options`` go to :func:`simulate`.
    """
    short = list(sizes if short is None else short)
    if isinstance(sizes, dict):
        short, ids, sizes = [sizes[name] for name in short], list(sizes), sizes.values()

    @pytest.mark.parametrize("params", short_and_long(sizes, short), ids=ids)
    def test(params):
        simulate(kind(params), module, **options)

    return pytest.mark.each_size(test) if each else test
