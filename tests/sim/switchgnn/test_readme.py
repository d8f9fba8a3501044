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
    made = names["made"]
    assert (made.cut.n, made.cut.edges, made.plan.blocks) == (6, 10, 2)
    assert made.tables.program.tolist() == [[0, 2], [1, 2]]
    assert 0x8001 in made.tables.rows
    assert 0x10002 in made.tables.descriptors
    features = np.arange(18, dtype=np.int16).reshape(6, 3)
    found = executed(made.tables, names["adjacency"], names["workers"], features)
    assert (found == aggregate(names["adjacency"], features)).all()
