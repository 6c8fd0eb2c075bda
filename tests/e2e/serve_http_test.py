"""`sluice serve` over a socket: forward authentication, direct evaluations, the admin listener."""

import json
import unittest

import harness
from harness import YEAR, Sluice
from servers import request

CONFIG = {
    "default_policy": "api",
    "policies": {
        "two": {"algorithm": "fixed-window", "limit": 2, "window": YEAR},
        "five": {"algorithm": "fixed-window", "limit": 5, "window": YEAR},
        "api": {"algorithm": "fixed-window", "limit": 1000, "window": YEAR, "maximum_cost": 10},
    },
    "operations": [
        {"id": "two", "match": {"methods": ["POST"], "path": "/two"}, "policies": ["two"]},
        {"id": "five", "match": {"path": "/five"}, "policies": ["five"]},
        {"id": "shop", "match": {"host": "shop.example.com", "path": "/**"}, "policies": ["five"]},
        {"id": "health", "match": {"path": "/healthz"}, "exempt": True},
    ],
    "identity": {"trusted_proxies": ["127.0.0.0/8"]},
}


class Daemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sluice = cls.enterClassContext(Sluice(CONFIG, tcp=True))


class Check(Daemon):
    def test_allows_then_denies(self):
        for remaining in (1, 0):
            answer = self.sluice.check("POST", "/two", client="192.0.2.1")
            self.assertEqual((answer.status, answer["Content-Length"]), (200, "0"))
            self.assertRegex(answer["RateLimit"], rf'^"two";r={remaining};t=[1-9]\d*$')
            self.assertEqual(answer["RateLimit-Policy"], f'"two";q=2;w={366 * 86400}')
            self.assertEqual(answer["X-Sluice-Outcome"], "allowed")
            self.assertIsNone(answer["Retry-After"])
        answer = self.sluice.check("POST", "/two", client="192.0.2.1")
        self.assertEqual(answer.status, 429)
        self.assertRegex(answer["Retry-After"], r"^[1-9]\d*$")
        self.assertEqual(answer["Content-Type"], "application/problem+json")
        self.assertEqual(answer["Cache-Control"], "no-store")
        problem = json.loads(answer.text)
        self.assertEqual(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded")
        self.assertEqual((problem["status"], problem["violated-policies"]), (429, ["two"]))

    def test_says_403_on_demand(self):
        for _ in range(2):
            self.sluice.check("POST", "/two", client="192.0.2.2", query="?deny=403")
        answer = self.sluice.check("POST", "/two", client="192.0.2.2", query="?deny=403")
        self.assertEqual((answer.status, answer["X-Sluice-Status"]), (403, "429"))
        self.assertEqual((answer["Content-Length"], answer.body), ("0", b""))
        self.assertRegex(answer["Retry-After"], r"^[1-9]\d*$")

    def test_reads_the_headers_of_caddy_and_traefik(self):
        fields = [("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/cart?x=1"),
                  ("X-Forwarded-Host", "shop.example.com"), ("X-Forwarded-Proto", "wss"),
                  ("X-Forwarded-For", "192.0.2.3")]
        answer = request(self.sluice.address, "GET", "/check", fields)
        self.assertEqual(answer.status, 200)
        self.assertIn('"five";r=4', answer["RateLimit"])

    def test_answers_every_method(self):
        fields = [("X-Original-Method", "GET"), ("X-Original-URI", "/healthz")]
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            answer = request(self.sluice.address, method, "/check", fields)
            self.assertEqual((answer.status, answer["X-Sluice-Outcome"]), (200, "exempt"), method)

    def test_never_judges_its_own_request(self):
        # The old wrong behaviour: without the headers, /check itself was the judged path.
        whole = {"X-Original-Method": "GET", "X-Original-URI": "/"}
        for fields in ({}, {"X-Original-Method": "GET"}, {"X-Forwarded-Uri": "/"},
                       whole | {"X-Original-URI": "no path"}, whole | {"X-Original-Method": "G T"}):
            answer = request(self.sluice.address, "GET", "/check", fields.items())
            self.assertEqual((answer.status, answer["Content-Type"]), (400, "application/problem+json"))

    def test_ports_of_a_client_are_not_part_of_it(self):
        # A port in X-Forwarded-For once made each connection a client of its own.
        statuses = [self.sluice.check("POST", "/two", client=f"192.0.2.4:{50000 + n}").status
                    for n in range(10)]
        self.assertEqual(statuses, [200] * 2 + [429] * 8)
        statuses = [self.sluice.check("POST", "/two", client=f"[2001:db8::1]:{n + 1}").status
                    for n in range(10)]
        self.assertEqual(statuses, [200] * 2 + [429] * 8)
        # Never cut at the last colon; and one /64 is one client.
        self.assertEqual(self.sluice.check("POST", "/two", client="2001:db8::1").status, 429)

    def test_forged_left_entries_are_one_client(self):
        statuses = [self.sluice.check(uri="/five", client=f"198.51.100.{n}, 192.0.2.5").status
                    for n in range(200)]
        self.assertEqual(statuses, [200] * 5 + [429] * 195)


class Evaluate(Daemon):
    def test_charges_and_peek_does_not(self):
        ask = {"policies": ["five", "api"], "subject": "alice"}
        first = self.sluice.ask(**ask)
        self.assertEqual((first.status, first["Content-Type"]), (200, "application/json"))
        outcome = json.loads(first.text)
        self.assertEqual([outcome[key] for key in ("outcome", "allowed", "policy", "limit", "remaining")],
                         ["evaluated", True, "five", 5, 4])
        self.assertEqual([limit["policy"] for limit in outcome["limits"]], ["five", "api"])
        for endpoint, cost, remaining in (("peek", 4, 0), ("peek", 1, 3), ("evaluate", 4, 0)):
            answer = self.sluice.ask(endpoint, cost=cost, **ask)
            self.assertEqual(json.loads(answer.text)["remaining"], remaining, (endpoint, cost))
        denied = self.sluice.ask(**ask)
        self.assertEqual((denied.status, json.loads(denied.text)["allowed"]), (429, False))
        self.assertRegex(denied["Retry-After"], r"^[1-9]\d*$")

    def test_operation_has_the_counters_of_its_requests(self):
        self.sluice.check("POST", "/two", client="192.0.2.20")
        answer = self.sluice.ask(operation="two", subject={"kind": "client-ip", "value": "192.0.2.20"})
        self.assertEqual(json.loads(answer.text)["remaining"], 0)

    def test_repeat_of_an_evaluation_charges_once(self):
        ask = {"policies": ["two"], "subject": "bob", "evaluation_id": "order-17"}
        answers = [json.loads(self.sluice.ask(**ask).text) for _ in range(2)]
        self.assertEqual([(a["remaining"], a["replayed"]) for a in answers], [(1, False), (1, True)])
        self.assertEqual(self.sluice.ask(cost=2, **ask).status, 409)

    def test_refuses_what_it_cannot_do(self):
        for ask, status in (
            ({"policies": ["unknown"], "subject": "x"}, 422),
            ({"policies": ["api"], "subject": "x", "cost": 11}, 422),
            ({"policies": ["api"]}, 400),
            ({"policies": ["api"], "subject": "x", "surprise": 1}, 400),
        ):
            self.assertEqual(self.sluice.ask(**ask).status, status, ask)
        broken = request(self.sluice.address, "POST", "/v1/evaluate", body=b'{"policies":')
        self.assertEqual(broken.status, 400)
        self.assertIn("at byte 1", broken.text)


class Paths(Daemon):
    def test_that_do_not_exist_are_404(self):
        # A wrong address that answers 200 allows everything.
        for path in ("/", "/auth", "/check/", "/metrics", "/v1", "/v1/evaluates"):
            answer = request(self.sluice.address, "GET", path)
            self.assertEqual((answer.status, answer["Content-Type"]), (404, "application/problem+json"), path)
        self.assertEqual(request(self.sluice.admin, "GET", "/check").status, 404)

    def test_take_their_methods_only(self):
        for address, method, path, allow in (
            (self.sluice.address, "GET", "/v1/evaluate", "POST"),
            (self.sluice.address, "PUT", "/v1/peek", "POST"),
            (self.sluice.admin, "POST", "/metrics", "GET, HEAD"),
        ):
            answer = request(address, method, path)
            self.assertEqual((answer.status, answer["Allow"]), (405, allow), path)


class Stranger(unittest.TestCase):
    def test_is_not_believed(self):
        config = CONFIG | {"identity": {"trusted_proxies": []}}
        with Sluice(config, tcp=True) as sluice:
            self.assertEqual(sluice.check().status, 400)
            for endpoint in ("evaluate", "peek"):
                self.assertEqual(sluice.ask(endpoint, policies=["api"], subject="x").status, 403)


class Admin(unittest.TestCase):
    def test_says_that_it_lives_and_is_ready(self):
        with Sluice(CONFIG) as sluice:
            for path in ("/livez", "/readyz"):
                self.assertEqual(request(sluice.admin, "GET", path).status, 200)
                head = request(sluice.admin, "HEAD", path)
                self.assertEqual((head.status, head.body), (200, b""))

    def test_metrics_count_what_was_decided(self):
        with Sluice(CONFIG) as sluice:
            for _ in range(3):
                sluice.check("POST", "/two")
            sluice.ask(policies=["five"], subject="alice@example.com")
            request(sluice.address, "GET", "/nothing-here")
            answer = request(sluice.admin, "GET", "/metrics")
            self.assertTrue(answer["Content-Type"].startswith("text/plain; version=0.0.4"))
            for identity in ("203.0.113.9", "alice"):
                self.assertNotIn(identity, answer.text)
            metrics = sluice.metrics()
            for policy, outcome, count in (("two", "allowed", 2), ("two", "denied", 1),
                                           ("five", "allowed", 1)):
                name = f'sluice_evaluations_total{{outcome="{outcome}",policy="{policy}"}}'
                self.assertEqual(metrics[name], count, name)
            self.assertEqual(metrics['sluice_http_rejections_total{reason="no-such-path"}'], 1)
            self.assertEqual(metrics["sluice_evaluation_duration_seconds_count"], 4)
            self.assertEqual(metrics["sluice_memory_states"], 2)


if __name__ == "__main__":
    harness.main()
