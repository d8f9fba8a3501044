"""Shows training runs on the page."""

import json
import re

import pytest

from gen.report.training_section import duration, training_section
from tests.gen.report import sample


def figures(html):
    return [json.loads(text) for text in re.findall(r'class="figure">(.*?)</script>', html)]


def test_curves_of_three_sources():
    loss, accuracy = figures(training_section([("a", sample.training(3))]).html)
    assert [trace["name"] for trace in loss["data"]] == ["float64 SGD", "golden model", "RTL"]
    assert loss["data"][2]["x"] == [1, 2, 3]
    assert loss["data"][2]["y"] == [0.5, 0.25, 0.5 / 3]
    assert loss["data"][1]["y"][0] == 0.5625
    assert loss["data"][0]["y"][0] == 0.625
    assert accuracy["data"][2]["y"] == [0.7, 0.85, 0.9]
    assert loss["layout"]["yaxis"]["title"]["text"] == "training loss"


def test_a_run_without_accuracy():
    run = sample.training(2)
    for epoch in run["epochs"]:
        epoch.update({name: None for name in epoch if name.endswith("accuracy")})
    assert len(figures(training_section([("a", run)]).html)) == 1


def test_a_run_with_test_samples_has_their_curves_too():
    run = sample.training(2)
    for epoch in run["epochs"]:
        epoch.update({f"{source}_test_loss": 0.75 for source in ("rtl", "golden", "float")})
        epoch.update({f"{source}_test_accuracy": 0.625 for source in ("rtl", "golden", "float")})
    section = training_section([("a", run)]).html
    loss, _ = figures(section)
    assert [trace["name"] for trace in loss["data"]][3:] == [
        "float64 SGD, test",
        "golden model, test",
        "RTL, test",
    ]
    assert loss["data"][5]["y"] == [0.75, 0.75]
    assert loss["layout"]["yaxis"]["title"]["text"] == "training and test loss"
    assert '<th class="n">of test</th>' in section
    assert '<td class="n">62.50%</td>' in section


def test_learning_rate_and_order_are_shown_and_what_went_wrong():
    run = sample.training() | {"warnings": ["the loss ends at 16, above the 0.69 of no model"]}
    section = training_section([("a", run)]).html
    assert "eta 0.427 (from the data); shuffled; preset" in section
    assert '<p class="bad">the loss ends at 16, above' in section
    assert '"dtick":1' in section
    assert '<th class="n">accuracy</th>' in section


def test_what_is_kept_of_an_early_stop_is_shown():
    run = sample.training(4, kept_epoch=2)
    run["workload"] |= {"eta_schedule": "inverse", "eta_period": 10}
    section = training_section([("a", run)]).html
    assert f'<td class="n">{run["epochs"][1]["rtl_loss"]:.4f}</td>' in section
    assert f'<td class="n">{run["epochs"][3]["rtl_loss"]:.4f}</td>' not in section
    assert "Counters of epoch 2<" in section
    assert "(from the data), inverse, period 10; shuffled" in section


def test_runs_stand_in_one_table():
    html = training_section([("one", sample.training()), ("two", sample.training())]).html
    assert html.index(">one<br>") < html.index(">two<br>")
    assert ">1,797 x 64</span></td>" in html


def test_the_curves_of_all_runs_share_a_chart():
    short, long = sample.training(2), sample.training(3)
    loss, accuracy, *apart = figures(training_section([("one", short), ("two", long)]).html)
    assert [(trace["name"], trace["x"]) for trace in loss["data"]] == [
        ("one", [1, 2]),
        ("two", [1, 2, 3]),
    ]
    assert loss["data"][1]["y"] == [epoch["rtl_loss"] for epoch in long["epochs"]]
    assert accuracy["data"][0]["y"] == [epoch["rtl_accuracy"] for epoch in short["epochs"]]
    assert len(apart) == 4


def test_a_run_without_accuracy_is_in_the_chart_of_losses_alone():
    linear = sample.training(2)
    for epoch in linear["epochs"]:
        epoch.update({name: None for name in epoch if name.endswith("accuracy")})
    loss, accuracy, *_ = figures(
        training_section([("one", linear), ("two", sample.training())]).html
    )
    assert [trace["name"] for trace in loss["data"]] == ["one", "two"]
    assert [trace["name"] for trace in accuracy["data"]] == ["two"]


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0.01718, "17.2 us"),
        (0.0004, "0.40 us"),
        (1, "1.00 ms"),
        (999.9, "1,000 ms"),
        (2500, "2.50 s"),
    ],
)
def test_times_are_as_people_write_them(milliseconds, shown):
    assert duration(milliseconds) == shown


def test_the_reference_is_a_level_unless_it_is_far_off():
    levels = {"loss": 0.25, "test_loss": 9.0, "accuracy": 0.75, "test_accuracy": None}
    run = sample.training(2, reference=levels | {"sentence": "it has loss 0.25; 9 of the test"})
    for epoch in run["epochs"]:
        epoch.update({f"{source}_test_loss": 0.75 for source in ("rtl", "golden", "float")})
        epoch.update({f"{source}_test_accuracy": 0.625 for source in ("rtl", "golden", "float")})
    section = training_section([("a", run)]).html
    loss, accuracy = figures(section)
    assert [trace["name"] for trace in loss["data"]][6:] == ["scikit-learn"]
    assert loss["data"][6]["y"] == [0.25, 0.25]
    assert accuracy["data"][6]["y"] == [0.75, 0.75]
    assert "<p>it has loss 0.25; 9 of the test</p>" in section
