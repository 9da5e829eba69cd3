# SPDX-License-Identifier: MIT
"""The plugin of mutants changes what each mutant says and nothing else; a mutant that changes nothing, that is not
found, or that gets another name, is no success."""

import json
import sys
import unittest

import mutants
import schemata

MUTANT = """
title = "a defect"
file = "products.cu"
old = "*before : 0.0f;"
new = "*before : -0.0f;"
form = "two_level"
"""


def chosen(code, name, begin=0, end=None):
    """The tokens of a text with choices where one mutant is chosen."""
    tokens, mate, found, i = code.tokens, code.mate, [], begin
    while i < (len(tokens) if end is None else end):
        choices, at, behind = [], i, 1
        while tokens[at : at + 3] == ["if", "(", "is_chosen"]:
            choices.append((tokens[at + 6], mate[at + 1] + 1))
            at = mate[choices[-1][1]] + 2  # behind `else`
        if tokens[i : i + 2] == ["(", "is_chosen"]:
            at, behind = i + 1, 2
            while tokens[at] == "is_chosen":
                choices.append((tokens[at + 4], mate[mate[at + 1] + 5] + 2))  # behind `? kept<decltype(..)>`
                at = mate[choices[-1][1]] + 2  # behind the colon
        if choices:
            taken = dict(choices).get(name, at)
            found += chosen(code, name, taken + 1, mate[taken])
            i = mate[at] + behind
        else:
            found.append(tokens[i])
            i += 1
    return found


def wrong_with(text, row):
    return mutants.outcome(mutants.mutant_of(text, "mutant"), row)[2]


class Schemata(unittest.TestCase):
    def test_each_mutant_is_what_its_choices_give_and_without_one_they_give_the_source(self):
        every = mutants.all_mutants()
        for file in {mutant["file"] for mutant in every.values()}:
            code = schemata.Code(schemata.with_all(file, every))
            self.assertEqual(chosen(code, "none"), schemata.Code((mutants.CUDA / file).read_text()).tokens, file)
            for name, mutant in every.items():
                if mutant["file"] == file:
                    with self.subTest(name):
                        self.assertEqual(chosen(code, name), schemata.Code(mutants.patched(mutant)).tokens)

    def test_a_mutant_whose_text_is_gone_leaves_the_others_where_they_are(self):
        every = mutants.all_mutants()
        gone = every | {"gone": mutants.mutant_of(MUTANT.replace("before", "no_such_text") + 'unnamed = "-"', "gone")}
        self.assertEqual(schemata.with_all("products.cu", gone), schemata.with_all("products.cu", every))

    def test_what_is_in_no_function_is_an_error(self):
        text = MUTANT.replace("*before : 0.0f;", "namespace attest::cuda {").replace(
            "*before : -0.0f;", "namespace other {"
        )
        with self.assertRaisesRegex(mutants.MutantError, "must be in a function"):
            schemata.with_all("products.cu", {"outside": mutants.mutant_of(text + 'unnamed = "-"', "outside")})


def without_p(row):
    """A row without the p of its scores: each is multiplied by the number of score tests of all kernels of a run."""
    scores = [{name: value for name, value in one.items() if name != "p"} for one in row["statistics"]["scores"]]
    return row | {"statistics": row["statistics"] | {"scores": scores}}


class Judging(unittest.TestCase):
    def test_without_a_mutant_the_kernels_give_what_the_emulated_plugin_gives(self):
        def key(row):
            return tuple(row[name] for name in (*schemata.KERNEL, "capabilities"))

        rows = mutants.judged()
        self.assertEqual(
            {(*key(row)[:5],) for row in rows},
            {tuple(mutant[name] for name in schemata.KERNEL) for mutant in mutants.all_mutants().values()},
        )
        original = {
            key(row): row for row in json.loads((mutants.BUILD / "check_cuda_emulated.json").read_text())["rows"]
        }
        judged_there = [row for row in rows if key(row) in original]  # a part of a sweep judges a part of the kernels
        print(
            f"{len(judged_there)} of {len(rows)} kernels are compared; the emulated plugin's report lacks the others",
            file=sys.stderr,
        )
        self.assertGreater(len(judged_there), 0)
        for row in rows:
            with self.subTest(key(row)):
                self.assertEqual(without_p(row), without_p(original.get(key(row), row)))
                self.assertEqual(row["status"], "PASS")
                self.assertIn("not found", wrong_with(MUTANT + 'unnamed = "nothing is wrong"', row))

    def test_a_fault_under_another_name_is_no_success(self):
        text, named = ((mutants.HERE / "carried_state_ignored.toml").read_text(), 'named = "carried_state_ignored"')
        (row,) = mutants.judged(["carried_state_ignored"])
        self.assertEqual(wrong_with(text, row), "")
        self.assertIn("not as eps_ignored", wrong_with(text.replace(named, 'named = "eps_ignored"'), row))
        self.assertIn("although it says: none", wrong_with(text.replace(named, 'unnamed = "none"'), row))
        self.assertIn("the report of a race is missing", wrong_with(text.replace(named, 'report = "race"'), row))

    def test_a_report_in_place_of_a_wrong_value_is_no_success(self):
        text = (mutants.HERE / "copy_not_waited_for.toml").read_text()
        (row,) = mutants.judged(["copy_not_waited_for"])
        self.assertIn(
            "before a value is judged", wrong_with(text.replace('report = "in_flight"', 'unnamed = "a value"'), row)
        )

    def test_a_mutant_that_is_not_there_is_an_error(self):
        with self.assertRaisesRegex(mutants.MutantError, "no mutant is called 'nobody'"):
            mutants.judged(["carried_state_ignored", "nobody"])

    def test_text_that_is_gone_or_there_twice_is_an_error(self):
        for old, reason in (("no such line", "no longer in products.cu"), ("Index", "times in products.cu")):
            with self.assertRaisesRegex(mutants.MutantError, reason):
                mutants.patched(mutants.mutant_of(MUTANT.replace("*before : 0.0f;", old) + 'unnamed = "-"', "mutant"))

    def test_a_mutant_gives_one_expected_outcome(self):
        for wrong in ("", 'named = "a"\nreport = "race"', 'report = "rase"', 'unnamed = "-"\nforms = "chunked"'):
            with self.assertRaises(mutants.MutantError):
                mutants.mutant_of(MUTANT + wrong, "mutant")


if __name__ == "__main__":
    unittest.main()
