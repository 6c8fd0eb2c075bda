"""`sluice serve` from start to end: bad configurations, taken addresses, signals, drain."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import tempfile
import unittest

import harness
from harness import Sluice
from servers import Connection, request

CONFIG = {
    "default_policy": "api",
    "policies": {"api": {"algorithm": "token-bucket", "capacity": 100, "refill": 10, "period": "1s"}},
}
QUESTION = json.dumps({"policies": ["api"], "subject": "alice"}).encode()


@contextlib.contextmanager
def request_under_way(sluice):
    """A request that sluice has begun to read: its body is awaited."""
    connection = Connection(sluice.address)
    connection.connect()
    with contextlib.closing(connection):
        connection.sock.sendall(b"POST /v1/evaluate HTTP/1.1\r\nHost: sluice\r\n"
                                b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(QUESTION))
        interim = b""
        while not interim.endswith(b"\r\n\r\n"):
            interim += connection.sock.recv(4096)
        assert interim.startswith(b"HTTP/1.1 100 "), interim
        yield connection.sock


def not_ready(sluice):
    with contextlib.suppress(ConnectionError, FileNotFoundError):
        return request(sluice.admin, "GET", "/readyz").status == 503
    raise AssertionError("the admin listener is gone before the drain has ended")


class Start(unittest.TestCase):
    def start_and_fail(self, config, **options):
        with Sluice(config, wait=False, **options) as sluice:
            status = sluice.wait(10)
            return status, sluice.log.splitlines()

    def test_with_a_bad_configuration_names_every_error(self):
        config = {"default_policy": "apy", "policies": {"api": {"algorithm": "token-bucket", "capacity": -1,
                                                                "refill": 10, "period": "0s"}}, "htp": {}}
        status, lines = self.start_and_fail(config)
        self.assertEqual(status, 2)
        self.assertEqual(len(lines), 4, lines)
        for word in ("apy", "capacity", "period", "htp"):
            self.assertEqual(sum(word in line for line in lines), 1, (word, lines))
        for line in lines:
            self.assertRegex(line, r"^sluice: .*sluice\.yaml:1:\d+: ")

    def test_without_its_configuration_file(self):
        status, lines = self.start_and_fail(pathlib.Path("/nonexistent/sluice.yaml"))
        self.assertEqual((status, len(lines)), (2, 1), lines)
        self.assertIn("/nonexistent/sluice.yaml", lines[0])

    def test_on_a_taken_port_says_which(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as directory:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            config = pathlib.Path(directory) / "sluice.yaml"
            config.write_text(json.dumps(CONFIG))
            done = harness.run("serve", "-c", config, env={"SLUICE_HTTP__LISTEN": address,
                                                           "SLUICE_ADMIN__LISTEN": "127.0.0.1:0"})
            self.assertNotEqual(done.returncode, 0)
            lines = [line for line in done.stderr.splitlines() if address in line]
            self.assertEqual(len(lines), 1, done.stderr)
            self.assertIn("in use", lines[0])

    def test_on_a_unix_socket_removes_it_at_the_end(self):
        with Sluice(CONFIG) as sluice:
            self.assertEqual(sluice.check().status, 200)  # its peers are trusted
            self.assertEqual(harness.stop(sluice), 0, sluice.log)
            self.assertFalse(os.path.exists(sluice.address))

    def test_on_a_unix_socket_that_a_killed_process_left(self):
        with Sluice(CONFIG) as sluice:
            harness.ended_by(sluice, signal.SIGKILL, 5)
            self.assertTrue(os.path.exists(sluice.address))
            sluice.start()
            self.assertEqual(sluice.check().status, 200)

    def test_on_a_unix_socket_in_use_fails(self):
        with Sluice(CONFIG) as first:
            status, lines = self.start_and_fail(CONFIG, listen=first.address)
            self.assertNotEqual(status, 0)
            self.assertTrue(any(first.address in line for line in lines), lines)
            self.assertEqual(first.check().status, 200)


class Stop(unittest.TestCase):
    def test_when_idle_is_quick_and_clean(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number), Sluice(CONFIG) as sluice:
                idle = Connection(sluice.address)
                idle.connect()
                self.assertEqual(harness.ended_by(sluice, number, 5), 0, sluice.log)
                idle.close()

    def test_answers_what_is_under_way(self):
        with Sluice(CONFIG) as sluice, request_under_way(sluice) as client:
            sluice.signal(signal.SIGTERM)
            harness.wait_until(lambda: not_ready(sluice), lambda: "readyz says 503")
            self.assertIsNone(sluice.child.poll())
            client.sendall(QUESTION)
            answer = b"".join(iter(lambda: client.recv(4096), b""))
            self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)
            self.assertIn(b"connection: close", answer.lower())
            self.assertEqual(sluice.wait(5), 0, sluice.log)

    def test_accepts_nobody_new(self):
        with Sluice(CONFIG) as sluice, request_under_way(sluice):
            sluice.signal(signal.SIGTERM)
            harness.wait_until(lambda: not_ready(sluice), lambda: "readyz says 503")

            def refused():
                try:
                    return request(sluice.address, "GET", "/nothing-here").status == 503
                except OSError:
                    return True

            harness.wait_until(refused, lambda: "a new connection is refused")

    def test_second_signal_ends_at_once(self):
        with Sluice(CONFIG) as sluice, request_under_way(sluice):
            sluice.signal(signal.SIGTERM)
            harness.wait_until(lambda: not_ready(sluice), lambda: "readyz says 503")
            sluice.signal(signal.SIGTERM)
            sluice.wait(2)  # the request under way would have held it for longer


if __name__ == "__main__":
    harness.main()
