"""What `mkdocs build` does beside reading pages: the start page, lists of pages, and links that leave the documents."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parents[2] / "docs"
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
LISTED = {"decisions": "Decisions", "results": "Results"}
"""Folder -> title of a page that lists its pages."""


def on_config(config: Any) -> Any:
    """Put a folder's pages where the navigation has `FOLDER/*`, but those that it names itself."""
    config.nav = _expanded(config.nav)
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the README as the start page, and a list of each folder's pages."""
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=re.sub(r"\]\(docs/", "](", readme)))
    for folder, title in LISTED.items():
        lines = [f"- [{_title(page)}]({page.name})" for page in sorted((DOCS / folder).glob("*.md"))]
        files.append(File.generated(config, f"{folder}/index.md", content="\n".join([f"# {title}", "", *lines])))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links to the pages that stand for README and folders; show as text what is only in the repository."""
    here = PurePosixPath(page.file.src_uri).parent

    def lead(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        if "://" in target:
            return found[0]
        path = _joined(here, target)
        up = f"{os.pardir}/" * len(here.parts)
        if path == f"{os.pardir}/README.md":
            return f"]({up}index.md{anchor})"
        if path.removesuffix("/") in LISTED:
            return f"]({up}{path.removesuffix('/')}/index.md)"
        if path.startswith(f"{os.pardir}/") or (
            files.get_file_from_path(path) is None and (DOCS.parent / path).exists()
        ):
            return f"][in the repository: {path.removeprefix(os.pardir).lstrip('/')}]"
        return found[0]

    text = LINK.sub(lead, markdown)
    return re.sub(r"\[([^\]]*)\]\[in the repository: ([^\]]+)\]", r"\1 (`\2`)", text)


def _expanded(entries: list[Any]) -> list[Any]:
    named = {entry for entry in entries if isinstance(entry, str)}
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            ((title, inner),) = entry.items()
            inner = [inner] if isinstance(inner, str) and inner.endswith("/*") else inner
            found.append({title: _expanded(inner) if isinstance(inner, list) else inner})
        elif entry.endswith("/*"):
            pages = sorted((DOCS / entry[:-2]).rglob("*.md"))
            found += [uri for page in pages if (uri := page.relative_to(DOCS).as_posix()) not in named]
        else:
            found.append(entry)
    return found


def _joined(folder: PurePosixPath, target: str) -> str:
    """Return a link's target relative to the documents' folder."""
    parts: list[str] = []
    for part in (*folder.parts, *target.split("/")):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)


def _title(page: Path) -> str:
    """Return a page's first heading."""
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()
