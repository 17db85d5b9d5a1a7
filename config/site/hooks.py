"""Hooks of MkDocs: docs/ reads the same on the site and on GitHub."""

import importlib.util
import logging
import os
import re
from pathlib import Path

import yaml
from mkdocs.structure.files import File, InclusionLevel

log = logging.getLogger("mkdocs.hooks.lintel")

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DOCS = ROOT / "docs"
LIBRARY = ROOT / "config" / "library"

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
    "reference/library": "Policy library",
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
    for policy in LIBRARY.glob("*/*/*.rego"):
        if policy.stem == policy.parent.name:
            files.append(File.generated(config, policy_page(policy), content=policy_text(policy), inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def policy_page(policy):
    """The page of a policy of the library."""
    return f"reference/library/policies/{policy.stem}.md"


def policy_text(policy):
    """Describes a policy of the library by its METADATA, its manifests and its source."""
    source = policy.read_text()
    comment = source.partition("\npackage ")[0].splitlines()[1:]
    metadata = yaml.safe_load("\n".join(line.removeprefix("#").removeprefix(" ") for line in comment))
    custom = metadata["custom"]
    bundles = [b for b in sorted((LIBRARY / "bundles").glob("*.yaml")) if policy.stem in yaml.safe_load(b.read_text())["policies"]]
    links = ", ".join(f"[{yaml.safe_load(b.read_text())['title']}](../{b.stem}.md)" for b in bundles)
    parts = [
        f"# {metadata['title']}",
        metadata["description"],
        f"| | |\n|---|---|\n| Name | `{policy.stem}` |\n| Severity | {custom['severity']} |\n| Bundles | {links} |",
        f"**Rationale:** {custom['rationale']}",
        f"**Remedy:** {custom['remedy']}",
    ]
    if parameters := custom.get("parameters"):
        rows = "".join(f"\n| `{name}` | {text} |" for name, text in parameters.items())
        parts.append(f"## Parameters\n\n| Parameter | Value |\n|---|---|{rows}")
    for heading, name in [("Denied", "bad.yaml"), ("Admitted", "good.yaml")]:
        parts.append(f"## {heading}\n\n```yaml\n{(policy.parent / name).read_text()}```")
    parts.append("## Source\n\n```rego\n" + source + "```")
    parts.append("## References\n\n" + "\n".join(f"- [{r['description']}]({r['ref']})" for r in metadata["related_resources"]))
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown, page, config, files):
    """Leads links out of docs/ to the repository, and indents lists as Python's Markdown needs it."""
    if "Written by make generate" in markdown or page.file.generated_by:
        page.edit_url = None
    return indented(FILE.sub(lambda match: link(match, page, config), markdown))


def link(match, page, config):
    """The link of a match: to a page, or to the repository if it leaves docs/. Policies of the library have pages."""
    if not match[2]:
        return match[0]
    path, hash, anchor = match[2].partition("#")
    target = ((DOCS / page.file.src_uri).parent / path).resolve()
    if target.is_relative_to(DOCS):
        home = next((name for name in ("index.md", "README.md") if (target / name).exists()), None)
        return f"]({path.rstrip('/')}/{home}{hash}{anchor})" if home else match[0]
    if target.is_relative_to(LIBRARY) and target.suffix == ".rego" and target.stem == target.parent.name:
        return f"]({os.path.relpath(policy_page(target), os.path.dirname(page.file.src_uri))})"
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
