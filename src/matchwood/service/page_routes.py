"""The page at `/`: plain files, which may load nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

from matchwood.service.problems import Problem

router = APIRouter(include_in_schema=False)
FOLDER = Path(__file__).with_name("page")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Cache-Control": "no-cache",  # asked for again each time, and answered 304 if it is the same
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@router.get("/")
async def page() -> FileResponse:
    return _file(FOLDER / "index.html")


@router.get("/page/{name}")
async def part(name: str) -> FileResponse:
    path = FOLDER / name
    if path.parent != FOLDER or path.suffix not in KINDS or not path.is_file():
        raise Problem("not-found", f"the page has no part {name!r}")
    return _file(path)


def _file(path: Path) -> FileResponse:
    return FileResponse(path, media_type=KINDS[path.suffix], headers=HEADERS)
