# SPDX-License-Identifier: MIT
"""`--html` writes one page that needs nothing else, whatever strangers call their kernels."""

import concurrent.futures
import html.parser
import re
import unittest
import xml.etree.ElementTree

import support

HOSTILE = """<script>alert('x')</script>" onload="y" &amp;"""
VOID = {"meta", "br"}
QUICK = ["--laws", 0, "--strength", 2, "--max-cases", 40]


class Reader(html.parser.HTMLParser):
    """Reads a page whose elements are all closed in order; keeps their names, attributes and texts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.headings = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            raise AssertionError(f"</{tag}> closes {self.open[-3:]} at {self.getpos()}")
        self.open.pop()

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.texts.append(data)
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            self.headings.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def page_of(*arguments):
    """Exit status, text and HTML source of a command with --html."""
    path = support.fresh_folder("page") / "report.html"
    status, out, err = support.run(*arguments, "--html", path)
    if [entry.name for entry in path.parent.iterdir()] != ["report.html"]:
        raise AssertionError(f"{out}{err}: {list(path.parent.iterdir())}")
    return status, out, path.read_text(encoding="utf-8")


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        plugins = [
            support.compile_plugin("attention.c"),
            support.compile_plugin("attention.c", "FAULT_mask_top_left"),
            support.compile_plugin("attention.c", "FAULT_dense_keys"),
            support.compile_plugin(
                "attention.c",
                "REFUSES=mask",
                f"NAME={c_string(HOSTILE)}",
                f'MESSAGE={c_string(HOSTILE + chr(7))} "\\xff"',
            ),
        ]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(lambda one: page_of("check", one, *QUICK), plugins))
        cls.right, cls.wrong, cls.sometimes, cls.hostile = runs
        cls.statuses, cls.pages = [status for status, _, _ in runs], [source for _, _, source in runs]

    def test_verdicts(self):
        self.assertEqual(self.statuses, [0, 1, 1, 1])

    def test_is_well_formed(self):
        for source in self.pages:
            self.assertTrue(source.startswith("<!doctype html>") and source.endswith("</html>\n"))
            reader = Reader(source)
            self.assertEqual(reader.open, [])
            ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
            self.assertEqual(len(ids), len(set(ids)))
            links = [attributes["href"] for _, attributes in reader.elements if "href" in attributes]
            self.assertTrue(links and {link[1:] for link in links} <= set(ids), links)
            drawings = re.findall(r"<svg\b.*?</svg>", source, re.DOTALL)
            self.assertGreaterEqual(len(drawings), 3)
            for drawing in drawings:
                one = xml.etree.ElementTree.fromstring(drawing)
                self.assertTrue(
                    one.get("aria-hidden") == "true" or (one.get("role") == "img" and one.get("aria-label"))
                )

    def test_needs_nothing_else(self):
        for source in self.pages:
            for outside in ("http", "src=", "<script", "<link", "@import", "url("):
                self.assertNotIn(outside, source.replace("url(#hatch)", "").lower())
            for _, attributes in Reader(source).elements:
                self.assertFalse([name for name in attributes if name.startswith("on")])

    def test_has_what_a_reader_needs(self):
        status, out, source = self.right
        text = Reader(source).text
        for line in out.strip().split("\n")[-3:]:
            self.assertIn(line, text)  # what a PASS could have seen, and the verdict
        self.assertIn("attention.scaled_dot_product online_blocked", text)
        self.assertIn("binary32 throughout", text)
        self.assertIn("empty_row == 'zero'", text)
        self.assertIn("effective bits of 24", text)
        self.assertNotIn("Failures", Reader(source).headings)
        self.assertRegex(text, r"o: 0 of \d+ places")

    def test_shows_what_is_wrong(self):
        status, out, source = self.wrong
        reader = Reader(source)
        for heading in ("Diagnosis", "Failures", "Error / bound by position", "Errors by size"):
            self.assertIn(heading, reader.headings)
        for text in (
            "first wrong",
            "looks like",
            "causal_top_left",
            re.search(r"attest reproduce '[^']+'", out).group(),
        ):
            self.assertIn(text, reader.text)
        self.assertRegex(reader.text, r"o: [1-9]\d* of \d+ places")

    def test_shows_the_conditions_under_which_it_is_wrong(self):
        status, out, source = self.sometimes
        reader = Reader(source)
        self.assertIn("Regimes", reader.headings)
        self.assertIn("memory in {padded, transposed, mixed}", reader.text)
        self.assertRegex(reader.text, r"dense 0 of \d+ padded [1-9]\d* of \d+")
        self.assertRegex(source, r'<td class="wrong" style="--share:[01]\.\d\d">padded<small>')
        self.assertIn("<td>dense<small>", source)
        self.assertRegex(reader.text, r"\d+ excluded: the work of one call is limited")

    def test_escapes_the_names_and_messages_of_strangers(self):
        source = self.hostile[2]
        reader = Reader(source)
        self.assertIn(HOSTILE, reader.text)
        self.assertGreaterEqual(reader.text.count(HOSTILE), 2, "name and message")
        self.assertNotIn("script", {tag for tag, _ in reader.elements})

    def test_of_other_commands(self):
        status, _, source = page_of("diagnose", "fault:linear.causal.state_not_carried", "--profile", "f32")
        self.assertEqual(status, 1)
        self.assertIn("looks like state_not_carried", Reader(source).text.replace("\n", " "))
        folder = support.fresh_folder() / "cases"
        self.assertEqual(support.run("emit", "positional.learned", "--to", folder)[0], 0)
        status, _, source = page_of("judge", folder)
        self.assertEqual(status, 1)
        self.assertIn("y.npy is missing", Reader(source).text)


class File(unittest.TestCase):
    def test_that_cannot_be_written_is_told(self):
        arguments = ["check", "fault:positional.learned.off_by_one", "--max-cases", 3, "--laws", 0, "--strength", 0]
        folder = support.fresh_folder()
        for path, reason in ((folder / "absent" / "r.html", "No such file or directory"), (folder, "Is a directory")):
            for option in ("--html", "--json"):
                status, _, err = support.run(*arguments, option, path)
                self.assertEqual((status, err), (2, f"attest: cannot write {path}: {reason}\n"))
        self.assertEqual(list(folder.iterdir()), [])

    def test_that_stands_there_is_replaced_or_left(self):
        path = support.fresh_folder() / "report.html"
        path.write_text("old")
        status, _, _ = support.run("check", "./no-such-kernel.so", "--html", path)
        self.assertEqual((status, path.read_text()), (3, "old"))


if __name__ == "__main__":
    unittest.main()
