"""Makes the whole page of all kinds of results: offline, damage named, with equal bytes."""

import pytest

from gen.base.errors import UserError
from gen.report.report import Parts, report, tiles
from gen.report.sources import find
from tests.gen.page.reader import Reader
from tests.gen.report import sample

TITLES = (
    "Summary",
    "Sweep scaling",
    "Regression",
    "Failures",
    "Tests",
    "Coverage",
    "Coverage exclusions",
    "Resources",
    "Sparse products",
    "Training",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    text, left_out = report(find([sample.everything(tmp_path_factory.mktemp("r") / "all")]))
    assert left_out == []
    return text


def test_a_part_for_each_kind(page):
    places = [page.index(f">{title}</h2>") for title in TITLES]
    assert places == sorted(places)


def test_nothing_is_loaded_and_every_link_leads_to_a_place(page):
    read = Reader(page)
    assert read.loads == []
    assert {link.removeprefix("#") for link in read.links} <= set(read.ids)


def test_nothing_is_escaped_twice(page):
    assert "&lt;div" not in page
    assert "&lt;td" not in page
    assert "&amp;lt;" not in page


def test_the_script_stands_behind_what_it_draws(page):
    script = page.index("const PALETTE")
    assert page.rindex('class="figure"') < script
    assert page.count("const PALETTE") == 1
    assert page.count('id="plotly"') == 1


def test_the_summary_counts(page):
    for figure in (
        '"bad">10 of 12</b><span>points of sweeps finished',
        '"bad">1 of 2</b><span>items of regressions passed',
        '"good">1 of 1</b><span>estimated designs fit',
        '"good">1 of 1</b><span>runs of train exact',
        '"good">1 of 1</b><span>runs of spmm exact',
    ):
        assert figure in page
    item, two = ("spmm", sample.gather()), ("spmm", sample.gather(exact=None))
    assert tiles(Parts(results={"regression": [], "estimate": [], "spmm": [item, two]})) == [
        ("1 of 2", "runs of spmm exact, 1 compared with nothing", "warn")
    ]


def test_items_that_were_skipped_do_not_count(tmp_path):
    items = [sample.item("a"), sample.item("b", "skipped")]
    path = sample.write(tmp_path / "verify.json", sample.verify(items))
    assert '"good">1 of 1</b><span>items' in report(find([path]))[0]


def test_equal_files_give_equal_bytes(page, tmp_path):
    again, _ = report(find([sample.everything(tmp_path / "all")]))
    assert again == page
    assert str(tmp_path) not in again


DAMAGED = {
    "training": sample.training(epochs=0),
    "estimate": sample.estimate(total={}),
    "gather": sample.gather(nodes=[{}]),
    "regression": sample.verify(items=[{"test": "a"}]),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_result_with_holes_is_left_out(tmp_path, kind):
    name = "verify.json" if kind == "regression" else "result.json"
    bad = sample.write(tmp_path / "bad" / name, DAMAGED[kind])
    with pytest.raises(UserError, match=f"{name} is damaged"):
        report(find([bad]))
    good = sample.write(tmp_path / "good/result.json", sample.training())
    text, (line,) = report(find([bad, good]))
    assert line.startswith(f"bad/{name} is damaged")
    assert "Left out:" in text
    assert '"good">1 of 1</b><span>runs of train' in text


def test_clocks_of_all_figures_are_on_top(tmp_path):
    folder = sample.everything(tmp_path / "all")
    text, _ = report(find([folder]))
    clocks = text.partition("</header>")[0].rpartition("clock ")[2]
    assert clocks == "250 MHz</p>"
    run = next(folder.rglob("result.json"))
    run.write_text(run.read_text().replace('"clock_mhz": 250', '"clock_mhz": 300'))
    text, _ = report(find([folder]))
    assert "clock 250 and 300 MHz</p></header>" in text
