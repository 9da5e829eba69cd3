# SPDX-License-Identifier: MIT
"""Pages of this project: their blocks, marks, links and headings.

A block is a fence (```) at the start of a line. A comment in the line before it is its mark:

    (none)                         ```console: commands after "$ ", each with what it prints; ```math: a formula
    <!-- console: OPTIONS -->      the same; options, separated by ";":
        status N                   exit status of the last command (default 0)
        first N, last N            the first and last lines of the output are shown, with "..." between them
        quiet                      the output is not shown
        needs MODULE               the commands run only where Python can import the module
        record NAME                tools/test leaves the output in records/NAME.txt of the build folder
    <!-- file: PATH -->            the text of a file; "; from TEXT" and "; to TEXT" name the first and the last line of
                                   an excerpt by how they begin
    <!-- not run: REASON -->       commands that are not run, or text that is no program
"""

import dataclasses
import os
import pathlib
import re

LICENCE = re.compile(r"\A(#|//|/\*) SPDX-License-Identifier: MIT( \*/)?\n")
OPTIONS = {"status": int, "first": int, "last": int, "quiet": None, "needs": str, "record": str}
README, README_LINES = pathlib.Path("README.md"), 150
RECORDS = "records"  # a folder of dated results, whose blocks are what they were
ROOMS = "specs|reference|golden|optimized|tests|tools"


class Mistake(Exception):
    """A page that breaks a rule; the text says where."""


@dataclasses.dataclass
class Block:
    line: int  # of the opening fence, from 1
    language: str
    mark: str
    text: str


def all_pages(project):
    """The paths of all pages, relative to the project."""
    found = []
    for folder, folders, files in os.walk(project):
        folders[:] = sorted(name for name in folders if name != "build" and not name.startswith("."))
        found += [pathlib.Path(folder, name).relative_to(project) for name in sorted(files) if name.endswith(".md")]
    return found


def blocks(text):
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        if lines[number].startswith("```"):
            close = next((i for i in range(number + 1, len(lines)) if lines[i].startswith("```")), None)
            if close is None:
                raise Mistake(f"line {number + 1}: the fence is not closed")
            mark = re.fullmatch(r"<!-- (.*) -->", lines[number - 1]) if number else None
            inside = "".join(line + "\n" for line in lines[number + 1 : close])
            yield Block(number + 1, lines[number][3:].strip(), mark[1] if mark else "", inside)
            number = close
        number += 1


def with_blocks(text, changed):
    """The text with the insides of some blocks changed: {line of the opening fence: new inside}."""
    lines = text.split("\n")
    for block in reversed(list(blocks(text))):
        if block.line in changed:
            lines[block.line : block.line + block.text.count("\n")] = changed[block.line].split("\n")[:-1]
    return "\n".join(lines)


def reason_not_to_run(block):
    return block.mark.removeprefix("not run: ") if block.mark.startswith("not run: ") else None


def options_of(block):
    if not block.mark:
        return {}
    if not block.mark.startswith("console: "):
        raise Mistake(f"line {block.line}: the mark of commands begins with 'console:' or 'not run:'")
    given = {}
    for option in block.mark.removeprefix("console: ").split(";"):
        word, _, value = option.strip().partition(" ")
        if word not in OPTIONS or (OPTIONS[word] is None) != (value == ""):
            raise Mistake(f"line {block.line}: unknown option '{option.strip()}'; there are {', '.join(OPTIONS)}")
        given[word] = OPTIONS[word](value) if OPTIONS[word] else True
    return given


def commands_of(block):
    """[(command, what it is shown to print)]; a command goes on after a backslash."""
    found = []
    continued = False
    for line in block.text.splitlines(keepends=True):
        if continued:
            found[-1][0] += line.strip("\n").removeprefix("> ")
        elif line.startswith("$ "):
            found.append([line[2:].strip("\n"), ""])
        elif not found:
            raise Mistake(f"line {block.line}: a block of commands begins with '$ '")
        else:
            found[-1][1] += line
            continue
        continued = found[-1][0].endswith("\\")
        if continued:
            found[-1][0] += "\n"
    return found


def file_text(block, project):
    """What the file says that a block is marked with."""
    path, *limits = re.split(r"; (?=from |to )", block.mark.removeprefix("file: "))
    if not (project / path).is_file():
        raise Mistake(f"line {block.line}: there is no file {path}")
    lines = LICENCE.sub("", (project / path).read_text()).splitlines(keepends=True)
    for limit in limits:
        word, _, start = limit.partition(" ")
        at = next((i for i, line in enumerate(lines) if line.startswith(start)), None)
        if word not in ("from", "to") or at is None:
            raise Mistake(f"line {block.line}: '{limit}' names no line of {path}")
        lines = lines[at:] if word == "from" else lines[: at + 1]
    return "".join(lines)


def prose(text):
    """The text with blocks made empty, line for line."""
    lines, inside = [], False
    for line in text.split("\n"):
        fence = line.startswith("```")
        lines.append("" if inside or fence else line)
        inside ^= fence
    return "\n".join(lines)


def anchors(text):
    """Anchors of the headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", prose(text), re.M):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        copies = sum(1 for one in found if re.fullmatch(re.escape(words) + r"(-\d+)?", one))
        found.add(f"{words}-{copies}" if copies else words)
    return found


def links(text):
    """[(line, target)] of the links that are no address of the web."""
    for number, line in enumerate(prose(text).split("\n"), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "``", line)):
            if not re.match(r"[a-z]+:", target):
                yield number, target


def mistakes(project, page):
    """What is wrong with a page that can be seen without running anything."""
    text = (project / page).read_text()
    try:
        for block in blocks(text) if page.parent.name != RECORDS else ():
            yield from mistakes_of_block(project, block)
    except Mistake as mistake:
        yield str(mistake)
    lines = prose(text).split("\n")
    for number, (before, line) in enumerate(zip(["", *lines], lines), 1):
        if re.match(r" +```", line):
            yield f"line {number}: a fence begins at the start of its line"
        if line.startswith("    ") and not before.strip():
            yield f"line {number}: an indented block; commands and files stand between ``` and ```"
        for path in re.findall(rf"`((?:{ROOMS})/[\w./-]+)`", line):
            if not (project / path).exists() and not re.search("family/stem|NAME", path):
                yield f"line {number}: there is no {path}"
    if page == README and len(lines) > README_LINES + 1:
        yield f"{len(lines) - 1} lines, at most {README_LINES} are allowed"
    for number, target in links(text):
        path, _, anchor = target.partition("#")
        to = (project / page).parent / path if path else project / page
        if not to.exists():
            yield f"line {number}: the link to {target} leads nowhere"
        elif anchor and anchor not in anchors(to.read_text()):
            yield f"line {number}: {target} has no such heading"
    if not is_in_index(project, page):
        yield f"no link leads here from {index_of(project, page)}"


def mistakes_of_block(project, block):
    if block.language == "console":
        commands = commands_of(block)
        if reason_not_to_run(block) is None:
            options_of(block)
            if not commands:
                yield f"line {block.line}: no command"
    elif block.mark.startswith("file: "):
        if block.text != file_text(block, project):
            yield f"line {block.line}: not the text of {block.mark.removeprefix('file: ')}; tools/docs rewrites it"
    elif block.language != "math" and not reason_not_to_run(block):
        yield f"line {block.line}: a block without a mark; tools/documents/pages.py lists the marks"


def index_of(project, page):
    """The page that must link to this one: README.md of its folder or of the nearest folder above."""
    folders = page.parents if page.name != "README.md" else page.parent.parents
    return next((folder / "README.md" for folder in folders if (project / folder / "README.md").is_file()), README)


def is_in_index(project, page):
    if page == README:
        return True
    index = project / index_of(project, page)
    if not index.is_file():
        return False
    targets = (index.parent / target.partition("#")[0] for _, target in links(index.read_text()))
    return any(os.path.normpath(target) == os.path.normpath(project / page) for target in targets)
