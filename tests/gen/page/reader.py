"""Reads a page as a browser does."""

from html.parser import HTMLParser

LOADS = {"src", "srcset", "data", "poster", "action", "background"}


class Reader(HTMLParser):
    """Collects what a page loads, its anchors and its scripts."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.ids, self.metas, self.tags = [], [], [], [], []
        self.scripts = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in LOADS]
        if tag == "link":
            self.loads.append(values.get("href"))
        if tag == "a":
            self.links.append(values["href"])
        if tag == "meta":
            self.metas.append(values)
        if tag == "script":
            self.scripts.append("")
        if "id" in values:
            self.ids.append(values["id"])

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script" and self.scripts:
            self.scripts[-1] += data
