# SPDX-License-Identifier: MIT
"""check.py SITE: checks that every link of a built site leads to a file and an anchor of it, that an id stands once in
its page, that nothing is fetched from elsewhere, and that each page can be reached from the first.

Exit status: 0; 1 when something is wrong; 2 wrong usage."""

import html.parser
import os
import pathlib
import re
import sys
import urllib.parse

FETCHING_RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "manifest"}
ADDRESSES = ("href", "src", "data", "poster", "action", "xlink:href")
ELSEWHERE = re.compile(r"(?:[a-z][a-z+.-]*:)?//", re.I)
OF_STYLES = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")

COLOURED = re.compile(r'<span class="[a-z0-9]{1,3}">|</span>')  # words of code: nine tenths of all elements


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.twice = set(), []
        self.links, self.fetched = [], []  # (line, address)
        self.feed(COLOURED.sub("", text))

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        if anchor := given.get("id"):
            if anchor in self.anchors:
                self.twice.append((self.getpos()[0], anchor))
            self.anchors.add(anchor)
        for name in ADDRESSES:
            if name in given:
                followed = tag in ("a", "area", "form") or (
                    tag == "link" and not FETCHING_RELATIONS.intersection(given.get("rel", "").lower().split())
                )
                (self.links if followed else self.fetched).append((self.getpos()[0], given[name]))
        for address in re.split(r"\s*,\s*", given.get("srcset", "")):
            self.fetched += [(self.getpos()[0], address.split()[0])] if address else []
        self.fetched += [(self.getpos()[0], address) for address in of_styles(given.get("style", ""))]


def of_styles(text):
    return [one or other for one, other in OF_STYLES.findall(text)]


def mistakes(site):
    found = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    files = {path for path in site.rglob("*") if path.is_file()}
    reached, next_ones = set(), [site / "index.html"]
    if site / "index.html" not in found:
        yield "there is no index.html"
    for path, page in found.items():
        name = path.relative_to(site)
        for line, anchor in page.twice:
            yield f"{name}:{line}: a second element with the id {anchor}"
        for line, address in page.fetched:
            if ELSEWHERE.match(address):
                yield f"{name}:{line}: fetches {address}; a page may fetch files of the site alone"
        for line, address in page.links + page.fetched:
            to, anchor = target(path, address)
            if to and to not in files:
                yield f"{name}:{line}: the link to {address} leads nowhere"
            elif to and anchor and to.suffix == ".html" and anchor not in found[to].anchors:
                yield f"{name}:{line}: {address} has no such anchor"
    for path in sorted(site.rglob("*.css")):
        for address in of_styles(path.read_text()):
            to, _ = target(path, address)
            if ELSEWHERE.match(address) or (to and to not in files):
                yield f"{path.relative_to(site)}: fetches {address}; a style may fetch files of the site alone"
    while next_ones:
        path = next_ones.pop()
        if path in found and path not in reached:
            reached.add(path)
            next_ones += [to for _, address in found[path].links if (to := target(path, address)[0])]
    for path in found:
        if path not in reached and path.name != "index.html":
            yield f"{path.relative_to(site)}: no chain of links from index.html leads here"


def target(path, address):
    """(file, anchor) that an address of the site leads to; (None, "") for others."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme or parts.netloc:
        return None, ""
    to = pathlib.Path(os.path.normpath(path.parent / urllib.parse.unquote(parts.path))) if parts.path else path
    return to, urllib.parse.unquote(parts.fragment)


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    site = pathlib.Path(sys.argv[1]).resolve()
    found = list(mistakes(site))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
