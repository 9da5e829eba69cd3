# SPDX-License-Identifier: MIT
"""tools/bench/gpu.py with a command and programs of a few lines in place of attest's: what it runs and keeps of it, and
of a step that takes too long."""

import json
import os
import subprocess
import sys
import unittest

import support

SCRIPT = support.PROJECT / "tools" / "bench" / "gpu.py"
ATTEST = """#!/bin/sh
case "$*" in
  --version)
    cd "$(dirname "$0")"
    mkdir -p unpacked-1/bin
    cp sums unpacked-1/bin/tensor_core_sums ;;
  *--journal*) mkdir "$4"; touch "$4/one"; trap 'echo so far; exit 130' INT; echo begun; while :; do sleep 0.05; done ;;
  *--resume*) echo "goes on from $4" ;;
  *--max-cases*) echo launched; exit 0 ;;
  *bench*) echo slow; exit 1 ;;
  *) exit 0 ;;
esac
"""


class Gpu(unittest.TestCase):
    def setUp(self):
        self.folder = support.fresh_folder("gpu")
        self.write("attest", ATTEST)
        self.write("sums", '#!/bin/sh\necho "0 of 5 sums differ, plugin $ATTEST_CUDA_PLUGIN"\n')

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def run_steps(self, *words, seconds=20):
        into = self.folder / "into"
        line = [sys.executable, str(SCRIPT), "--attest", str(self.folder / "attest"), "--into", str(into)]
        done = subprocess.run(
            [*line, "--seconds", str(seconds), *words],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "ATTEST_COMMIT": "abc"},
        )
        return done, json.loads((into / "gpu.json").read_text()) if done.returncode < 2 else None, into

    def test_what_a_step_prints_is_kept(self):
        done, record, into = self.run_steps("launch")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((into / "launch.txt").read_text(), "launched\n")
        self.assertEqual(record["steps"]["launch"]["ended"], "finished")
        self.assertEqual(record["commit"], "abc")
        self.assertIn("check", record["steps"]["launch"]["command"])

    def test_programs_of_a_portable_folder_run_from_where_it_unpacks(self):
        self.write("attest.tar.gz", "")
        done, _, into = self.run_steps("products", "attention_sizes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("0 of 5 sums differ, plugin /", (into / "products.txt").read_text())
        self.assertIn("attention_sizes: absent", done.stdout)

    def test_a_step_that_takes_too_long_is_interrupted_and_goes_on_later(self):
        done, record, into = self.run_steps("regimes", seconds=1)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            (record["steps"]["regimes"]["ended"], record["steps"]["regimes"]["status"]), ("interrupted", 130)
        )
        self.assertEqual((into / "regimes.txt").read_text(), "begun\nso far\n")
        done, record, into = self.run_steps("regimes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("goes on from", (into / "regimes.txt").read_text())

    def test_a_step_that_fails_is_no_success(self):
        done, record, _ = self.run_steps("bench", "launch")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([step["status"] for step in record["steps"].values()], [1, 0])

    def test_an_unknown_step_is_refused(self):
        done, _, _ = self.run_steps("nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("invalid choice: 'nothing'", done.stderr)


if __name__ == "__main__":
    unittest.main()
