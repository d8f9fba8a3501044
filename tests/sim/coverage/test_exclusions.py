import pytest

from sim.coverage.data import CoverageError, Place, Toggle
from sim.coverage.exclusions import read_rules
from tests.sim.coverage.sample import rule

GOOD = {"kind": "toggle", "component": "*", "what": "clock", "reason": "it ticks"}


def write(folder, table):
    path = folder / "rules.toml"
    path.write_text("[[rule]]\n" + "".join(f"{key} = {value!r}\n" for key, value in table.items()))
    return path


def test_reviewed_rules_can_be_read():
    rules = read_rules()
    assert all(len(result.reason) > 20 for result in rules)
    assert len({(result.component, result.what) for result in rules}) == len(rules)


def test_toggles_by_signal_and_bit():
    upper = rule(kind="toggle", signal="count|.*_address", from_bit=4)
    assert upper.takes_toggle(Toggle("count", 4, True))
    assert upper.takes_toggle(Toggle("read_address", 9, False))
    assert not upper.takes_toggle(Toggle("count", 3, True))
    assert not upper.takes_toggle(Toggle("counts", 4, True))
    assert not upper.takes_place(Place(1, 1, "if", ""), "count")


def test_toggles_of_lower_bits():
    within = rule(kind="toggle", signal="address", to_bit=5)
    assert within.takes_toggle(Toggle("address", 5, True))
    assert not within.takes_toggle(Toggle("address", 6, True))


def test_second_signal_of_a_name():
    upper = rule(kind="toggle", signal="settings\\.epochs|count")
    assert upper.takes_toggle(Toggle("settings$37.epochs", 4, True))
    assert upper.takes_toggle(Toggle("count$2", 4, True))
    assert not upper.takes_toggle(Toggle("$2", 4, True))


def test_constant_toggles():
    tied = rule(kind="toggle", nature="constant")
    assert not tied.takes_toggle(Toggle("count", 4, True), "again")
    assert tied.takes_toggle(Toggle("count", 4, True), "constant")
    assert not tied.takes_toggle(Toggle("count", 4, True))


def test_places_by_text_and_side():
    default = rule(kind="line", text=r"\bdefault:", side="case")
    assert default.takes_place(Place(1, 1, "case", "1"), "  default:")
    assert not default.takes_place(Place(1, 1, "if", "1"), "  default:")
    assert not default.takes_place(Place(1, 1, "case", "1"), "  3'h1:")
    assert not default.takes_toggle(Toggle("default", 0, True))


def test_component_pattern():
    chosen = read_rules()[0]
    assert chosen.is_for("hdl.common.fifo.Fifo")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reason": ""}, "rule 1: no reason"),
        ({"kind": "branch"}, "rule 1: kind is line or toggle: 'branch'"),
        ({"nature": "tied"}, "rule 1: nature is constant, again or unread: 'tied'"),
        ({"nature": "unread"}, "rule 1: name the signal that nothing reads"),
        ({"bits": 3}, "rule 1: bits is not one of kind, component, what, reason, signal"),
        ({"signal": "("}, "rule 1: not a regular expression: missing"),
    ],
)
def test_rejects(tmp_path, change, message):
    with pytest.raises(CoverageError, match=message):
        read_rules(write(tmp_path, GOOD | change))


def test_rejects_what_is_no_toml(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]\n")
    with pytest.raises(CoverageError, match=r"rules\.toml: "):
        read_rules(path)
