# SPDX-License-Identifier: MIT
"""A mutant that changes nothing, is somewhere else than it says, or is named otherwise is no success."""
import pathlib
import tempfile
import unittest

import plant

COMMENT = """
title = "a mistake that is none"
file = "include/attest/cuda/units/sweep.hpp"
old = "  const Index chunks = p.tokens"
new = "  const Index chunks = +p.tokens"
form = "chunked"
"""


def row_of(text):
    with tempfile.TemporaryDirectory() as folder:
        return plant.planted(plant.mutant_of(text, "mutant"), pathlib.Path(folder))


def wrong_with(text, row):
    return plant.outcome(plant.mutant_of(text, "mutant"), row)[2]


class Planting(unittest.TestCase):
    def test_a_mutant_that_changes_nothing_is_not_found(self):
        text = COMMENT + 'unnamed = "nothing is wrong"'
        self.assertIn("not found", wrong_with(text, row_of(text)))

    def test_a_mistake_under_another_name_is_no_success(self):
        text, named = (plant.HERE / "mutants" / "carried_state_ignored.toml").read_text(), 'named = "carried_state_ignored"'
        row = row_of(text)
        self.assertEqual(wrong_with(text, row), "")
        self.assertIn("not as eps_ignored", wrong_with(text.replace(named, 'named = "eps_ignored"'), row))
        self.assertIn("although it says: none", wrong_with(text.replace(named, 'unnamed = "none"'), row))
        self.assertIn("the report of a race is missing", wrong_with(text.replace(named, 'report = "race"'), row))

    def test_a_report_in_place_of_a_wrong_value_is_no_success(self):
        text = (plant.HERE / "mutants" / "copy_not_waited_for.toml").read_text()
        self.assertIn("before a value is judged", wrong_with(text.replace('report = "in_flight"', 'unnamed = "a value"'), row_of(text)))

    def test_text_that_is_gone_or_there_twice_is_an_error(self):
        for old, reason in (("no such line", "no longer in include/attest/cuda/units/sweep.hpp"), ("__syncthreads();", "times in include/attest/cuda/units/sweep.hpp")):
            with self.assertRaisesRegex(plant.PlantingError, reason):
                plant.patched(plant.mutant_of(COMMENT.replace("  const Index chunks = p.tokens", old) + 'unnamed = "-"', "mutant"))

    def test_what_does_not_compile_is_an_error(self):
        with self.assertRaisesRegex(plant.PlantingError, "does not compile"):
            row_of(COMMENT.replace("= +p.tokens", "= nothing") + 'unnamed = "-"')

    def test_a_mutant_says_what_must_come_of_it(self):
        for wrong in ("", 'named = "a"\nreport = "race"', 'report = "rase"', 'unnamed = "-"\nforms = "chunked"'):
            with self.assertRaises(plant.PlantingError):
                plant.mutant_of(COMMENT + wrong, "mutant")


if __name__ == "__main__":
    unittest.main()
