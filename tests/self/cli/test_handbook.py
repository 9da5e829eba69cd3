# SPDX-License-Identifier: MIT
"""`attest handbook`: the pages of all equations are what their specs say, and formulas are TeX."""

import re
import shutil
import unittest

import support

COMMANDS = set(
    "alpha beta gamma delta kappa lambda mu omega phi Phi psi rho sigma tau theta pi varepsilon "
    "sum prod sqrt text operatorname bar hat tilde nabla top in bmod le ge lt gt leftarrow dots cdot Vert vert odot "
    "sim lbrace rbrace begin end".split()
)


def formulas():
    for page in sorted((support.PROJECT / "specs").glob("handbook/[!R]*.md")):
        text = page.read_text()
        names = re.findall(r"^## (.+)$", text, re.M)
        blocks = re.findall(r"^```math\n(.*?)^```$", text, re.M | re.S)
        assert len(names) == len(blocks), page
        yield from zip(names, blocks)


class Handbook(unittest.TestCase):
    def setUp(self):
        self.project = support.fresh_folder("handbook")
        shutil.copytree(support.PROJECT / "specs", self.project / "specs")
        self.page = self.project / "specs/handbook/linear.md"

    def run_it(self, *words):
        return support.run("handbook", *words, env={"ATTEST_PROJECT_DIR": str(self.project)})

    def test_a_page_that_was_edited_is_named_with_its_line_and_written_again(self):
        right = self.page.read_text()
        lines = right.split("\n")
        lines[6] = "edited"
        self.page.write_text("\n".join(lines))
        status, out, _ = self.run_it("--check")
        self.assertEqual(status, 1)
        self.assertIn("specs/handbook/linear.md:7: not what", out)
        self.assertEqual(self.page.read_text(), "\n".join(lines), "a check writes nothing")
        self.assertEqual(self.run_it()[0], 0)
        self.assertEqual(self.page.read_text(), right)
        self.assertEqual(self.run_it("--check")[:2], (0, ""))

    def test_a_page_that_is_missing_is_named(self):
        self.page.unlink()
        status, out, _ = self.run_it("--check")
        self.assertEqual(status, 1)
        self.assertIn("specs/handbook/linear.md:1: ", out)

    def test_each_equation_has_a_section(self):
        specs = {f"{file.parent.name}.{file.stem}" for file in (support.PROJECT / "specs").glob("*/*.toml")}
        self.assertEqual({name for name, _ in formulas()}, specs)

    def test_formulas_are_tex(self):
        for name, tex in formulas():
            with self.subTest(name):
                self.assertEqual(set(re.findall(r"\\([A-Za-z]+)", tex)) - COMMANDS, set())
                depth = 0
                for brace in re.findall(r"(?<!\\)[{}]", tex):
                    depth += 1 if brace == "{" else -1
                    self.assertGreaterEqual(depth, 0)
                self.assertEqual(depth, 0)
                # Two indices or exponents in a row are an error of TeX.
                self.assertNotRegex(tex, r"_\{[^{}]*\}_|\^\{[^{}]*\}\^|[_^]\{\}")
                for line in tex.strip().split("\n")[1:-1]:
                    self.assertEqual(line.count("&"), 1)
                    self.assertTrue(line.endswith("\\\\"))

    def test_a_formula_has_its_indices_greek_letters_and_words(self):
        causal = dict(formulas())["linear.causal"]
        self.assertIn(r"S_{i} &= S+\sum_{j\le i}\ \phi_{k,j}\,v_{j}^{\top}", causal)
        perplexity = dict(formulas())["objective.perplexity"]
        self.assertIn(r"p_{t} &= e^{x_{t,c_{t}}}/\sum_{c}\,e^{x_{tc}}", perplexity)
        exits = dict(formulas())["adaptive.early_exit"]
        self.assertIn(r",\ \text{or~}N\ \text{where there is none}", exits)


if __name__ == "__main__":
    unittest.main()
