# SPDX-License-Identifier: MIT
"""Every mistake is in the plugin as its mutant says, and nothing else; one that changes nothing, is somewhere else or is named otherwise is no
success."""
import json
import os
import unittest

import plant
import schemata

MUTANT = """
title = "a mistake"
file = "sweep.cu"
old = "  const Index chunks = p.tokens"
new = "  const Index chunks = +p.tokens"
form = "chunked"
"""


def chosen(code, name, begin=0, end=None):
    """The tokens of a text with choices where one mutant is chosen."""
    tokens, mate, found, i = code.tokens, code.mate, [], begin
    while i < (len(tokens) if end is None else end):
        choices, at, behind = [], i, 1
        while tokens[at:at + 3] == ["if", "(", "planted"]:
            choices.append((tokens[at + 6], mate[at + 1] + 1))
            at = mate[choices[-1][1]] + 2  # behind `else`
        if tokens[i:i + 2] == ["(", "planted"]:
            at, behind = i + 1, 2
            while tokens[at] == "planted":
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
    return plant.outcome(plant.mutant_of(text, "mutant"), row)[2]


class Schemata(unittest.TestCase):
    def test_each_mutant_is_what_its_choices_give_and_without_one_they_give_the_source(self):
        every = plant.mutants()
        for file in {mutant["file"] for mutant in every.values()}:
            code = schemata.Code(schemata.with_all(file, every))
            self.assertEqual(chosen(code, "none"), schemata.Code((plant.CUDA / file).read_text()).tokens, file)
            for name, mutant in every.items():
                if mutant["file"] == file:
                    with self.subTest(name):
                        self.assertEqual(chosen(code, name), schemata.Code(plant.patched(mutant)).tokens)


if __name__ == "__main__":
    unittest.main()
