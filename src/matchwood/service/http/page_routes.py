"""The pages at `/` and `/docs`: static files, which may not load anything from other hosts."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

from matchwood.service.problems import RequestProblem

router = APIRouter(include_in_schema=False)
FOLDER = Path(__file__).parents[1] / "page"
# Media types of the files that are served.
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Cache-Control": "no-cache",  # a browser asks each time, and gets 304 if nothing has changed
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


@router.get("/docs")
async def api_page() -> FileResponse:
    """The OpenAPI description, to be read by people."""
    return _file(FOLDER / "api.html")


@router.get("/page/{name}")
async def part(name: str) -> FileResponse:
    path = FOLDER / name
    if path.parent != FOLDER or path.suffix not in MEDIA_TYPES or not path.is_file():
        raise RequestProblem("not-found", f"the page has no file {name!r}")
    return _file(path)


def _file(path: Path) -> FileResponse:
    return FileResponse(path, media_type=MEDIA_TYPES[path.suffix], headers=HEADERS)
