"""Adds the pages that live beside the docs folder (README and the like) to the documentation.

The pages are written to be read in the repository, so their links are made to fit the site.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name in PAGES:
        if (REPOSITORY / name).exists():
            text = (REPOSITORY / name).read_text(encoding="utf-8")
            files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    folder = REPOSITORY if page.file.src_uri in PAGES else REPOSITORY / "docs"

    def fit(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        place = (folder / target).resolve()
        if "://" in target or not place.exists():
            return link[0]  # elsewhere, or wrong: then the strict build says so
        if place.is_relative_to(REPOSITORY / "docs"):
            return f"[{text}]({place.relative_to(REPOSITORY / 'docs').as_posix()}{anchor})"
        if place.parent == REPOSITORY and place.name in PAGES:
            return f"[{text}]({place.name}{anchor})"
        return text  # a file of the repository that is no page

    return LINK.sub(fit, markdown)
