# SPDX-License-Identifier: MIT
# Runs in one part of the long tests: 2
"""tools/deb: the source package of this project, and that the same commit gives the same bytes."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

import support

ROOT = support.HERE.parents[2]


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True).stdout


def deb(project, *words, **environment):
    """Its exit status, its errors, and the folder with what it made."""
    out = support.fresh_folder("deb")
    done = subprocess.run(
        [project / "tools/deb", "--no-lintian", *words, out],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
        umask=int(environment.get("UMASK", "022"), 8),
    )
    return done.returncode, done.stderr, out


def package(project, **environment):
    """The source package of a project's last commit."""
    status, errors, out = deb(project, **environment)
    assert status == 0, errors
    return out


def hashes(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name.endswith((".dsc", ".tar.xz"))
    }


def files(folder):
    (archive,) = folder.glob("*.tar.xz")
    with tarfile.open(archive) as tar:
        return {member.name.partition("/")[2]: member for member in tar if not member.isdir()}


def small_project():
    """A checkout with the tool, its folder, and files whose names dpkg-source leaves out unless it is told not to."""
    folder = support.fresh_folder("small")
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools/deb", folder / "tools")
    shutil.copytree(ROOT / "tools/debian", folder / "tools/debian")
    shutil.copy(ROOT / "CMakeLists.txt", folder)
    for name in (".gitignore", "object.o", "lib.so", "kept~", "b", "a"):
        (folder / name).write_text(f"{name}\n")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def commit(folder):
    git(folder, "add", "--all", "--force")
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    git(folder, *who, "commit", "--quiet", "--message", "files")


class SmallProject(unittest.TestCase):
    def test_the_same_commit_gives_the_same_bytes(self):
        project = small_project()
        first = package(project)
        self.assertEqual(len(hashes(first)), 2)
        clone = support.fresh_folder("another place") / "clone"
        git(project, "clone", "--quiet", project, clone)
        for path in clone.iterdir():
            os.utime(path, (1, 1))
        self.assertEqual(hashes(package(clone, UMASK="077", TZ="Asia/Tokyo", LC_ALL="C")), hashes(first))

    def test_another_commit_gives_other_bytes(self):
        project = small_project()
        first = package(project)
        (project / "a").write_text("b\n")
        commit(project)
        self.assertNotEqual(hashes(package(project)), hashes(first))

    def test_modes_are_kept_and_what_is_not_committed_is_left_out(self):
        project = small_project()
        (project / "new").touch()
        status, errors, out = deb(project)
        self.assertEqual(status, 0, errors)
        self.assertIn("what is not committed is left out", errors)
        packed = files(out)
        self.assertNotIn("new", packed)
        self.assertEqual((packed["run"].mode & 0o777, packed["a"].mode & 0o777), (0o755, 0o644))
        self.assertEqual({member.uid for member in packed.values()}, {0})

    def test_versions_must_agree(self):
        project = small_project()
        lists = project / "CMakeLists.txt"
        lists.write_text(re.sub(r"(project\(attest VERSION )[0-9.]+", r"\g<1>99.0", lists.read_text()))
        commit(project)
        status, errors, _ = deb(project)
        self.assertEqual(status, 1)
        self.assertIn("CMakeLists.txt of 99.0", errors)

    def test_wrong_usage_is_status_2(self):
        project = small_project()
        self.assertEqual(deb(project, "--bin")[0], 2)
        self.assertEqual(deb(project, "one")[0], 2)


class Project(unittest.TestCase):
    def test_the_package_holds_every_tracked_file(self):
        tracked = set(git(ROOT, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")) - {""}
        packed = set(files(package(ROOT)))
        folder = "tools/debian/"
        debian = {"debian/" + name.removeprefix(folder) for name in tracked if name.startswith(folder)}
        self.assertGreater(len(debian), 4)
        self.assertEqual(packed, tracked | debian)

    def test_what_the_build_needs_is_among_the_packages_that_are_installed(self):
        def packages(name):
            lines = (ROOT / "tools" / name).read_text().splitlines()
            return {line.split()[0] for line in lines if line and line[0] != "#"}

        control = (ROOT / "tools/debian/control").read_text()
        needed = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.M)[1]
        needed = set(re.findall(r"^ ([^ ,]+)", needed, re.M)) - {"debhelper-compat"}
        self.assertGreater(len(needed), 10)
        self.assertLessEqual(needed, packages("packages.txt") | packages("packages-deb.txt"))


if __name__ == "__main__":
    tools = shutil.which("git") and shutil.which("dpkg-buildpackage")
    if not tools or subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True).returncode:
        print("skipped: needs a checkout with a commit, and dpkg-buildpackage (Debian's dpkg-dev)")
        sys.exit(77)
    unittest.main()
