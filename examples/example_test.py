"""Runs an example server and asks it what a client would: five requests pass, the sixth is denied.

usage: example_test.py PROGRAM
"""

import http.client
import re
import subprocess
import sys


def main():
    with subprocess.Popen([sys.argv[1], "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
        try:
            line = server.stdout.readline()
            found = re.fullmatch(r"listening on port (\d+)\n", line)
            assert found, f"the first line is {line!r}"
            check(ask(int(found[1]), times=6))
        finally:
            server.terminate()


def check(answers):
    for allowed, (status, fields, body) in enumerate(answers[:5], 1):
        assert status == 200, f"request {allowed}: {status}"
        assert body == b"Hello\n", body
        state = fields["RateLimit"]
        assert state.startswith(f'"requests";r={5 - allowed};t='), state
        assert fields["RateLimit-Policy"] == '"requests";q=5;w=60', fields["RateLimit-Policy"]
        assert fields["X-Sluice-Outcome"] == "allowed", fields["X-Sluice-Outcome"]
        assert "Retry-After" not in fields
    status, fields, body = answers[5]
    assert status == 429, status
    assert 1 <= int(fields["Retry-After"]) <= 60, fields["Retry-After"]
    assert fields["X-Sluice-Outcome"] == "denied", fields["X-Sluice-Outcome"]
    assert fields["Content-Type"] == "application/problem+json", fields["Content-Type"]
    assert b"quota-exceeded" in body, body


def ask(port, times):
    """Sends `times` requests, over one connection where the server keeps it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    answers = []
    for _ in range(times):
        connection.request("GET", "/")
        response = connection.getresponse()
        answers.append((response.status, response.headers, response.read()))
    connection.close()
    return answers


main()
