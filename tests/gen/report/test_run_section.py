import json
import re

from gen.report.run_section import run_section
from tests.gen.report.sample import made_by


def test_a_run_shows_its_settings_figures_and_curves():
    run = made_by("count", "counter") | {"curves": {"sums": {"cycle": [1, 2], "sum": [3, 5]}}}
    section = run_section([("out/result.json", run)])
    assert section.title == "count"
    assert '<code>load</code></td><td class="n">3' in section.html
    assert "<code>kind</code>" not in section.html  # it was not set
    assert '<code>cycles</code></td><td class="n">1,234' in section.html
    assert "equals the golden model" in section.html
    (found,) = re.findall(r'class="figure">(.*?)</script>', section.html)
    plot = json.loads(found)
    assert [(trace["name"], trace["x"], trace["y"]) for trace in plot["data"]] == [
        ("sum", [1, 2], [3, 5])
    ]
    assert plot["layout"]["xaxis"]["title"]["text"] == "cycle"
    assert plot["layout"]["yaxis"]["title"]["text"] == "sums"


def test_a_wrong_result_says_so():
    section = run_section([("a", made_by("count", "counter", exact=False))])
    assert "Not what it must be: the last sum" in section.html
    assert "equals the golden model" not in section.html
