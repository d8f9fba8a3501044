import json
import re

from gen.report.rows_section import rows_section
from tests.gen.report.sample import made_by


def test_what_links_carried_is_a_bar():
    figures = {"row_bytes": 600, "read_bytes": 700, "link_bytes": 1000, "cycles": 1234}
    run = made_by("gather", "gather-engine") | {"figures": figures}
    section = rows_section([("out/result.json", run)])
    assert section.title == "Gathers from host memory"
    assert '<code>cycles</code></td><td class="n">1,234' in section.html
    (found,) = re.findall(r'class="figure">(.*?)</script>', section.html)
    assert [(trace["name"], trace["x"]) for trace in json.loads(found)["data"]] == [
        ("rows", [600]),
        ("idxs, and what is read beside rows", [100]),
        ("headers and framing", [300]),
    ]
