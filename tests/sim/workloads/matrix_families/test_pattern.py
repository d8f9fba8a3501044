import numpy as np
import pytest

from sim.workloads.files import InputError
from sim.workloads.matrix_families.pattern import assembled, check_at_least, check_shares


def test_assembled_merges_repeats() -> None:
    rows, columns = np.array([2, 0, 2, 2, 0]), np.array([1, 2, 0, 1, 2])
    matrix = assembled(rows, columns, 3, seed=1)
    assert matrix.indptr.tolist() == [0, 1, 1, 3]
    assert matrix.indices.tolist() == [2, 0, 1]
    assert ((matrix.data >= 1) & (matrix.data <= 9)).all()  # not the sum of the repeats
    assert matrix.data.dtype == np.int32


def test_checks() -> None:
    check_at_least(1, nodes=1, rows=2)
    check_shares(stored=0, stray=1)
    with pytest.raises(InputError, match="rows must be at least 1, not 0"):
        check_at_least(1, nodes=1, rows=0)
    with pytest.raises(InputError, match=r"stray must be between 0 and 1, not -0\.1"):
        check_shares(stored=0.5, stray=-0.1)
