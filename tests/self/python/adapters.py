# SPDX-License-Identifier: MIT
"""adapters.py NAME: judges the adapters of one file of attest/adapters. Exit status 77, a skip, where its library is
not installed; 1 where a verdict is not what the adapter says: a failure that it does not explain, or an explained one
that passes. A library that compiles for every shape would take minutes, so each judgement begins no case after some
seconds, and says what was left; the regimes are for `attest survey`."""

import importlib
import sys

from attest._survey import verdict_of
from attest.adapters import Adapter


SECONDS = 6.0


def main(name):
    try:
        module = importlib.import_module(f"attest.adapters.{name}")
    except ModuleNotFoundError as error:
        print(f"skipped: {error}")
        return 77
    wrong = 0
    found = [one for one in vars(module).values() if isinstance(one, Adapter)]
    for one in found:
        for profile in one.profiles:
            report = one.check(profile, budget=SECONDS, strength=0)
            explained = one.explains.get(profile)
            left = sum(row["not_run"] for row in report.rows)
            verdict = verdict_of(report)
            print(
                f"{one.name} {one.version} {profile}: {verdict}"
                + (f", {left} cases and laws left" if left else "")
                + (f" (explained: {explained})" if explained else ""),
                flush=True,
            )
            if verdict == "INVALID" and left:
                print("too few cases in that time to say")
            elif verdict != "PASS" and not explained:
                wrong += 1
                print(report.diagnosis)
            elif verdict == "PASS" and explained and not left:
                wrong += 1
                print("it passes: the explanation is out of date")
    print(f"{len(found)} adapters")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
