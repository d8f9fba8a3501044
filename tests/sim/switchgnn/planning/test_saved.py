"""Checks the file of every step: it is whole, checked, and the same bytes again."""

import numpy as np
import pytest

from gen.base.errors import UserError
from sim.switchgnn.planning.cover import RackCover, rack_cover
from sim.switchgnn.planning.plan import Plan
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.saved import Saved, places, starts
from sim.switchgnn.planning.shape import SwitchShape
from tests.sim.switchgnn.cases import directed

SHAPE = SwitchShape(ports=3, banks=2, depth=10, lanes=4)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the files of all steps, and of the same steps once more."""
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "again")]
    for folder in folders:
        built = prepare(*directed(), SHAPE, [6], theta=2)
        built.save(folder)
        rack_cover(built.cut, [0, 0, 1]).save(folder / "cover.npz")
    return [*built.steps.values(), rack_cover(built.cut, [0, 0, 1])], folders


def test_each_step_reads_back_what_it_wrote(saved):
    steps, (folder, _) = saved
    schemas = [type(step).schema for step in steps]
    assert len(set(schemas)) == len(schemas) == len(list(folder.iterdir()))
    for path in folder.iterdir():
        schema = str(np.load(path)["schema"])
        (step,) = (step for step in steps if step.schema == schema)
        result = type(step).load(path)
        for name, value in vars(step).items():
            if name in type(step).__dataclass_fields__:
                np.testing.assert_array_equal(getattr(result, name), value)


def test_the_same_steps_are_the_same_bytes(saved):
    _, (item, again) = saved
    for path in item.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


def plan(**changes):
    block, level = np.zeros(3, np.int32), np.ones(1, np.int32)
    return {"kind": "test", "aggregators": 2, "block": block, "level": level} | changes


def written(path, schema=Plan.schema, **changes):
    np.savez(path, schema=schema, **plan(**changes))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schema": "switchgnn.plan/0"},
            "the schema is switchgnn.plan/0, must be switchgnn.plan/1",
        ),
        ({"extra": np.zeros(1)}, "switchgnn.plan/1 has other arrays than the file: extra"),
        ({"block": np.zeros(3)}, "block must be 1-dimensional int32, not 1-dimensional float64"),
        ({"level": np.zeros((1, 1), np.int32)}, "level must be 1-dimensional int32, not 2-dim"),
        ({"aggregators": 1.5}, "aggregators must be an integer or a text"),
        ({"block": np.full(3, 1, np.int32)}, "every block of a plan has edges"),
    ],
)
def test_a_file_of_other_content(tmp_path, changes, message):
    path = written(tmp_path / "plan.npz", **changes)
    with pytest.raises(UserError, match=f"plan.npz: {message}"):
        Plan.load(path)


def test_a_file_is_whole_or_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        Plan(**plan()).save(tmp_path / "missing" / "plan.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        Plan(**plan()).save(tmp_path / "folder")
    Plan(**plan()).save(tmp_path / "plan.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "plan.npz"]


def test_places_and_starts():
    assert starts(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert places(np.array([1, 0, 1, 1, 0])).tolist() == [0, 0, 1, 2, 1]


def test_all_steps_have_a_schema():
    assert all(step.schema.endswith("/1") for step in (*Saved.__subclasses__(), RackCover))
