# SPDX-License-Identifier: MIT
"""adapters.py NAME: judges the adapters of one file of attest/adapters. Exit status 77, a skip, where its library is not installed;
1 where a verdict is not what the adapter says: a failure that it does not explain, or an explained one that passes."""
import importlib
import sys

import attest
from attest.adapters import Adapter


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
            report = one.check(profile)
            expected = profile not in one.explains
            wrong += report.passed != expected
            print(f"{one.name} {one.version} {profile}: {report.verdict}" + ("" if expected else f" (explained: {one.explains[profile]})"), flush=True)
            if report.passed != expected:
                print(report.diagnosis if expected else "it passes: the explanation is out of date")
    print(f"{len(found)} adapters")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
