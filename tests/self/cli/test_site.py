# SPDX-License-Identifier: MIT
# Runs in one part of the long tests: 3
"""tools/site: the site of a small project and what it links, mistakes planted into pages and into a built site, and the
site of this project."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import support

SITE = support.PROJECT / "tools" / "site"
CHECK = support.PROJECT / "tools" / "documents" / "site" / "check.py"
FORMULA = "```math\n\\begin{aligned}\ny &= \\sum_{j\\le i}\\,x_{j} \\\\\n\\end{aligned}\n```\n"
PAGES = {
    "README.md": "# Small\n\n[Specs](specs/README.md), [code](tests/code.py), `tests/other.py`, and linear.sum.\n",
    "specs/README.md": "# Specs\n\n[Handbook](handbook/README.md), [decisions](decisions/README.md)\n",
    "specs/handbook/README.md": "# Handbook\n\n- [linear.sum](linear.md#linearsum): Sums\n\n[linear](linear.md)\n",
    "specs/handbook/linear.md": f"""# linear

## linear.sum

{FORMULA}
| fault | what is done instead | cases |
| --- | --- | --- |
| `last_dropped` | x \\<= the last one | `random` |

| erratum | evidence |
| --- | --- |
| E1 | fault last\\_dropped |

## linear.other

It is no linear.sum.
""",
    "specs/decisions/README.md": "# Decisions\n\n[9](0009-faults-are-variants-of-the-reference.md), "
    "[24](0024-names-on-evidence.md)\n",
    "specs/decisions/0009-faults-are-variants-of-the-reference.md": "# 9. Faults\n\nAs `last_dropped` of linear.sum.\n",
    "specs/decisions/0024-names-on-evidence.md": "# 24. Names\n\n[Sums](../handbook/linear.md#linearsum)\n",
    "specs/linear/sum.toml": 'id = "linear.sum"\n',
    "tests/code.py": "x = 1\n",
    "tests/other.py": "y = 2\n",
}


def setUpModule():
    subprocess.run([support.PROJECT / "tools" / "venv", "site"], check=True, stdout=subprocess.DEVNULL)


def build(project, out):
    done = subprocess.run([SITE, "--project", project, out], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def check(site):
    done = subprocess.run([sys.executable, CHECK, site], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


class SmallSite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.project = support.fresh_folder("pages")
        for name, text in PAGES.items():
            cls.write(name, text)
        cls.site = support.fresh_folder("site")
        cls.status, cls.said = build(cls.project, cls.site)

    @classmethod
    def write(cls, name, text):
        path = cls.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def setUp(self):
        self.assertEqual((self.status, self.said), (0, ""))

    def links(self, page):
        """[(address, text)] of what stands in the article of a page."""
        article = re.search(r"<article.*</article>", (self.site / page).read_text(), re.S)[0]
        found = re.findall(r'<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>', article, re.S)
        return [(address, re.sub("<[^>]*>", "", text)) for address, text in found]

    def test_links_lead_both_ways(self):
        handbook, faults = "specs/handbook/linear.html", "specs/handbook/faults.html"
        nine = "specs/decisions/0009-faults-are-variants-of-the-reference.html"
        for page, address, text in (
            (nine, "../handbook/linear.html#linear-sum", "linear.sum"),
            (nine, "../handbook/faults.html#last_dropped", "last_dropped"),
            (nine, "../handbook/faults.html", "Faults"),
            (handbook, "../decisions/0009-faults-are-variants-of-the-reference.html", "9. Faults"),
            (handbook, "../decisions/0024-names-on-evidence.html", "24. Names"),
            (handbook, "faults.html#last_dropped", "last_dropped"),
            (handbook, "#linear-sum-fault-last_dropped", "last_dropped"),
            (handbook, "../linear/sum.toml.html", "specs/linear/sum.toml"),
            (handbook, "#linear-sum", "linear.sum"),
            (faults, "linear.html#linear-sum-fault-last_dropped", "linear.sum"),
            (faults, "../decisions/0009-faults-are-variants-of-the-reference.html", "9. Faults"),
            ("specs/linear/sum.toml.html", "../handbook/linear.html#linear-sum", "linear.sum"),
            ("README.html", "tests/code.py.html", "code"),
            ("README.html", "tests/other.py.html", "tests/other.py"),
            ("tests/other.py.html", "../README.html", "Small"),
            ("specs/handbook/README.html", "faults.html", "All faults by name"),
        ):
            with self.subTest(page=page, text=text):
                self.assertIn((address, text), self.links(page))

    def test_formulas_are_mathml(self):
        page = (self.site / "specs/handbook/linear.html").read_text()
        found = re.findall(r"<math.*?</math>", page, re.S)
        self.assertEqual(len(found), 1)
        self.assertIn("∑", found[0])
        self.assertNotIn("\\sum", found[0])

    def test_navigation_and_search(self):
        page = (self.site / "index.html").read_text()
        for address in (
            "specs/README.html",
            "specs/handbook/linear.html",
            "specs/decisions/0024-names-on-evidence.html",
        ):
            self.assertRegex(" ".join(re.findall("<li.*", page)), rf'<li class="toctree[^<]*<a [^<]*href="{address}"')
        index = (self.site / "searchindex.js").read_text()
        self.assertIn("last_dropped", index)
        self.assertTrue((self.site / "specs" / "handbook" / "index.html").is_file())

    def test_mistakes_of_pages(self):
        for name, old, new, words in (
            ("README.md", "specs/README.md", "specs/none.md", r"README\.md:3: .*specs/none\.md"),
            ("specs/decisions/0024-names-on-evidence.md", "#linearsum", "#linearsums", "0024.*:3: .*linearsums"),
            ("specs/handbook/linear.md", "\\sum", "\\summ", r"linear\.md:\d+: .*not TeX that math-core reads"),
        ):
            with self.subTest(new):
                self.write(name, PAGES[name].replace(old, new))
                status, said = build(self.project, support.fresh_folder("site"))
                self.write(name, PAGES[name])
                self.assertEqual(status, 1, said)
                self.assertRegex(said, words)

    def test_mistakes_of_a_site(self):
        for planted, words in (
            ('<a href="nowhere.html">', "the link to nowhere.html leads nowhere"),
            ('<a href="specs/README.html#nothing">', "specs/README.html#nothing has no such anchor"),
            ('<a href="#nothing">', "#nothing has no such anchor"),
            ('<script src="https://elsewhere.example/a.js">', "fetches https://elsewhere.example/a.js"),
            ('<link rel="stylesheet" href="//elsewhere.example/a.css">', "fetches //elsewhere.example/a.css"),
            ('<img src="HTTP://elsewhere.example/a.png">', "fetches HTTP://elsewhere.example/a.png"),
            ('<img srcset="a.png 1x, https://elsewhere.example/b.png 2x">', "fetches https://elsewhere.example/b.png"),
            ("<p style=\"background: url('https://elsewhere.example/c')\">", "fetches https://elsewhere.example/c"),
            ('<script src="none.js">', "the link to none.js leads nowhere"),
            ('<p id="one"><p id="one">', "a second element with the id one"),
        ):
            with self.subTest(planted):
                self.finds("index.html", lambda text: text.replace("</article>", planted + "</article>"), words)
        with self.subTest("style"):
            rule = "@import 'https://elsewhere.example/d.css';"
            self.finds("_static/style.css", lambda text: rule + text, "fetches https://elsewhere.example/d.css")
        with self.subTest("a page that no link leads to"):
            self.finds("alone.html", lambda text: "<p>", "alone.html: no chain of links from index.html leads here")

    def finds(self, name, change, words):
        copy = support.fresh_folder("copy") / "site"
        shutil.copytree(self.site, copy)
        self.assertEqual(check(copy), (0, ""))
        path = copy / name
        path.write_text(change(path.read_text() if path.exists() else ""))
        status, said = check(copy)
        self.assertEqual(status, 1, said)
        self.assertIn(words, said)

    def test_usage(self):
        for folder, words in ((["--fast"], "expected"), ([self.project], "is there and is no site")):
            done = subprocess.run([SITE, *folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
        self.assertTrue((self.project / "README.md").is_file())


class ThisSite(unittest.TestCase):
    def test_it_is_built_and_its_links_lead_somewhere(self):
        site = support.fresh_folder("site")
        self.assertEqual(build(support.PROJECT, site), (0, ""))
        self.assertTrue(pages_of_git() or not (support.PROJECT / ".git").exists())
        missing = [page for page in pages_of_git() if not (site / page).with_suffix(".html").is_file()]
        self.assertEqual(missing, [])


def pages_of_git():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=support.PROJECT, capture_output=True, text=True).stdout
    return [pathlib.Path(page) for page in listed.splitlines()]


if __name__ == "__main__":
    unittest.main()
