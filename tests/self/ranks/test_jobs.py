# SPDX-License-Identifier: MIT
# Runs in one part of the long tests: 2
"""Long jobs: the ranks of an MPI job share their items, the results are those of one process, and what a job has
finished is not done again."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

import support

# More ranks than cores, as root, without a terminal: what Open MPI asks to be told.
ENVIRONMENT = {
    **os.environ,
    "NO_COLOR": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMP_NUM_THREADS": "1",
}
CHECK = ["check", "openmp", "--only", "positional.*", "--strength", "1", "--laws", "1"]
MUTANTS = ["mutants", "--only", "attention.softmax*", "--seeds", "40", "--strength", "1"]


SURVEY = ["survey", "--strength", "0"]
# Python reads this file where it starts: the survey finds two adapters alone, of functions that are quick.
ADAPTERS = """\
import attest._survey, numpy as np
from attest.adapters import adapter

def softmax(x, mask):
    with np.errstate(all="ignore"):
        x = x if mask is None else np.where(mask, x, -np.inf)
        p = np.exp(x - x.max(-1, keepdims=True))
        return np.nan_to_num(p / p.sum(-1, keepdims=True))

options = dict(library="numpy", profiles=("f64", "f32"), conventions={"empty_row": "zero", "lse": False})

@adapter("attention.softmax", **options)
def normalised(x, *, mask=None):
    return softmax(x, mask)

@adapter("attention.softmax", **options)
def twice(x, *, mask=None):
    return 2 * softmax(x, mask)

attest._survey.adapters = lambda only: [normalised, twice]
"""


def of_survey():
    folder = support.fresh_folder("site")
    (folder / "sitecustomize.py").write_text(ADAPTERS)
    return {"PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}


def command_of(ranks, *words):
    launcher = ["mpiexec", "-n", str(ranks)] if ranks else []
    return [*launcher, support.CLI, *map(str, words)]


def run(ranks, *words, env=None):
    """On so many ranks; 0: without a launcher. The exit status, standard output and standard error."""
    done = subprocess.run(
        command_of(ranks, *words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        env={**ENVIRONMENT, **(env or {})},
    )
    return done.returncode, done.stdout, done.stderr


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class SameBytes(unittest.TestCase):
    def same(self, files, *words, env=None):
        """The exit status, what is printed, and the files."""
        of_ranks = {}
        for ranks in (0, 1, 2, 3):
            folder = support.fresh_folder("job")
            more = [word for file in files for word in (f"--{file}", folder / file)]
            status, out, _ = run(ranks, *words, *more, env=env)
            of_ranks[ranks] = (status, out, contents(folder))
        for ranks in (1, 2, 3):
            self.assertEqual(of_ranks[ranks], of_ranks[0], f"{ranks} ranks")
        return of_ranks[0]

    def test_check(self):
        status, out, files = self.same(["json", "html", "junit", "sarif"], *CHECK)
        self.assertEqual(status, 0, out)
        self.assertEqual(len(files), 4)

    def test_check_of_what_fails(self):
        status, out, _ = self.same(["json"], "check", "fault:attention.softmax.base2", "--strength", "1")
        self.assertEqual(status, 1, out)

    def test_diagnose(self):
        self.assertEqual(self.same(["json"], "diagnose", "fault:linear.causal.eps_added", "--strength", "1")[0], 1)

    def test_mutants(self):
        status, out, files = self.same(["json"], *MUTANTS)
        self.assertEqual(status, 0, out)
        self.assertEqual(
            {one["equation"] for one in json.loads(files[pathlib.Path("json")])["mutants"]},
            {"attention.softmax", "attention.softmax_one"},
        )

    def test_coverage(self):
        status, out, files = self.same(["json"], "coverage", "--only", "positional.a*")
        self.assertEqual(status, 0, out)

    def test_survey(self):
        status, out, files = self.same(["json", "markdown"], *SURVEY, env=of_survey())
        self.assertEqual(status, 0, out)
        rows = json.loads(files[pathlib.Path("json")])["rows"]
        self.assertEqual([row["kernel"] for row in rows], ["numpy:normalised"] * 2 + ["numpy:twice"] * 2)
        self.assertEqual([row["verdict"] for row in rows], ["PASS"] * 2 + ["FAIL"] * 2)

    def test_golden_regenerate(self):
        reference = contents(support.PROJECT / "golden")
        for ranks in (1, 2, 3):
            folder = support.fresh_folder("golden")
            status, out, err = run(ranks, "golden", "regenerate", "--only", "linear.*", "--into", folder)
            self.assertEqual(status, 0, err)
            made = contents(folder)
            self.assertGreaterEqual(len(made), 2)
            for path, data in made.items():
                self.assertEqual(data, reference[path], f"{path} on {ranks} ranks")


class Ended(unittest.TestCase):
    def test_a_job_whose_rank_is_killed_goes_on_from_its_journal(self):
        alone = support.fresh_folder("alone")
        status, expected, _ = run(0, *CHECK, "--json", alone / "json")
        self.assertEqual(status, 0)
        folder = support.fresh_folder("killed")
        words = [*CHECK, "--json", folder / "json"]
        child = subprocess.Popen(
            command_of(3, *words, "--journal", folder / "journal"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        while not any(b"\ndone " in file.read_bytes() for file in (folder / "journal").glob("*")):
            self.assertIsNone(child.poll())
            time.sleep(0.05)
        victim = next(
            int(entry.name)
            for entry in pathlib.Path("/proc").glob("[0-9]*")
            if self.is_rank(entry, 1, str(folder / "journal"))
        )
        os.kill(victim, signal.SIGKILL)
        out, err = child.communicate(timeout=120)
        self.assertNotEqual(child.returncode, 0)
        self.assertNotIn("Verdict", out)
        self.assertRegex(err, r"rank 1\b.* exited on signal 9")
        self.assertFalse((folder / "json").exists())

        status, out, err = run(2, *words, "--resume", folder / "journal")
        kept, items = map(int, re.search(r"attest: (\d+) of (\d+) items are in the journal", err).groups())
        self.assertTrue(0 < kept < items, err)
        self.assertRegex(err, r"was under way on rank \d when the job ended; it is done again")
        self.assertEqual((status, out), (0, expected))
        self.assertEqual((folder / "json").read_bytes(), (alone / "json").read_bytes())

        status, out, err = run(0, *words, "--resume", folder / "journal")
        self.assertIn(f"attest: {items} of {items} items are in the journal", err)
        self.assertEqual((status, out), (0, expected))

    def test_a_survey_goes_on_from_its_journal(self):
        folder = support.fresh_folder("survey")
        words, env = [*SURVEY, "--json", folder / "json"], of_survey()
        status, expected, _ = run(0, *words, "--journal", folder / "journal", env=env)
        self.assertEqual(status, 0)
        status, out, err = run(2, *words, "--resume", folder / "journal", env=env)
        self.assertEqual((status, out), (0, expected))
        items = re.search(r"attest: (\d+) of (\d+) items are in the journal", err).groups()
        self.assertEqual(items[0], items[1])
        self.assertNotIn("PASS", err)  # nothing was judged again
        status, out, err = run(2, *words, "--seed", "2", "--resume", folder / "journal", env=env)
        self.assertEqual(status, 2, out)
        self.assertIn("is of another job", err)

    @staticmethod
    def is_rank(process, rank, word):
        """Whether it is that rank of the job whose command line has the word, and no worker of it."""
        try:
            return (
                f"OMPI_COMM_WORLD_RANK={rank}\0".encode() in (process / "environ").read_bytes()
                and word.encode() in (process / "cmdline").read_bytes()
                and b"mpiexec" not in (process / "cmdline").read_bytes()
            )
        except OSError:
            return False

    def test_a_golden_file_that_changed_after_it_was_finished_is_noticed(self):
        folder = support.fresh_folder("golden")
        words = ["golden", "regenerate", "--only", "linear.a*", "--into", folder / "golden"]
        self.assertEqual(run(0, *words, "--journal", folder / "journal")[0], 0)
        (folder / "golden/linear/attention.safetensors").write_bytes(b"another")
        status, _, err = run(0, *words, "--resume", folder / "journal")
        self.assertEqual(status, 1)
        self.assertIn("linear/attention.safetensors is not the file that the journal says was written", err)


class Usage(unittest.TestCase):
    def test_a_journal_of_another_job_is_refused(self):
        folder = support.fresh_folder("journal")
        words = ["golden", "regenerate", "--only", "linear.a*", "--into", folder / "golden"]
        self.assertEqual(run(0, *words, "--journal", folder / "journal")[0], 0)
        status, _, err = run(0, *words, "--journal", folder / "journal")
        self.assertEqual(status, 2)
        self.assertIn("is there already, and not empty", err)
        status, _, err = run(0, *words[:3], "linear.c*", *words[4:], "--resume", folder / "journal")
        self.assertEqual(status, 2)
        self.assertIn("is of another job", err)
        status, _, err = run(2, *words, "--resume", folder / "golden")
        self.assertEqual(status, 2, err)
        self.assertIn("has no journal of a job", err)

    def test_what_has_no_items_to_share_is_refused(self):
        status, out, err = run(2, "show", "linear.causal")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("attest show is done by one process, and this is one of 2", err)

    def test_a_wrong_command_line_is_status_2(self):
        status, out, err = run(2, "mutants", "--only", "no such fault")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("matches no fault", err)

    def test_a_rank_without_mpi_says_so(self):
        empty = support.fresh_folder("plugins")
        status, out, err = run(
            2,
            "golden",
            "regenerate",
            "--only",
            "linear.a*",
            "--into",
            empty / "golden",
            env={"ATTEST_PLUGIN_DIR": str(empty)},
        )
        self.assertEqual((status, out), (2, ""))
        self.assertIn("attest cannot use MPI here", err)


if __name__ == "__main__":
    unittest.main()
