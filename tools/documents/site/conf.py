# SPDX-License-Identifier: MIT
"""What tools/site tells Sphinx, which reads the pages (*.md) where they are. linked.py has the rest."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

project = "attest"
extensions = ["myst_parser", "linked"]
root_doc = "README"
smartquotes = False  # `--only` in a text is two hyphens
exclude_patterns = ["build", ".*"]

# Markdown as GitHub reads it, with blocks of `math`.
myst_heading_anchors = 6
myst_fence_as_directive = ["math"]
myst_disable_syntax = ["myst_role", "myst_line_comment", "myst_target", "blockbreak", "footnote_def", "footnote_ref"]
suppress_warnings = ["myst.header"]  # a record may have headings of level 3 alone
highlight_language = "text"

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = "attest"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
html_use_index = False
