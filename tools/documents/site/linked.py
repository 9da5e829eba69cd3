# SPDX-License-Identifier: MIT
"""What the site has beyond pages: MathML, navigation by folders, pages of files, links wherever an equation, a fault or
a file is named, and at each end of a link where it comes from.

An equation is a section of a page of the handbook, a fault a row of its table of faults. Both are read from the
Markdown first, so that a page can link to what Sphinx reads later."""

import collections
import functools
import html
import pathlib
import re
import shutil

import math_core
import pages
import pygments.lexers
import pygments.util
from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

LOG = logging.getLogger(__name__)
HANDBOOK = "specs/handbook"
FAULTS = f"{HANDBOOK}/faults"  # a page that is no file: every fault by its name
ABOUT_FAULTS = ("specs/decisions/0009-faults-are-variants-of-the-reference", "specs/decisions/0024-names-on-evidence")
WORD = re.compile(r"[a-z]+\.[a-z0-9_]+|[a-z0-9]+(?:_[a-z0-9]+)+|[a-z]+(?:/[\w.-]+)+")
NOT_LINKED = (nodes.reference, nodes.title, nodes.literal_block, nodes.math_block, nodes.raw, nodes.comment)
FILES = ("specs", "reference/include/attest/reference", "tests/faults", "tests/properties")


class Site:
    """What is known of the project before the first page is read, and the links that reading finds."""

    def __init__(self, project):
        self.project = pathlib.Path(project)
        self.pages = [page.with_suffix("").as_posix() for page in pages.all_pages(self.project)]
        self.equations = {}  # family.stem: its page
        self.slugs = {}  # (page, anchor of an equation in Markdown): its id
        self.faults = collections.defaultdict(list)  # name: [(equation, what is done instead)]
        for page in self.pages:
            if page.startswith(HANDBOOK):
                self.read(page)
        self.files = {}  # family.stem: its spec, reference, faults and properties
        for equation in self.equations:
            family, _, stem = equation.partition(".")
            found = [path for room in FILES for path in sorted(self.project.glob(f"{room}/{family}/{stem}.*"))]
            self.files[equation] = [path.relative_to(self.project).as_posix() for path in found]
        self.shown = {name for names in self.files.values() for name in names}  # files that have a page
        self.links = collections.defaultdict(set)  # (page or file, anchor): {(page, equation or "")} that link there
        self.navigation = {}  # folder: HTML
        for equation, files in self.files.items():
            for path in files:
                self.links[path, ""].add((self.equations[equation], equation))
        for page in ABOUT_FAULTS:
            self.links[page, ""].add((FAULTS, ""))

    def read(self, page):
        equation = kind = ""
        for line in pages.prose((self.project / f"{page}.md").read_text()).split("\n"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if heading := re.fullmatch(r"## (\w+\.\w+)", line):
                equation = heading[1]
                self.equations[equation] = page
                self.slugs[page, equation.replace(".", "")] = nodes.make_id(equation)
            elif not cells:
                kind = ""
            elif not kind:
                kind = cells[0]
            elif kind == "fault" and not cells[0].startswith("-"):
                self.faults[cells[0].strip("`")].append((equation, re.sub(r"\\(.)", r"\1", cells[1])))

    def target(self, word, equation, is_evidence):
        """(page, anchor) of what a word names, in the section of an equation or in none (""); None if nothing."""
        if word in self.equations:
            return None if word == equation else (self.equations[word], nodes.make_id(word))
        if equation and is_evidence and any(owner == equation for owner, _ in self.faults.get(word, ())):
            return self.equations[equation], fault_id(equation, word)
        if not equation and "_" in word and word in self.faults:
            return FAULTS, word
        if re.match(rf"(?:{pages.ROOMS})/.", word) and (self.project / word).is_file():
            return self.file(word)
        return None

    def file(self, path):
        if path.endswith(".md"):
            return path.removesuffix(".md"), ""
        self.shown.add(path)
        return path, ""


def fault_id(equation, name):
    return f"{nodes.make_id(equation)}-fault-{name}"


def before_pages(app, config):
    app.attest = Site(app.srcdir)
    config.include_patterns = [f"{page}.md" for page in app.attest.pages]


def relative(app, source, target):
    page, anchor = target
    return app.builder.get_relative_uri(source, page) + (f"#{anchor}" if anchor else "")


def link(app, source, target, *inside):
    return nodes.reference("", "", *inside, internal=True, refuri=relative(app, source, target))


def equation_of(app, node):
    """The equation in whose section a node stands, or ""."""
    while node := node.parent:
        if isinstance(node, nodes.section) and node.next_node(nodes.title).astext() in app.attest.equations:
            return node.next_node(nodes.title).astext()
    return ""


def page_was_read(app, doctree):
    page, site = app.env.docname, app.attest
    add_navigation(app, page, doctree)
    if page == f"{HANDBOOK}/README":
        doctree[-1].insert(1, nodes.paragraph("", "", link(app, page, (FAULTS, ""), nodes.Text("All faults by name"))))
    if page.startswith(HANDBOOK):
        mark_equations(app, page, doctree)
    for node in list(doctree.findall(addnodes.download_reference)):
        path = (site.project / page).parent.joinpath(node["reftarget"]).resolve().relative_to(site.project)
        target = site.file(path.as_posix())
        site.links[target].add((page, equation_of(app, node)))
        node.replace_self(link(app, page, target, *node.children))
    for node in doctree.findall(addnodes.pending_xref):
        anchor = site.slugs.get((node["reftarget"], node.get("reftargetid")), "")
        site.links[node["reftarget"], anchor].add((page, equation_of(app, node)))
    for node in list(doctree.findall(nodes.Text)):
        link_words(app, page, node)


def index_of(app, page):
    return pages.index_of(app.attest.project, pathlib.Path(f"{page}.md")).with_suffix("").as_posix()


def add_navigation(app, page, doctree):
    """A page is below the README.md of its folder, in the order in which that page links to them."""
    project, path = app.attest.project, pathlib.Path(f"{page}.md")
    if path.name != "README.md":
        return
    targets = [
        (project / path).parent / target.split("#")[0] for _, target in pages.links((project / path).read_text())
    ]
    order = {str(target.resolve()): number for number, target in reversed(list(enumerate(targets)))}
    below = [name for name in app.attest.pages if name != page and index_of(app, name) == page]
    below.sort(key=lambda name: order.get(str(project / f"{name}.md"), len(order)))
    if below:
        entries = [(None, name) for name in below]
        doctree[-1] += addnodes.toctree(
            parent=page, entries=entries, includefiles=below, maxdepth=-1, glob=False, hidden=True, numbered=0,
            titlesonly=True, includehidden=True, caption=None, rawentries=[], rawcaption="",
        )  # fmt: skip


def mark_equations(app, page, doctree):
    """Makes equations and faults known to the search, and gives each fault an id."""
    domain = app.env.get_domain("std")
    for title in doctree.findall(nodes.title):
        if title.astext() in app.attest.equations:
            domain.note_object("equation", title.astext(), title.parent["ids"][0], title)
    for table in doctree.findall(nodes.table):
        head, *rows = table.findall(nodes.row)
        equation = equation_of(app, table)
        if head[0].astext() != "fault" or not equation:
            continue
        for row in rows:
            name = row[0].astext()
            row["ids"].append(fault_id(equation, name))
            domain.note_object("fault", f"{equation}.{name}", row["ids"][0], row)
            for literal in list(row[0].findall(nodes.literal)):
                literal.replace_self(link(app, page, (FAULTS, name), literal.deepcopy()))


def link_words(app, page, text):
    """Makes links of the equations, faults and files that a text names."""
    above = text.parent
    while above:
        if isinstance(above, NOT_LINKED):
            return
        above = above.parent
    equation, end, new = equation_of(app, text), 0, []
    words = [WORD.fullmatch(text)] if isinstance(text.parent, nodes.literal) else WORD.finditer(text)
    for word in filter(None, words):
        target = app.attest.target(word[0], equation, text[: word.start()].endswith("fault "))
        if target and target != (page, ""):
            app.attest.links[target].add((page, equation))
            new += [nodes.Text(text[end : word.start()]), link(app, page, target, nodes.Text(word[0]))]
            end = word.end()
    if new:
        text.parent.replace(text, [*new, nodes.Text(text[end:])])


def sources(app, page, target):
    """[(title, (page, anchor))] of the other pages and equations that link to a target. The index of a folder is not
    among them: it links to each page there."""
    index = index_of(app, page) if page in app.attest.pages else ""
    found = {source for source in app.attest.links[target] if source[0] not in (page, index)}
    return sorted((equation or title_of(app, source), (source, nodes.make_id(equation))) for source, equation in found)


def title_of(app, page):
    return "Faults" if page == FAULTS else app.env.titles[page].astext()


def page_is_written(app, doctree, page):
    site = app.attest
    for section in list(doctree.findall(nodes.section)):
        equation = section.next_node(nodes.title).astext()
        if page == site.equations.get(equation):
            files = [(name, (name, "")) for name in site.files[equation]]
            section += listed(app, page, "Files", files)
            section += listed(app, page, "Linked from", sources(app, page, (page, nodes.make_id(equation))))
    doctree[-1] += listed(app, page, "Linked from", sources(app, page, (page, "")))


def listed(app, page, heading, entries):
    if not entries:
        return []
    items = [
        nodes.list_item("", nodes.paragraph("", "", link(app, page, target, nodes.Text(title))))
        for title, target in entries
    ]
    return [nodes.rubric("", heading), nodes.bullet_list("", *items, classes=["linked"])]


def pages_that_are_no_files(app):
    """The page of faults, and a page for each file that a page names."""
    for path in sorted(app.attest.shown):
        text = (app.attest.project / path).read_text()
        try:
            lexer = pygments.lexers.get_lexer_for_filename(path).aliases[0]
        except pygments.util.ClassNotFound:
            lexer = "text"
        code = app.builder.highlighter.highlight_block(text, lexer, force=True)
        yield path, {"title": path, "body": f"<h1>{path}</h1>{where(app, path, (path, ''))}{code}"}, "page.html"
    yield FAULTS, {"title": "Faults", "body": faults(app)}, "page.html"


def kept(known, key, make, **options):
    if key not in known:
        known[key] = make(**options)
    return known[key]


def share_navigation(app, page, template, context, doctree):
    """Navigation is the same for the pages of a folder that are no files; making it takes longer than all else."""
    if doctree is None:
        folder = page.rpartition("/")[0]
        context["toctree"] = functools.partial(kept, app.attest.navigation, folder, context["toctree"])


def anchor(app, page, title, target):
    return f'<a class="reference internal" href="{relative(app, page, target)}">{html.escape(title)}</a>'


def where(app, page, target):
    found = ", ".join(anchor(app, page, *source) for source in sources(app, page, target))
    return f"<p>Linked from {found}</p>" if found else ""


def faults(app):
    rows = []
    for name, of in sorted(app.attest.faults.items()):
        what = "".join(
            f"<li>{anchor(app, FAULTS, equation, (app.attest.equations[equation], fault_id(equation, name)))}: "
            f"{html.escape(done)}</li>"
            for equation, done in of
        )
        rows.append(
            f'<dt id="{name}"><code>{name}</code></dt><dd><ul>{what}</ul>{where(app, FAULTS, (FAULTS, name))}</dd>'
        )
    about = ", ".join(anchor(app, FAULTS, title_of(app, page), (page, "")) for page in ABOUT_FAULTS)
    return f"<h1>Faults</h1><p>What kernels get wrong, by name. {about}.</p><dl>{''.join(rows)}</dl>"


def formula(self, node):
    block = isinstance(node, nodes.math_block)
    try:
        tex = self.builder.app.attest_math.convert_with_local_state(node.astext(), displaystyle=block)
    except math_core.LatexError as error:
        LOG.warning("not TeX that math-core reads: %s", error, location=node)
        raise nodes.SkipNode from None
    self.body.append(f'<div class="math">{tex}</div>' if block else tex)
    raise nodes.SkipNode


def copy_indexes(app, exception):
    """A folder opens with its README."""
    for page in [] if exception else app.env.found_docs:
        if page.endswith("README"):
            written = pathlib.Path(app.outdir, f"{page}.html")
            shutil.copyfile(written, written.with_name("index.html"))


def setup(app):
    app.attest_math = math_core.LatexToMathML(fancy_error=False)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.add_object_type("equation", "equation")
    app.add_object_type("fault", "fault")
    app.connect("config-inited", before_pages)
    app.connect("doctree-read", page_was_read, priority=100)  # before Sphinx looks for navigation
    app.connect("doctree-resolved", page_is_written)
    app.connect("html-collect-pages", pages_that_are_no_files)
    app.connect("html-page-context", share_navigation, priority=100)  # before the theme asks for it
    app.connect("build-finished", copy_indexes)
