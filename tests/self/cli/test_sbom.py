# SPDX-License-Identifier: MIT
# Runs in one part of the long tests: 1
"""tools/sbom: what a wheel carries, from a small wheel beside the build of the tests."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import support

BUILD = os.environ.get("ATTEST_BUILD_DIR", "")


def library():
    """A library of Debian that a wheel carries."""
    (path,) = {path.resolve() for path in pathlib.Path("/usr/lib").glob("*/libgmp.so.10")}
    return path


def wheel(digits=None):
    """An unpacked wheel that carries the library, under the name that auditwheel gives it."""
    tree = support.fresh_folder("wheel")
    dist = tree / "attest-1.2.dist-info"
    dist.mkdir()
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: attest\nVersion: 1.2\n")
    (dist / "WHEEL").write_text("Tag: py3-none-any\n")
    digits = digits or hashlib.sha256(library().read_bytes()).hexdigest()[:8]
    stem, _, rest = library().name.partition(".so")
    (tree / "attest.libs").mkdir()
    shutil.copy(library(), tree / "attest.libs" / f"{stem}-{digits}.so{rest}")
    return tree


def sbom(tree):
    python = support.PROJECT / "build/wheel-venv/bin/python"
    done = subprocess.run(
        [python, support.PROJECT / "tools/sbom", tree, BUILD],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )
    return done.returncode, done.stderr, tree / "attest-1.2.dist-info/sboms/attest.spdx.json"


class Sbom(unittest.TestCase):
    def test_it_lists_what_is_carried_linked_and_compiled_in(self):
        status, errors, path = sbom(wheel())
        self.assertEqual(status, 0, errors)
        document = json.loads(path.read_text())
        self.assertEqual((document["spdxVersion"], document["name"]), ("SPDX-2.3", "attest-1.2"))
        self.assertEqual(document["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        packages = {package["name"]: package for package in document["packages"]}
        relations = {entry["relatedSpdxElement"]: entry["relationshipType"] for entry in document["relationships"]}
        named = {name: relations[package["SPDXID"]] for name, package in packages.items()}
        self.assertEqual(named["attest"], "DESCRIBES")
        self.assertEqual(named["libgmp10"], "CONTAINS")
        self.assertEqual(named["librapidcheck-dev"], "STATIC_LINK")
        self.assertEqual(named["libeigen3-dev"], "STATIC_LINK")
        self.assertNotIn("libgmp-dev", named)  # its headers declare what libgmp10 has
        self.assertFalse({"libc6-dev", "linux-libc-dev"} & set(named))
        gmp = packages["libgmp10"]
        self.assertEqual(gmp["licenseDeclared"], "GPL-2.0-or-later OR LGPL-3.0-or-later")
        self.assertRegex(gmp["supplier"], r"^Organization: .+ \(.+@.+\)$")
        expected = hashlib.sha256(library().read_bytes()).hexdigest()
        self.assertEqual(gmp["checksums"], [{"algorithm": "SHA256", "checksumValue": expected}])
        texts = {entry["licenseId"] for entry in document["hasExtractedLicensingInfos"]}
        used = set(re.findall(r"LicenseRef-[\w.-]+", json.dumps(document["packages"])))
        self.assertEqual(used, texts)

    def test_the_same_wheel_gives_the_same_bytes(self):
        self.assertEqual(*(sbom(wheel())[2].read_bytes() for _ in range(2)))

    def test_a_library_of_no_package_is_an_error(self):
        status, errors, path = sbom(wheel(digits="00000000"))
        self.assertEqual(status, 1)
        self.assertIn("of no package that is known:\n  libgmp-00000000.so", errors)
        self.assertFalse(path.exists())


if __name__ == "__main__":
    if not (BUILD and shutil.which("dpkg-query")):
        print("skipped: needs ATTEST_BUILD_DIR, a build folder, and Debian's package database")
        sys.exit(77)
    subprocess.run([support.PROJECT / "tools/venv", "wheel"], check=True, stdout=subprocess.DEVNULL)
    unittest.main()
