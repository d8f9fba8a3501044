from gen.datasheet.prose import function_and_timing, paragraphs, to_html

TEXT = """Adds.

    What it
    does. Throughput: one a cycle. Latency: 2.

    More.
    """


def test_paragraphs_are_lines():
    assert paragraphs(TEXT)[1] == "What it does. Throughput: one a cycle. Latency: 2."
    assert paragraphs(None) == []


def test_timing_begins_at_throughput():
    function, timing = function_and_timing(TEXT)
    assert function == ["What it does.", "More."]
    assert timing == ["Throughput: one a cycle. Latency: 2."]


def test_code_and_markup():
    assert to_html("``a < b`` & :class:`x.Y`, `z`") == (
        "<code>a &lt; b</code> &amp; <code>x.Y</code>, <code>z</code>"
    )
