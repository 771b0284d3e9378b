"""Adds the pages that live beside the docs folder (CONTRIBUTING and the like) to the documentation.

These pages are written to be read in the repository, so their links are changed to fit the site.
README.md is not among them: on the site, docs/index.md takes its place, and links to it lead there.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name in PAGES:
        if (REPOSITORY / name).exists():
            text = (REPOSITORY / name).read_text(encoding="utf-8")
            files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    source = page.file.src_uri
    folder = REPOSITORY if source in PAGES else (DOCS / source).parent

    def fit(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        path = (folder / target).resolve()
        if "://" in target or not path.exists():
            return link[0]  # elsewhere, or wrong: then the strict build says so
        address = address_of(path)
        if address is None:
            return text  # a file of the repository that is not a page
        return f"[{text}]({posixpath.relpath(address, posixpath.dirname(source) or '.')}{anchor})"

    return LINK.sub(fit, markdown)


def address_of(path: Path) -> str | None:
    """Where a file of the repository is on the site, or None if it is not there."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    if path == REPOSITORY / "README.md":
        return "index.md"
    return path.name if path.parent == REPOSITORY and path.name in PAGES else None
