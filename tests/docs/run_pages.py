#!/usr/bin/env python3
"""Runs every command of README.md and of the pages in docs and deploy, so that none of them can rot.

    SLUICE=build/release/sluice tests/docs/run_pages.py [--root DIR] [PAGE…]

What writers of pages need to know:

  ```sh run          runs, in one bash for the whole page; the first command that fails fails the page
  ```console run     lines after "$ " run ("> " continues one), and their output must be what follows, if
                     anything does; "..." stands for any text, alone on a line for any lines
  ```sh no-run       does not run: it installs, needs root, or is another host's. A block of commands has
                     to say which of the two it is.
  ```yaml config     is a whole configuration, which check-config must accept

Commands start in a directory that has what the repository has, `sluice` is in the PATH and in
build/release. `sluice serve …` runs in the background from its place to the end of the page, and answers
at 127.0.0.1:8080 and :9090: really on an address of this run, which is put in and taken out on the way.
"""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^ *(?P<mark>```+)(?P<info>[^`\n]*)\n(?P<text>.*?)^ *(?P=mark) *$", re.M | re.S)
SERVE = re.compile(r"(\S*/)?sluice serve\b[^|;&]*&?")
END = "\x04end of a command"
WRITTEN = "127.0.0.1"  # in pages
# All of 127.0.0.0/8 is this host. Pages that run at the same time are different processes.
ACTUAL = "127.%d.%d.%d" % (1 + (os.getpid() >> 16) % 254, os.getpid() >> 8 & 255, os.getpid() & 255)


class Failure(Exception):
    pass


@dataclasses.dataclass
class Command:
    line: int
    text: str
    output: str = ""  # what must come out; empty: anything


@dataclasses.dataclass
class Config:
    line: int
    text: str


def steps_of(page):
    """The commands and configurations of a page in order, and how many blocks do not run."""
    steps, unrun = [], 0
    for block in FENCE.finditer(page):
        words, text = block["info"].split(), textwrap.dedent(block["text"])
        line = page.count("\n", 0, block.start()) + 2
        match words:
            case ["sh", "run"]:
                steps += commands_of_script(text, line)
            case ["console", "run"]:
                steps += commands_of_session(text, line)
            case ["sh" | "console", "no-run"]:
                unrun += 1
            case ["yaml", "config"]:
                steps.append(Config(line, text))
            case ["sh" | "console", *_] | [_, _, *_]:
                raise Failure(f"{line - 1}: ```{block['info']}: tests/docs/run_pages.py says what to mark")
    return steps, unrun


def commands_of_script(text, line):
    """A block is one command, apart from those that serve."""
    commands = []
    for number, words in enumerate(text.splitlines(), start=line):
        if SERVE.fullmatch(words.strip()) or not commands or SERVE.fullmatch(commands[-1].text):
            commands.append(Command(number, words.strip() if SERVE.fullmatch(words.strip()) else words))
        else:
            commands[-1].text += "\n" + words
    return [command for command in commands if command.text.strip()]


def commands_of_session(text, line):
    commands = []
    for number, words in enumerate(text.splitlines(), start=line):
        if words.startswith("$ "):
            commands.append(Command(number, words[2:]))
        elif not commands:
            raise Failure(f"{number}: a session begins with a command, after \"$ \"")
        elif words.startswith("> ") and not commands[-1].output:
            commands[-1].text += "\n" + words[2:]
        else:
            commands[-1].output += words + "\n"
    return commands


def matches(expected, actual):
    def tidy(text):
        return "\n".join(line.rstrip() for line in text.strip().splitlines())

    pattern = ""
    for line in tidy(expected).splitlines(keepends=True):
        if line.strip() in ("...", "…"):
            pattern += r"(.*\n?)*?"
        else:
            pattern += re.sub(r"\\\.\\\.\\\.|…", ".*", re.escape(line))
    return re.fullmatch(pattern, tidy(actual)) is not None


class Shell:
    """One bash for a page."""

    def __init__(self, directory, path):
        self.directory = directory
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE")}
        environment |= {"PATH": f"{path}:{environment['PATH']}", "NO_COLOR": "1"}
        self.bash = subprocess.Popen(["bash", "--norc"], cwd=directory, env=environment, text=True,
                                     errors="replace", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT)
        self.serving = False
        # What serves ends with the page, and this shell ends after it.
        self.run("set -euo pipefail; trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT")

    def run(self, command):
        """The output of a command; it has no input."""
        quoted = "'" + command.replace("'", "'\\''") + "'"
        try:
            self.bash.stdin.write(f"eval {quoted} </dev/null\nprintf '%s\\n' '{END}'\n")
            self.bash.stdin.flush()
        except BrokenPipeError:
            pass  # it ended in the command before, with this one's `exit`
        output = ""
        while line := self.bash.stdout.readline():
            if line.endswith(END + "\n"):
                return output + line[:-len(END) - 1]
            output += line
        raise Failure(f"failed with {self.bash.wait()}\n{output}")

    def check_config(self, text):
        file = self.directory / "config-of-the-page.yaml"
        file.write_text(text)
        self.run(f"(unset ${{!SLUICE_@}}; exec sluice check-config {file} >/dev/null)")

    def serve(self, command):
        if self.serving:
            raise Failure("the page serves already")
        self.serving = True
        log = self.directory / "serve.log"
        self.run(f"SLUICE_HTTP__LISTEN={ACTUAL}:8080 SLUICE_ADMIN__LISTEN={ACTUAL}:9090 "
                 f"{command.rstrip('& ')} >{log} 2>&1 &")
        for _ in range(1000):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://{ACTUAL}:9090/readyz", timeout=5).close()
                return
            if not self.run("jobs -pr"):
                break
            time.sleep(0.01)
        raise Failure("does not serve\n" + log.read_text(errors="replace"))

    def close(self):
        self.bash.stdin.close()
        self.bash.stdout.read()  # until the last one that holds it has ended
        self.bash.wait()


def furnish(directory, root, sluice):
    """What the repository has, and a build; gives the directory for the PATH."""
    for entry in root.iterdir():
        if entry.name not in ("build", ".git"):
            (directory / entry.name).symlink_to(entry)
    release = directory / "build" / "release"
    release.mkdir(parents=True)
    (release / "sluice").symlink_to(sluice)
    return release


def run_step(step, shell):
    if isinstance(step, Config):
        return shell.check_config(step.text)
    command = re.sub(rf"\b({re.escape(WRITTEN)}|localhost)(?=:(8080|9090)\b)", ACTUAL, step.text)
    if SERVE.fullmatch(command):
        return shell.serve(command)
    output = shell.run(command).replace(ACTUAL, WRITTEN)
    if step.output and not matches(step.output, output):
        raise Failure(f"should print\n{step.output}but prints\n{output}")


def run_steps(steps, root, sluice):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name).resolve()
        shell = Shell(directory, furnish(directory, root, sluice))
        with contextlib.closing(shell):
            for step in steps:
                try:
                    run_step(step, shell)
                except Failure as failure:
                    raise Failure(f"{step.line}: {step.text}\n{failure}") from None


def run_page(page, root, sluice):
    """How many commands and configurations are right, and how many blocks did not run."""
    steps, unrun = steps_of(page.read_text())
    minute = time.time() // 60
    try:
        run_steps(steps, root, sluice)
    except Failure:
        # Budgets of a minute begin anew at the full one: a page that was cut by it has a second try.
        if time.time() // 60 == minute:
            raise
        run_steps(steps, root, sluice)
    return len(steps), unrun


def main():
    parser = argparse.ArgumentParser(description="Runs the commands of the documentation.")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("pages", type=pathlib.Path, nargs="*")
    options = parser.parse_args()
    root = options.root.resolve()
    sluice = shutil.which(os.environ.get("SLUICE", ""))
    if not sluice:
        sys.exit("SLUICE must name the daemon's binary")
    total, failed = 0, False
    pages = [root / "README.md", *(page for folder in ("docs", "deploy")
                                   for page in sorted((root / folder).rglob("*.md")))]
    for page in options.pages or pages:
        try:
            right, unrun = run_page(page, root, pathlib.Path(sluice).resolve())
            total += right
            if right or unrun:
                print(f"{page}: {right} steps are right, {unrun} blocks are marked no-run", flush=True)
        except (Failure, OSError) as failure:
            failed = True
            print(f"{page}:{failure}", flush=True)
    if failed or not total:
        sys.exit("the documentation is wrong" if failed else "no page has anything to run")


if __name__ == "__main__":
    main()
