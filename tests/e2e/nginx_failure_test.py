"""The nginx recipe when the limiter is not well: the client sees 5xx, and the backend sees nothing."""

import json
import signal
import unittest

import harness
from harness import YEAR, Nginx, Sluice
from servers import Relay, Server, site

CONFIG = {
    "default_policy": "api",
    "policies": {"api": {"algorithm": "fixed-window", "limit": 1000, "window": YEAR}},
}
# What clients could take for a decision.
DECISION_FIELDS = ("RateLimit", "RateLimit-Policy")


class Limiter(unittest.TestCase):
    def setUp(self):
        self.backend = self.enterContext(Server(site))

    def expect_refusal(self, response, status):
        self.assertEqual(response.status, status, response)
        self.assertEqual(response["Content-Type"], "application/problem+json")
        self.assertEqual(response["Cache-Control"], "no-store")
        self.assertEqual(json.loads(response.text)["status"], status)
        for field in DECISION_FIELDS:
            self.assertIsNone(response[field])
        self.assertEqual(self.backend.seen, [])

    def test_that_listens_nowhere_is_503(self):
        with Server(site) as closed:
            address = closed.address
        for nowhere in ("/nonexistent/sluice.sock", address):
            with self.subTest(nowhere), Nginx(nowhere, self.backend.address) as nginx:
                for method in ("GET", "POST"):
                    self.expect_refusal(nginx.request(method, "/login", body=b"x"), 503)
                head = nginx.request("HEAD", "/")
                self.assertEqual((head.status, head.body), (503, b""))

    def test_that_never_answers_is_503(self):
        silent, other = self.enterContext(Relay()), self.enterContext(Relay())

        def add_the_other(edge):
            return edge.replace("upstream sluice {", "upstream sluice { server %s:%d;" % other.address)

        nginx = self.enterContext(Nginx(silent.address, self.backend.address, edit=add_the_other))
        self.expect_refusal(nginx.get("/"), 503)
        # The question may have been charged: nobody else was asked.
        self.assertEqual(silent.connections + other.connections, 1)

    def test_that_is_killed_is_503_until_it_is_back(self):
        sluice = self.enterContext(Sluice(CONFIG))
        nginx = self.enterContext(Nginx(sluice.address, self.backend.address))
        self.assertEqual(nginx.get("/").status, 200)
        self.backend.seen.clear()
        harness.ended_by(sluice, signal.SIGKILL, 5)
        self.expect_refusal(nginx.get("/"), 503)
        sluice.start()
        self.assertEqual(nginx.get("/").status, 200)  # nginx was not told

    def test_that_does_not_trust_nginx_is_500(self):
        config = CONFIG | {"identity": {"trusted_proxies": []}}
        sluice = self.enterContext(Sluice(config, tcp=True))
        nginx = self.enterContext(Nginx(sluice.address, self.backend.address))
        self.expect_refusal(nginx.get("/"), 500)

    def test_answers_map_to_what_the_client_sees(self):
        answers = [
            # sluice's answer, fields; what the client sees, its Retry-After
            (503, [("Retry-After", "3")], 503, "3"),     # unavailable, indeterminate
            (500, [], 500, None),                        # incompatible: a retry cannot heal it
            (400, [], 500, None),                        # sluice cannot read nginx's question
            (404, [], 500, None),                        # something else listens there
            (302, [("Location", "/")], 500, None),       # likewise
            (429, [("Retry-After", "3")], 500, "3"),     # without ?deny=403: auth_request's own limit
            (502, [], 503, None),                        # a proxy before sluice
        ]
        answer = []
        limiter = self.enterContext(Server(lambda _: answer[0]))
        nginx = self.enterContext(Nginx(limiter.address, self.backend.address))
        for status, fields, seen, retry_after in answers:
            with self.subTest(status=status):
                answer[:] = [(status, [*fields, ("X-Sluice-Outcome", "word")], b"limiter's body")]
                response = nginx.get("/page.html")  # whose extension must not choose the body's type
                self.expect_refusal(response, seen)
                self.assertEqual((response["Retry-After"], response["X-Sluice-Outcome"]),
                                 (retry_after, "word"))
        self.assertEqual({seen.target for seen in limiter.seen}, {"/check?deny=403"})

    def test_refusals_that_are_no_denial_keep_their_status(self):
        # The old wrong behaviour of recipes that turn every 403 into 429: a client is told to wait
        # for what no waiting heals.
        answer = []
        limiter = self.enterContext(Server(lambda _: answer[0]))
        nginx = self.enterContext(Nginx(limiter.address, self.backend.address))
        answer[:] = [(403, [], b"")]
        self.assertEqual(nginx.get("/").status, 403)
        answer[:] = [(401, [("WWW-Authenticate", 'Bearer realm="sluice"')], b"")]
        response = nginx.get("/")
        self.assertEqual((response.status, response["WWW-Authenticate"]), (401, 'Bearer realm="sluice"'))
        self.assertEqual(self.backend.seen, [])


if __name__ == "__main__":
    harness.main()
