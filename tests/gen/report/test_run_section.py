import json
import re

import pytest

from gen.report.gather_section import gather_section
from gen.report.gcn_section import gcn_section
from gen.report.run_section import run_section
from gen.report.training_section import training_section
from tests.gen.report import sample
from tests.gen.report.sample import made_by
from tests.gen.report.test_gcn_section import run as gcn_run


def test_a_run_shows_its_settings_figures_and_curves():
    run = made_by("count", "counter") | {"curves": {"sums": {"cycle": [1, 2], "sum": [3, 5]}}}
    section = run_section([("out/result.json", run)])
    assert section.title == "count"
    assert '<code>load</code></td><td class="n">3' in section.html
    assert "<code>kind</code>" not in section.html  # it was not set
    assert '<code>cycles</code></td><td class="n">1,234' in section.html
    (found,) = re.findall(r'class="figure">(.*?)</script>', section.html)
    plot = json.loads(found)
    assert [(trace["name"], trace["x"], trace["y"]) for trace in plot["data"]] == [
        ("sum", [1, 2], [3, 5])
    ]
    assert plot["layout"]["xaxis"]["title"]["text"] == "cycle"
    assert plot["layout"]["yaxis"]["title"]["text"] == "sums"


SECTIONS = {
    run_section: made_by("count", "counter"),
    gather_section: sample.gather(),
    gcn_section: gcn_run(),
    training_section: sample.training(),
}


@pytest.mark.parametrize(("section", "made"), SECTIONS.items())
def test_the_verdict_is_the_runs_own(section, made):
    for exact, shown in (
        (True, '<p class="good verdict">a &lt; b</p>'),
        (None, '<p class="warn verdict">a &lt; b</p>'),
        (False, '<p class="bad">Not what it must be: a &lt; b</p>'),
    ):
        html = section([("a", made | {"exact": exact, "verdict": "a < b", "warnings": ["w"]})]).html
        assert (
            html.count("a &lt; b") == html.count(shown) == html.count('<p class="bad">w</p>') == 1
        )
        assert ('<tr class="bad">' in html) == (exact is False and "float64" in html)
        assert "equal" not in html
