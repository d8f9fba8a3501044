"""Tests what is read of specifications, and what is said of mistakes."""

import pytest

from gen.base.errors import UserError
from gen.sweep.spec import Range, Spec, axes, flat, read_spec
from sim.harness.cache import CHECKOUT
from sim.workloads.matrices import FAMILIES

GOOD = """
design = "fake"
metrics = ["speed"]
[set]
inner.depth = 3
[grid]
size = [1, 2]
load = {from = 1, to = 3}
"""


def read(text, tmp_path, seed=None):
    path = tmp_path / "a.toml"
    path.write_text(text)
    return read_spec(path, seed)


def test_a_specification_is_read(tmp_path):
    spec, parsed = read(GOOD, tmp_path)
    assert (spec.design, spec.metrics, spec.clock_mhz) == ("fake", ["speed"], 250)
    assert dict(flat(spec.set)) == {"inner.depth": 3}
    result = dict(axes(spec.grid))
    assert result["size"] == [1, 2]
    assert isinstance(result["load"], Range)
    assert result["load"].values() == [1, 2, 3]
    assert parsed["grid"]["size"] == [1, 2]


EXAMPLES = sorted((CHECKOUT / "gen/sweep/examples").glob("*.toml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_need_no_file_beside_the_repository(example):
    spec, _ = read_spec(example)
    matrix = dict(flat(spec.set)).get("matrix")
    assert matrix is None or str(matrix).partition(":")[0] in FAMILIES


def test_one_table_or_more_are_zipped(tmp_path):
    for text in ("[zip]\na = [1]\n", "[[zip]]\na = [1]\n"):
        assert read(GOOD + text, tmp_path)[0].zip == [{"a": [1]}]


def test_names_of_inner_parts_may_have_a_range():
    assert dict(axes({"engine": {"banks": [4], "lanes": {"from": 1, "to": 2}}})).keys() == {
        "engine.banks",
        "engine.lanes",
    }


def test_kinds_of_values_are_kept():
    assert [type(v) for v in dict(axes({"a": [True, 1, 1.0, "x"]}))["a"]] == [bool, int, float, str]


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ({"from": 8, "to": 24, "step": 8}, [8, 16, 24]),
        ({"from": 0, "to": 1, "step": 0.25}, [0, 0.25, 0.5, 0.75, 1]),
        ({"from": 3, "to": 3}, [3]),
    ],
)
def test_ranges_have_values(table, values):
    assert Range.model_validate(table).values() == values


def test_a_seed_replaces_those_of_the_file(tmp_path):
    random = "[random]\npoints = 3\n[random.ranges]\nsize = [1, 2]\n"
    text = 'design = "fake"\nmetrics = ["speed"]\n' + random
    spec, parsed = read(text, tmp_path, 9)
    assert spec.random is not None
    assert spec.search is not None
    assert (spec.random.seed, spec.search.seed) == (9, 9)
    assert parsed["random"]["seed"] == 9
    assert read(text, tmp_path)[0].search is None


def test_it_has_a_json_schema():
    properties = Spec.model_json_schema()["properties"]
    assert properties["metrics"]["description"] == "measure these metrics of each point"


HEAD = GOOD.partition("[grid]")[0]
MISTAKES = [
    ("design = ", "is not TOML"),
    ('design = "fake"', "metrics: Field required"),
    ('design = "fake"\nmetrics = []', "metrics: "),
    ('design = "fake"\nmetrics = ["a", "a"]', "named twice"),
    (GOOD + "[gird]\na = [1]", "gird: there is no such setting"),
    (GOOD + "[random]\npoints = 1\n[random.ranges]\nsize = [1]", "random] alone"),
    (GOOD + "[[steps]]\nload = 1\n[random]\npoints = 1\n[random.ranges]\nsize = [1]", "alone"),
    (HEAD + "[zip]\na = [1]\n[random]\npoints = 1\n[random.ranges]\nsize = [1]", "alone"),
    (GOOD + "[search]\nfor = 1", "search.for: there is no such setting"),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_mistakes_are_a_line(text, words, tmp_path):
    with pytest.raises(UserError) as error:
        read(text, tmp_path)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        (3, "give a list"),
        ([], "size: "),
        ({"from": 3, "to": 1}, "is empty"),
        ({"from": 0, "to": 1, "log": True}, "above 0"),
        ({"from": 0, "to": 1, "setp": 1}, "there is no such setting"),
        ({"from": "a", "to": 1}, "valid"),
    ],
)
def test_axes_are_judged(axis, words):
    with pytest.raises(UserError) as error:
        list(axes({"size": axis}))
    assert words in str(error.value)
    assert str(error.value).startswith("size")


def test_a_range_that_cannot_be_counted_is_refused():
    with pytest.raises(ValueError, match="whole numbers or a step"):
        Range.model_validate({"from": 0.5, "to": 2}).values()


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_files_that_cannot_be_read(content, tmp_path):
    path = tmp_path / "a.toml"
    if content:
        path.write_bytes(content)
    with pytest.raises(UserError, match=r"no such file|is not TOML"):
        read_spec(path)
