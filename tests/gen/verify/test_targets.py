import pytest

from gen.base.errors import UserError
from gen.verify.targets import EVERYTHING, targets
from sim.harness.cache import CHECKOUT
from tests.rejects import refuses


def of(*names):
    return targets(CHECKOUT, names)


def folders(paths):
    return {path.rpartition("/")[0] for path in paths}


def test_a_design_is_the_packages_of_its_components():
    worker = of("p4sgd-worker")
    assert {"tests/hdl/p4sgd/engine/test_bank.py", "tests/hdl/common/test_fifo.py"} <= set(worker)
    assert not any("netsparse" in path or "p4sgd/switch" in path for path in worker)
    assert {"tests/hdl/switch/test_frame_filter.py"} <= set(worker)
    assert {"tests/hdl/p4sgd/switch", "tests/hdl/switch"} <= folders(of("p4sgd-switch"))
    snic = folders(of("netsparse-snic"))
    assert {"tests/hdl/netsparse/rig", "tests/hdl/netsparse/concat"} <= snic
    assert not any("p4sgd" in folder for folder in snic)


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("hdl.p4sgd.engine.bank", ["tests/hdl/p4sgd/engine/test_bank.py"]),
        ("hdl.p4sgd.engine.bank.Bank", ["tests/hdl/p4sgd/engine/test_bank.py"]),
        ("./hdl/p4sgd/engine/bank.py", ["tests/hdl/p4sgd/engine/test_bank.py"]),
        ("hdl.p4sgd", ["tests/hdl/p4sgd"]),
        ("hdl/common/", ["tests/hdl/common"]),
        ("tests/hdl/common", ["tests/hdl/common"]),
        ("tests/sim/p4sgd/test_train.py::test_x[1]", ["tests/sim/p4sgd/test_train.py::test_x[1]"]),
    ],
)
def test_components_and_paths(name, paths):
    assert of(name) == paths


def test_a_component_without_tests_of_its_own_has_those_of_its_package():
    assert of("hdl.p4sgd.switch.slot_rule.SlotRule") == ["tests/hdl/p4sgd/switch"]


def test_nothing_named_is_everything_and_nothing_is_twice():
    assert of() == list(EVERYTHING)
    assert of("hdl.p4sgd.engine.bank", "hdl.p4sgd.engine.bank.Bank") == [
        "tests/hdl/p4sgd/engine/test_bank.py"
    ]


test_the_nearest_of_what_there_is = refuses(
    of,
    ("p4sgd-wroker", "did you mean p4sgd-worker"),
    ("hdl.p4sgd.bnak", "did you mean hdl.p4sgd.engine.bank"),
    ("tests/hdl/common/test_fifi.py", "did you mean tests/hdl/common/test_fifo.py"),
    ("zzzzz", "'zzzzz'; name a design of `ingather list`, a component"),
    ("hdl.p4sgd.engine.bank.Bank.more", "nothing to verify is called"),
    ("", "nothing to verify"),
    ("tests/../gen", "nothing to verify"),
    error=UserError,
)


def test_without_a_checkout(tmp_path):
    with pytest.raises(UserError, match="checkout"):
        targets(tmp_path, [])
