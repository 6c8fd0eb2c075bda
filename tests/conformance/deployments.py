"""Real servers on loopback for one run, alone or together. Each of the context managers starts them in
`folder`, ends them by their pids, and gives the environment with which Sluice finds them."""

import contextlib
import pathlib
import socket
import subprocess
import time

PATIENCE = 30
PRIMARIES = 3
SLOTS = 16384


def await_that(what, condition):
    give_up = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > give_up:
            raise RuntimeError(f"it never came: {what}")
        time.sleep(0.01)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def command(port, *words):
    """One command on a connection of its own; what came of its reply, in one read, as text."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall(b"*%d\r\n" % len(words))
        for word in map(str, words):
            client.sendall(b"$%d\r\n%s\r\n" % (len(word), word.encode()))
        reply = client.recv(1 << 20).decode()
    if reply.startswith("-"):
        raise RuntimeError(f"{words}: {reply}")
    return reply


def answers(port):
    with contextlib.suppress(OSError, RuntimeError):
        return command(port, "PING").startswith("+PONG")
    return False


@contextlib.contextmanager
def server(binary, folder, *arguments, configuration=None):
    """A server on a TCP port, which it gives."""
    port = free_port()
    home = pathlib.Path(folder, str(port))
    home.mkdir()
    words = [binary]
    if configuration:
        words.append(home / "conf")
        words[-1].write_text(configuration, encoding="utf-8")
    words += ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", home, *arguments]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as child:
        try:
            await_that("the server answers", lambda: answers(port))
            yield port
        finally:
            child.kill()


@contextlib.contextmanager
def standalone(binary, folder):
    """One server on a unix socket."""
    path = pathlib.Path(folder, "redis.sock")
    with subprocess.Popen([binary, "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder],
                          stdout=subprocess.DEVNULL) as child:
        try:
            await_that("the server listens", path.exists)
            yield {"SLUICE_REDIS__ADDRESS": f"unix:{path}"}
        finally:
            child.kill()


@contextlib.contextmanager
def cluster(binary, folder):
    """A few primaries that share the slots."""
    with contextlib.ExitStack() as stack:
        ports, bus_ports = [], []
        for _ in range(PRIMARIES):
            bus_ports.append(free_port())
            ports.append(stack.enter_context(server(
                binary, folder, "--cluster-enabled", "yes", "--cluster-port", str(bus_ports[-1]))))
        for i, port in enumerate(ports):
            command(port, "CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            command(port, "CLUSTER", "ADDSLOTSRANGE", SLOTS * i // PRIMARIES, SLOTS * (i + 1) // PRIMARIES - 1)
        for port, bus_port in zip(ports[1:], bus_ports[1:]):
            command(ports[0], "CLUSTER", "MEET", "127.0.0.1", port, bus_port)
        for port in ports:
            await_that("the cluster serves", lambda port=port: all(
                word in command(port, "CLUSTER", "INFO")
                for word in ("cluster_state:ok", f"cluster_slots_ok:{SLOTS}")))
        yield {"SLUICE_REDIS__TOPOLOGY": "cluster", "SLUICE_REDIS__ADDRESSES": f"127.0.0.1:{ports[0]}"}


@contextlib.contextmanager
def sentinel(binary, folder):
    """A server that three sentinels watch."""
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(server(binary, folder))
        configuration = f"sentinel monitor edge 127.0.0.1 {port} 2\n"
        sentinels = [stack.enter_context(server(binary, folder, "--sentinel", configuration=configuration))
                     for _ in range(3)]
        yield {"SLUICE_REDIS__TOPOLOGY": "sentinel", "SLUICE_REDIS__SENTINEL__MASTER": "edge",
               "SLUICE_REDIS__SENTINEL__ADDRESSES": ",".join(f"127.0.0.1:{one}" for one in sentinels)}


TOPOLOGIES = {"standalone": standalone, "cluster": cluster, "sentinel": sentinel}
