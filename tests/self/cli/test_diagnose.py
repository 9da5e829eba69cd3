# SPDX-License-Identifier: MIT
"""What `attest diagnose` judges: the options of `attest check` that say so are its own too."""

import re
import subprocess
import unittest

import support

ONLY_OF_CHECK = {"--part", "--waivers", "--claim", "--explain-exclusions"}


def options_of(command):
    text = subprocess.run([support.CLI, command, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ +(--[a-z][a-z-]+)", text, re.MULTILINE))


class Options(unittest.TestCase):
    def test_are_those_of_check(self):
        self.assertEqual(options_of("check") - options_of("diagnose"), ONLY_OF_CHECK)
        self.assertLessEqual(options_of("diagnose"), options_of("check"))

    def test_decide_what_is_judged(self):
        plugin = support.compile_plugin("learned.c")
        judged = []
        for strength in ("0", "1"):
            line = ("--max-cases", "3", "--laws", "0", "--strength", strength)
            status, text, report = support.report_of("diagnose", plugin, *line)
            self.assertIn(status, (0, 3), text)  # three cases prove too little
            row = report["rows"][0]
            self.assertEqual((row["cases"]["judged"], row["laws"]["judged"]), (3, 0))
            judged.append(row["regimes"]["judged"])
        self.assertEqual(judged[0], 0)
        self.assertGreater(judged[1], 0)


if __name__ == "__main__":
    unittest.main()
