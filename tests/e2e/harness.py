"""What the end-to-end tests stand on: the daemon, a real nginx, servers to stand behind them, a client.

Everything listens on 127.0.0.1 with a port that the system chose, or on a unix socket in a directory of
its own, and is ended by its pid. SLUICE names the daemon's binary; CMake sets it.
"""

import contextlib
import http.client
import json
import os
import pathlib
import pwd
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from servers import request

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "deploy" / "nginx"
SLUICE = os.environ.get("SLUICE", "")

# Fixed windows begin at multiples of their length since 1970. The longest allowed one begins once a
# year, so that no test sees a window turn.
YEAR = "366d"


def wait_until(condition, what, seconds=20.0):
    """Polls; only for what another process does in its own time."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what()}")
        time.sleep(0.01)
    return result


def free_port():
    """A port that nobody listens on now. It is below those that systems give to connections, so that a server
    finds its own again after a restart."""
    while True:
        port = random.randrange(12000, 32000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def environment(**variables):
    """This process's environment without any SLUICE_ setting, and with `variables`."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE") and k != "NO_COLOR"}
    return clean | variables


def run(*arguments, stdin=b"", env=None, cwd=None):
    """`sluice ARGUMENTS…`, finished: returncode, stdout and stderr as text."""
    done = subprocess.run([SLUICE, *map(str, arguments)], input=stdin, capture_output=True, timeout=60,
                          env=environment(**(env or {})), cwd=cwd, check=False)
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done


class Process:
    """A child with a directory of its own and its stderr in a file there."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.directory = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.log_file = self.directory / "stderr.log"
        self.child = None

    def spawn(self, command, **options):
        with open(self.log_file, "ab") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          cwd=self.directory, **options)

    @property
    def log(self):
        return self.log_file.read_text(errors="replace")

    def signal(self, number):
        self.child.send_signal(number)

    def wait(self, seconds):
        """The exit status, or a failure with the log."""
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s\n{self.log}") from None

    def close(self):
        try:
            if self.child and self.child.poll() is None:
                self.child.terminate()
                self.wait(20)
        finally:
            if self.child and self.child.poll() is None:
                self.child.kill()
                self.child.wait()
            self.stack.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Sluice(Process):
    """`sluice serve`. `config` is a value, or the path of a file that is taken as it is.

    `address` and `admin` are where it listens: the path of a unix socket, or (host, port) with
    tcp=True. Both are given through the environment, which beats the file.
    """

    def __init__(self, config, tcp=False, listen=None, wait=True):
        super().__init__()
        self.config_file = config
        if not isinstance(config, pathlib.Path):
            self.config_file = self.directory / "sluice.yaml"
            self.config_file.write_text(json.dumps(config))
        self.tcp = tcp
        self.admin = str(self.directory / "admin.sock")
        self.address = listen or str(self.directory / "http.sock")
        try:
            self.start(wait)
        except BaseException:
            self.close()
            raise

    def start(self, wait=True):
        listen = "127.0.0.1:0" if self.tcp else f"unix:{self.address}"
        # A sanitizer's report must not look like an orderly exit status.
        self.spawn([SLUICE, "serve", "-c", str(self.config_file)],
                   env=environment(SLUICE_HTTP__LISTEN=listen, SLUICE_ADMIN__LISTEN=f"unix:{self.admin}"))
        if wait:
            wait_until(self.is_ready, lambda: f"sluice is ready\n{self.log}")
        if wait and self.tcp:
            self.address = ("127.0.0.1", self.announced_port())

    def is_ready(self):
        if self.child.poll() is not None:
            raise AssertionError(f"sluice ended with {self.child.returncode}\n{self.log}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            return request(self.admin, "GET", "/readyz").status == 200
        return False

    def announced_port(self):
        """The port that the system chose, which the daemon says in its log, soon after it is ready."""
        said = wait_until(lambda: re.search(r"127\.0\.0\.1:([1-9][0-9]*)", self.log),
                          lambda: f"the port is said\n{self.log}")
        return int(said[1])

    def check(self, method="GET", uri="/", client="203.0.113.9", query="", headers=()):
        """/check as nginx asks it."""
        fields = [("X-Original-Method", method), ("X-Original-URI", uri), ("X-Forwarded-For", client)]
        return request(self.address, "GET", "/check" + query, [*fields, *headers])

    def ask(self, endpoint="evaluate", **question):
        """/v1/evaluate or /v1/peek."""
        return request(self.address, "POST", f"/v1/{endpoint}", body=json.dumps(question).encode())

    def metrics(self):
        """Samples of /metrics: {'name{label="value",…}': number}. Each follows its family's TYPE."""
        samples, family = {}, None
        for line in request(self.admin, "GET", "/metrics").text.splitlines():
            if line.startswith("# HELP "):
                continue
            if line.startswith("# TYPE "):
                family = re.fullmatch(r"# TYPE (\w+) (?:counter|gauge|histogram)", line)[1]
                continue
            name, value = re.fullmatch(r'(\w+(?:{\w+="[^"]*"(?:,\w+="[^"]*")*})?) (\S+)', line).groups()
            assert name.startswith(family), f"{line} is none of {family}"
            assert name not in samples, f"{name} comes twice"
            samples[name] = float(value)
        return samples


class Redis(Process):
    """redis-server on a unix socket, without files; `options` as on its command line."""

    def __init__(self, *options, start=True):
        super().__init__()
        self.options = options
        self.socket = str(self.directory / "redis.sock")
        self.address = f"unix:{self.socket}"
        if start:
            self.start()

    def start(self):
        self.spawn(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                    *self.options])
        wait_until(self.answers, lambda: f"redis-server answers\n{self.log}")

    def answers(self):
        with contextlib.suppress(OSError):
            return self.command("PING")[:1] in (b"+", b"-")
        return False

    def command(self, *words):
        """The first bytes of the reply to one command."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(self.socket)
            client.sendall(b"*%d\r\n" % len(words)
                           + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in map(str.encode, words)))
            return client.recv(65536)

    def kill(self):
        """As a machine that is gone."""
        self.signal(signal.SIGKILL)
        self.wait(20)

    def close(self):
        # Nothing of it is kept, and one that is asked to end may refuse, such as over a first AOF.
        if self.child and self.child.poll() is None:
            self.kill()
        super().close()


class Nginx(Process):
    """nginx with the shipped recipe: only the addresses in edge.conf are replaced.

    `sluice` is the path of a unix socket or (host, port), `backend` is (host, port). `edit` changes
    edge.conf's text further, `servers` is more text at http level, {listen} in it is the address.
    """

    def __init__(self, sluice, backend, edit=lambda text: text, servers=""):
        super().__init__()
        # nginx takes over a listening socket, so that no port is ever free for somebody else to take,
        # and requests wait in its queue until nginx is up.
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = listener.getsockname()
        listen = f"127.0.0.1:{self.address[1]}"
        sluice = f"unix:{sluice}" if isinstance(sluice, str) else "%s:%d" % sluice
        edge = (RECIPE / "edge.conf").read_text()
        for shipped, here in (("server 127.0.0.1:8080;", f"server {sluice};"),
                              ("server 127.0.0.1:3000;", "server %s:%d;" % backend),
                              ("listen 80;", f"listen {listen};")):
            assert edge.count(shipped) == 1, f"edge.conf has no single {shipped}"
            edge = edge.replace(shipped, here)
        files = self.directory / "sluice"
        files.mkdir()
        for file in RECIPE.glob("*.conf"):
            if file.name != "edge.conf":
                (files / file.name).symlink_to(file)
        (files / "edge.conf").write_text(edit(edge))
        temporary = "\n".join(f"{name}_temp_path {self.directory}/{name};"
                              for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.directory / "nginx.conf").write_text(f"""
            daemon off;
            user {pwd.getpwuid(os.getuid()).pw_name};
            worker_processes 1;
            pid {self.directory}/nginx.pid;
            events {{ worker_connections 512; }}
            http {{
                access_log off;
                {temporary}
                include sluice/edge.conf;
                {servers.replace("{listen}", listen)}
            }}""")
        self.spawn(["/usr/sbin/nginx", "-p", str(self.directory), "-c", f"{self.directory}/nginx.conf",
                    "-e", "stderr"],
                   env=environment(NGINX=f"{listener.fileno()};"), pass_fds=[listener.fileno()])
        listener.close()

    def get(self, target="/", client=None, headers=()):
        return self.request("GET", target, headers, client=client)

    def request(self, method, target, headers=(), body=None, client=None):
        """`client` is the address the connection comes from, one of 127.0.0.0/8."""
        try:
            return request(self.address, method, target, headers, body, source=client)
        except (OSError, http.client.HTTPException) as error:
            raise AssertionError(f"nginx: {error!r}\n{self.log}") from error


def ended_by(process, number, seconds):
    """Sends a signal and gives the exit status."""
    process.signal(number)
    return process.wait(seconds)


def stop(process):
    return ended_by(process, signal.SIGTERM, 5)


def main():
    """unittest.main, but a run without a test fails."""
    if not os.access(SLUICE, os.X_OK):
        sys.exit("SLUICE must name the daemon's binary")
    result = unittest.main(exit=False, verbosity=2).result
    sys.exit(not (result.wasSuccessful() and result.testsRun > 0))
