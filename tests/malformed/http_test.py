"""Bytes on the data listener that no HTTP client should send: each has its status, and the next is answered."""

import socket
import unittest

import harness
from harness import YEAR, Sluice

CONFIG = {"default_policy": "api",
          "policies": {"api": {"algorithm": "fixed-window", "limit": 1000, "window": YEAR}}}
ASK = b"X-Original-Method: GET\r\nX-Original-URI: /\r\n"
GOOD = b"GET /check HTTP/1.1\r\nHost: s\r\n" + ASK + b"\r\n"
BODY = b'{"policies":["api"],"subject":"alice"}'


def check(headers=b"", line=b"GET /check HTTP/1.1"):
    return line + b"\r\nHost: s\r\n" + ASK + headers + b"\r\n"


def evaluate(headers, body=BODY):
    return b"POST /v1/evaluate HTTP/1.1\r\nHost: s\r\n" + headers + b"\r\n" + body


CASES = [
    # bytes, status
    (b"\0\0\0\0\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),              # a TLS hello
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),                                  # HTTP/2 with prior knowledge
    (check(line=b"GET /check HTTP/1.2"), 505),
    (check(line=b"GET /check HTTP/0.9"), 505),
    (check(line=b"GET  /check HTTP/1.1"), 400),
    (check(line=b"GET /check"), 400),
    (check(line=b"G\xffT /check HTTP/1.1"), 400),
    (check(line=b"GET /che\x01ck HTTP/1.1"), 400),
    (check(line=b"GET check HTTP/1.1"), 400),
    (b"GET /check HTTP/1.1\r\n" + ASK + b"\r\n", 400),                           # no Host
    (check(b"Host: t\r\n"), 400),                                                # two
    (check(b"X-A : 1\r\n"), 400),                                                # a name ends before its colon
    (check(b"X-A: 1\r\n folded\r\n"), 400),
    (check(b"X-A: nul\0\r\n"), 400),
    (check(b"no colon\r\n"), 400),
    (check(b": no name\r\n"), 400),
    (check(b"X-A: " + b"x" * 17 * 1024 + b"\r\n"), 431),
    (check(b"X-A: 1\r\n" * 3000), 431),
    (check(line=b"GET /" + b"x" * 17 * 1024 + b" HTTP/1.1"), 431),
    (evaluate(b"Content-Length: 65537\r\n", b""), 413),
    (evaluate(b"Content-Length: 99999999999999999999\r\n", b""), 400),
    (evaluate(b"Content-Length: -1\r\n"), 400),
    (evaluate(b"Content-Length: 38\r\nContent-Length: 39\r\n"), 400),            # smuggling: which of the two?
    (evaluate(b"Content-Length: 38\r\nTransfer-Encoding: chunked\r\n"), 400),    # likewise
    (evaluate(b"Transfer-Encoding: gzip, chunked\r\n"), 400),
    (evaluate(b"Transfer-Encoding: chunked\r\n", b"zz\r\n"), 400),
    (evaluate(b"Transfer-Encoding: chunked\r\n", b"11000\r\n" + b"x" * 0x11000 + b"\r\n0\r\n\r\n"), 413),
    (evaluate(b"Expect: a miracle\r\nContent-Length: 38\r\n"), 417),
]

# Bodies of well-formed messages that are no JSON.
BODIES = [
    b"\xff",
    BODY[:-1],
    BODY + BODY,
    BODY + b"\0",  # taken for the end of the text once, whatever followed it
    b"[" * 60000,
]


class Bytes(unittest.TestCase):
    def test_that_are_no_request_are_refused(self):
        with Sluice(CONFIG) as sluice:
            for sent, status in CASES:
                with self.subTest(sent[:80]):
                    self.assertEqual(self.statuses(sluice, sent)[:1], [status])
                    self.assertEqual(self.statuses(sluice, GOOD), [200])

    def test_after_a_refusal_are_no_request(self):
        # What follows a message without a certain end could be anybody's request.
        with Sluice(CONFIG) as sluice:
            for sent, status in CASES:
                if status != 400:
                    continue
                with self.subTest(sent[:80]):
                    self.assertEqual(self.statuses(sluice, sent + GOOD), [status])

    def test_in_a_body_leave_the_connection_usable(self):
        with Sluice(CONFIG) as sluice:
            for body in BODIES:
                with self.subTest(body[:80]):
                    sent = evaluate(b"Content-Length: %d\r\n" % len(body), body)
                    self.assertEqual(self.statuses(sluice, sent + GOOD), [400, 200])

    def statuses(self, sluice, sent):
        """The statuses of all answers on a connection that sends these bytes and no more."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(sluice.address)
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # refused before the last byte
            received = b"".join(iter(lambda: connection.recv(65536), b""))
        return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


if __name__ == "__main__":
    harness.main()
