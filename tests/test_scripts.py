"""What the Makefile does to a machine: which Java it takes, and what it says if there is none."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


class Machine:
    """A copy of the scripts that finds Javas in its own folders, and installs what it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jvm = folder / "jvm"
        self.scripts = folder / "scripts"
        shutil.copytree(SCRIPTS, self.scripts, ignore=shutil.ignore_patterns("__pycache__"))
        script = self.scripts / "java-home.sh"
        script.write_text(script.read_text().replace("/usr/lib/jvm", str(self.jvm)))
        self.apt("exit 1")
        (folder / "bin").mkdir()
        for tool in ("bash", "env", "sed", "dirname", "cat", "mkdir", "chmod"):
            (folder / "bin" / tool).symlink_to(str(shutil.which(tool)))

    def apt(self, body: str) -> None:
        """What installing does."""
        executable(self.scripts / "apt-install.sh", f'echo "$@" >>{self.folder}/asked\n{body}')

    def java(self, home: Path, version: str) -> Path:
        says = f"    java.home = {home}\n    java.specification.version = {version}\n"
        executable(home / "bin" / "java", f"cat <<'END'\n{says}END")
        return home

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([environment.pop("first", ""), str(self.folder / "bin")])
        return subprocess.run(
            [str(self.scripts / "java-home.sh")],
            capture_output=True,
            encoding="utf-8",
            env={"PATH": path.strip(os.pathsep), **environment},
        )

    def home(self, **environment: str) -> str:
        done = self.run(**environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def executable(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_java_that_is_there_is_used(machine: Machine, tmp_path: Path) -> None:
    installed = machine.java(machine.jvm / "java-17", "17")
    assert machine.home() == str(installed)
    on_path = machine.java(tmp_path / "on-path", "21")
    assert machine.home(first=f"{on_path}/bin") == str(on_path)
    chosen = machine.java(tmp_path / "chosen one", "25")
    assert machine.home(first=f"{on_path}/bin", JAVA_HOME=str(chosen)) == str(chosen)
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("version", ["1.8", "11", "16", ""])
def test_an_old_java_is_passed_over(machine: Machine, tmp_path: Path, version: str) -> None:
    old = machine.java(tmp_path / "old", version)
    installed = machine.java(machine.jvm / "java-17", "17")
    assert machine.home(first=f"{old}/bin", JAVA_HOME=str(old)) == str(installed)


def test_a_java_home_without_java_is_passed_over(machine: Machine, tmp_path: Path) -> None:
    installed = machine.java(machine.jvm / "java-17", "17")
    assert machine.home(JAVA_HOME=str(tmp_path / "nothing")) == str(installed)


def test_java_is_installed_when_allowed(machine: Machine, tmp_path: Path) -> None:
    elsewhere = machine.java(tmp_path / "package", "17")
    machine.apt(
        f"mkdir -p {machine.jvm}/new/bin && cat {elsewhere}/bin/java >{machine.jvm}/new/bin/java"
        f" && chmod +x {machine.jvm}/new/bin/java"
    )
    assert machine.home() == str(elsewhere)
    assert (tmp_path / "asked").read_text() == "default-jre-headless\n"


def test_without_java_one_sentence_says_what_to_install(machine: Machine, tmp_path: Path) -> None:
    done = machine.run()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "Spark needs Java 17 or newer" in done.stderr
    assert "apt-get install default-jre-headless" in done.stderr
    assert (tmp_path / "asked").read_text().split() == [
        "default-jre-headless",
        "openjdk-17-jre-headless",
    ]


# Chromium


def chromium(machine: Machine, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([environment.pop("first", ""), str(machine.folder / "bin")])
    return subprocess.run(
        [str(machine.scripts / "chromium.sh"), str(machine.folder / "python")],
        capture_output=True,
        encoding="utf-8",
        env={"PATH": path.strip(os.pathsep), "HOME": str(machine.folder), **environment},
    )


def test_the_chromium_that_is_there_is_used(machine: Machine, tmp_path: Path) -> None:
    executable(tmp_path / "broken" / "chromium-headless-shell", "exit 1")
    executable(tmp_path / "broken" / "chromium", "exit 0")
    found = chromium(machine, first=str(tmp_path / "broken"))
    assert found.stdout.strip() == str(tmp_path / "broken" / "chromium")
    executable(tmp_path / "chosen one", "exit 0")
    chosen = chromium(
        machine, first=str(tmp_path / "broken"), CHROMIUM=str(tmp_path / "chosen one")
    )
    assert chosen.stdout.strip() == str(tmp_path / "chosen one")
    assert not (tmp_path / "asked").exists()


def test_chromium_is_installed_by_playwright_or_else_by_debian(
    machine: Machine, tmp_path: Path
) -> None:
    body = f"mkdir -p {tmp_path}/new && cat {tmp_path}/ready >{tmp_path}/new/chromium"
    executable(tmp_path / "ready", "exit 0")
    machine.apt(f"{body} && chmod +x {tmp_path}/new/chromium")
    found = chromium(machine, first=str(tmp_path / "new"))
    assert found.stdout.strip() == f"{tmp_path}/new/chromium"
    assert (tmp_path / "asked").read_text() == "chromium-headless-shell\n"
    cached = f"{tmp_path}/.cache/ms-playwright/chromium_headless_shell-1/chrome-linux"
    install = f"mkdir -p {cached} && cat {tmp_path}/ready >{cached}/headless_shell"
    executable(tmp_path / "python", f"{install} && chmod +x {cached}/headless_shell")
    assert chromium(machine).stdout.strip() == f"{cached}/headless_shell"


def test_without_chromium_a_sentence_says_what_to_install(machine: Machine, tmp_path: Path) -> None:
    done = chromium(machine)
    assert (done.returncode, done.stdout) == (1, "")
    assert "apt-get install chromium" in done.stderr
    assert (tmp_path / "asked").read_text().split() == ["chromium-headless-shell", "chromium"]
