"""Hooks of MkDocs: docs/ reads the same on the site and on GitHub."""

import importlib.util
import logging
import os
import re
from pathlib import Path

from mkdocs.structure.files import File

log = logging.getLogger("mkdocs.hooks.lintel")

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DOCS = ROOT / "docs"

# The tabs in their order. A page in another folder is not in the navigation, which fails the build.
TABS = [
    ("Tutorials", "tutorials"),
    ("How-to guides", "how-to"),
    (
        "Systems",
        [
            ("OpenClaw", "openclaw"),
            ("OpenVox", "openvox"),
            ("Orloj", "orloj"),
            ("openZro", "openzro"),
            ("zopp", "zopp"),
        ],
    ),
    ("Reference", "reference"),
    ("Concepts", "concepts"),
    ("Development", "development"),
]
# The titles of folders below those of tabs.
SECTIONS = {
    "reference/cli": "Command line",
    "reference/api": "API",
    "reference/conditions": "Conditions and reasons",
    "reference/errors": "Messages",
    "reference/api/policy": "Policies",
    "benchmarks": "Benchmarks",
} | {f"reference/api/{path}": name for name, path in TABS[2][1]}

# Folders that are shown below another one.
APART = {"development": ["benchmarks"]}

LINK = re.compile(r"\]\(([^)\s#]+\.md)")
# A block of code, or a link to a file.
FILE = re.compile(r"(?ms)^([ ]*)```.*?^\1```[ ]*$|`[^`\n]+`|\]\((?![a-z]+:|#)([^)\s]+)\)")
ITEM = re.compile(r"( *)([-*+]|\d+\.) +")


def title(page):
    """The title of a page: its first line."""
    line = page.read_text().partition("\n")[0]
    if not line.startswith("# "):
        log.warning("%s:1: the first line is not a title, which is '# ' and text", page.relative_to(ROOT))
    return line.removeprefix("# ")


def folder(path):
    """The navigation of a folder: index.md, the pages in the order of its links, then the others."""
    top = DOCS / path
    index = top / "index.md"
    linked = LINK.findall(index.read_text()) if index.exists() else []
    rank = {name: position for position, name in reversed(list(enumerate(linked)))}
    pages = sorted(
        (page for page in top.glob("*.md") if page != index),
        key=lambda page: (rank.get(page.name, len(linked)), title(page).lower()),
    )
    entries = [str(page.relative_to(DOCS)) for page in ([index] if index.exists() else []) + pages]
    for sub in sorted(sub for sub in top.glob("*") if sub.is_dir()) + [DOCS / elsewhere for elsewhere in APART.get(path, [])]:
        name = str(sub.relative_to(DOCS))
        if inner := folder(name):
            entries.append({SECTIONS.get(name, sub.name): inner})
    return entries


def on_config(config):
    """Builds the navigation from the folders."""

    def section(name, path):
        entries = folder(path) if isinstance(path, str) else [e for inner in path for e in section(*inner)]
        return [{name: entries}] if entries else []

    home = [{"Home": "index.md"}] if (DOCS / "index.md").exists() else []
    config.nav = home + [entry for tab in TABS for entry in section(*tab)]
    return config


def on_files(files, config):
    """Adds the style, and Mermaid, which the theme would load from elsewhere."""
    mermaid = Path(importlib.util.find_spec("instaui_mermaid").origin).parent / "static"
    sources = {f"assets/{path.name}": path for path in (HERE / "assets").iterdir()}
    for path in [mermaid / "mermaid.esm.min.mjs", *(mermaid / "chunks").rglob("*.mjs")]:
        sources[f"assets/mermaid/{path.relative_to(mermaid)}"] = path
    for name, path in sources.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Leads links out of docs/ to the repository, and indents lists as Python's Markdown needs it."""
    if "Written by make generate" in markdown:
        page.edit_url = None
    return indented(FILE.sub(lambda match: link(match, page, config), markdown))


def link(match, page, config):
    """The link of a match: to a page, or to the repository if it leaves docs/."""
    if not match[2]:
        return match[0]
    path, hash, anchor = match[2].partition("#")
    target = ((DOCS / page.file.src_uri).parent / path).resolve()
    if target.is_relative_to(DOCS):
        home = next((name for name in ("index.md", "README.md") if (target / name).exists()), None)
        return f"]({path.rstrip('/')}/{home}{hash}{anchor})" if home else match[0]
    if not target.exists():
        log.warning("docs/%s links to %s, which does not exist", page.file.src_uri, match[2])
    kind = "tree" if target.is_dir() else "blob"
    ref = os.environ.get("DOCS_REF", "main")
    return f"]({config.repo_url.rstrip('/')}/{kind}/{ref}/{target.relative_to(ROOT)}{hash}{anchor})"


def indented(markdown):
    """Indents the content of lists by four, and separates a list from the paragraph above it."""
    lines, levels, fence = [], [], None  # levels: by how much the content of each open list is indented
    for line in markdown.split("\n"):
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        if not fence and text:
            while levels and indent < levels[-1]:
                levels.pop()
        depth = len(levels)
        shift = 4 * depth - levels[-1] if levels else 0
        item = None if fence else ITEM.match(line)
        if item:
            if depth == 0 and lines and lines[-1].strip() and not lines[-1].startswith((" ", "#")) and not ITEM.match(lines[-1]):
                lines.append("")
            levels.append(item.end())
        if text.startswith("```"):
            fence = None if fence else "```"
        lines.append(" " * (indent + shift) + text if text else "")
    return "\n".join(lines)
