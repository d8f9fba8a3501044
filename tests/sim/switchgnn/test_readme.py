"""Checks that the README's example does what its text says."""

import re

import numpy as np

from sim.harness.cache import CHECKOUT
from sim.switchgnn.evaluation.execution import executed
from sim.switchgnn.golden.aggregation import aggregate

README = CHECKOUT / "sim/switchgnn/README.md"


def test_the_example_of_the_readme():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    names = {}
    exec(code, names)
    built = names["made"]
    assert (built.cut.n, built.cut.edges, built.plan.blocks) == (6, 10, 2)
    assert built.tables.program.tolist() == [[0, 2], [1, 2]]
    assert 0x8001 in built.tables.rows
    assert 0x10002 in built.tables.descriptors
    features = np.arange(18, dtype=np.int16).reshape(6, 3)
    result = executed(built.tables, names["adjacency"], names["workers"], features)
    assert (result == aggregate(names["adjacency"], features)).all()
