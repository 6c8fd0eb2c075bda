"""What deploy/nginx promises, each point with a real nginx, the daemon, and a site behind them."""

import itertools
import json
import unittest

import harness
from harness import YEAR, Nginx, Sluice
from servers import Connection, Relay, Server, exchange, site

CONFIG = {
    "default_policy": "api",
    "policies": {
        "login": {"algorithm": "fixed-window", "limit": 5, "window": YEAR},
        "api": {"algorithm": "fixed-window", "limit": 1000, "window": YEAR},
        "shop": {"algorithm": "fixed-window", "limit": 3, "window": YEAR},
        "never": {"algorithm": "fixed-window", "limit": 0, "window": YEAR},
    },
    "operations": [
        {"id": "login", "match": {"methods": ["POST"], "path": "/login"}, "policies": ["login"]},
        {"id": "shop", "match": {"host": "shop.example.com"}, "policies": ["shop"]},
        {"id": "never", "match": {"path": "/never/**"}, "policies": ["never", "api"]},
        {"id": "health", "match": {"path": "/healthz"}, "exempt": True},
    ],
    "identity": {"trusted_proxies": ["127.0.0.1/32"]},
}
WINDOW = 366 * 86400
BIG = b"x" * (10 * 1024 * 1024)

# Every name that sluice believes or sets, with a value only a forger would send.
FORGED = [
    ("X-Forwarded-For", "198.51.100.66"), ("Forwarded", "for=198.51.100.66"),
    ("X-Real-IP", "198.51.100.66"), ("X-Original-Method", "FORGED"), ("X-Original-URI", "/forged"),
    ("X-Original-URL", "/forged"), ("X-Original-Host", "forged.example"),
    ("X-Forwarded-Method", "FORGED"), ("X-Forwarded-Uri", "/forged"),
    ("X-Forwarded-Host", "forged.example"), ("X-Forwarded-Proto", "forged"),
    ("X-Authenticated-User", "forged"), ("X_Authenticated_User", "forged"),
    ("X-Sluice-Outcome", "forged"), ("X-Sluice-Status", "forged"), ("RateLimit", '"forged";r=1'),
    ("RateLimit-Policy", '"forged";q=1'), ("Retry-After", "forged"),
]
CREDENTIALS = [("X-API-Key", "secret-key"), ("Authorization", "Bearer secret"), ("Cookie", "secret=1")]

clients = (f"127.0.1.{n}" for n in itertools.count(1))


class Recipe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.backend = cls.enterClassContext(Server(site))
        cls.sluice = cls.enterClassContext(Sluice(CONFIG))
        cls.relay = cls.enterClassContext(Relay(cls.sluice.address))
        others = """
            server {
                listen {listen};
                server_name private.example.com;
                include sluice/check.conf;
                location / {
                    include sluice/limit.conf;
                    deny all;
                }
            }
            server {
                listen {listen};
                server_name other.example.com;
                include sluice/check.conf;
                proxy_intercept_errors on;
                error_page 403 500 = /error;
                location / {
                    client_max_body_size 16m;
                    include sluice/limit.conf;
                    include sluice/forward.conf;
                    proxy_pass http://backend;
                }
                location = /error { return 200 "an error page"; }
            }"""
        cls.nginx = cls.enterClassContext(Nginx(cls.relay.address, cls.backend.address, servers=others))

    def setUp(self):
        self.client = next(clients)  # with untouched budgets

    def get(self, target="/", headers=()):
        return self.nginx.get(target, self.client, headers)

    def login(self, headers=(), body=b"user=alice"):
        return self.nginx.request("POST", "/login", headers, body, self.client)

    def exhaust_logins(self):
        for _ in range(5):
            self.assertEqual(self.login().status, 200)

    def test_allowed_answers_carry_the_fields_whatever_their_status(self):
        for remaining, status in ((999, 200), (998, 404), (997, 500)):
            answer = self.get(f"/status/{status}")
            self.assertEqual(answer.status, status)
            self.assertRegex(answer["RateLimit"], rf'^"api";r={remaining};t=[1-9]\d*$')
            self.assertEqual(answer["RateLimit-Policy"], f'"api";q=1000;w={WINDOW}')
            self.assertEqual(answer["X-Sluice-Outcome"], "allowed")  # not the site's "forged"
            self.assertIsNone(answer["X-Sluice-Status"])

    def test_exempt_answers_carry_no_numbers(self):
        answer = self.get("/healthz")
        self.assertEqual((answer.status, answer["X-Sluice-Outcome"]), (200, "exempt"))
        self.assertIsNone(answer["RateLimit"])

    def test_denial_is_a_complete_429(self):
        # auth_request makes 500 of any other status than 401 and 403.
        self.exhaust_logins()
        for answer in (self.login(), self.login(body=BIG)):
            self.assertEqual(answer.status, 429)
            wait = int(answer["Retry-After"])
            self.assertTrue(1 <= wait <= WINDOW)
            self.assertEqual(answer["RateLimit"], f'"login";r=0;t={wait}')
            self.assertEqual(answer["RateLimit-Policy"], f'"login";q=5;w={WINDOW}')
            self.assertEqual(answer["Content-Type"], "application/problem+json")
            self.assertEqual(answer["Cache-Control"], "no-store")
            self.assertEqual(answer["X-Sluice-Outcome"], "denied")
            self.assertIsNone(answer["X-Sluice-Status"])
            self.assertEqual(json.loads(answer.text)["status"], 429)

    def test_denial_that_can_never_pass_has_no_retry_after(self):
        # The extension must not choose another type for the body either.
        answer = self.get("/never/page.html")
        self.assertEqual((answer.status, answer["Retry-After"]), (429, None))
        self.assertEqual(answer["Content-Type"], "application/problem+json")

    def test_denied_head_has_no_body(self):
        answer = self.nginx.request("HEAD", "/never/x", client=self.client)
        self.assertEqual((answer.status, answer.body), (429, b""))

    def test_head_passes(self):
        answer = self.nginx.request("HEAD", "/", client=self.client)
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertIn('"api";r=999', answer["RateLimit"])
        self.assertEqual(self.backend.seen[-1].method, "HEAD")

    def test_upload_of_10_mib_passes(self):
        # The question to sluice once kept nginx's bound of 1 MiB where the site's location alone has
        # a larger one: 413 for the client.
        for host in ("example.com", "other.example.com"):
            answer = self.nginx.request("POST", "/upload", [("Host", host)], BIG, self.client)
            self.assertEqual(answer.status, 200)
            self.assertEqual(self.backend.seen[-1].length, len(BIG))

    def test_websocket_handshake_passes_and_costs_one(self):
        connection = Connection(self.nginx.address, self.client)
        connection.connect()
        with connection.sock as sock:
            sock.sendall(b"GET /socket HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\n"
                         b"Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n")
            head = b""
            while b"\r\n\r\n" not in head:
                head += sock.recv(4096)
            self.assertTrue(head.startswith(b"HTTP/1.1 101 "), head)
            self.assertIn(b'RateLimit: "api";r=999;', head)
            for frame in (b"one", b"two"):
                sock.sendall(frame)
                self.assertEqual(sock.recv(4096), frame)
        self.assertIn('"api";r=998;', self.get()["RateLimit"])

    def test_connections_to_sluice_and_the_site_are_kept(self):
        # One whose answer has a body that auth_request does not read is closed each time.
        self.exhaust_logins()
        before = self.relay.connections, self.backend.connections
        for _ in range(50):
            self.assertEqual(self.get().status, 200)
            self.assertEqual(self.login().status, 429)
        self.assertEqual((self.relay.connections, self.backend.connections), before)

    def test_connections_of_clients_are_kept_after_a_denial(self):
        connection = Connection(self.nginx.address, self.client)
        statuses = [exchange(connection, "GET", target).status for target in ("/", "/never/x", "/")]
        connection.close()
        self.assertEqual(statuses, [200, 429, 200])

    def test_forged_headers_reach_neither_sluice_nor_the_site(self):
        self.relay.received = b""
        answer = self.get("/page?q=1", [*FORGED, *CREDENTIALS])
        self.assertEqual(answer.status, 200)
        for word in (b"forged", b"198.51.100.66", b"secret"):
            self.assertNotIn(word, self.relay.received.lower())
        self.assertIn(f"X-Forwarded-For: {self.client}\r\n".encode(), self.relay.received)
        self.assertIn(b"X-Original-URI: /page?q=1\r\n", self.relay.received)

        seen = self.backend.seen[-1].headers
        for name, value in seen.items():
            self.assertNotIn("forged", value.lower(), name)
            self.assertNotIn("198.51.100.66", value, name)
        for name, _ in CREDENTIALS:  # the client's own, for the site to verify
            self.assertIn(name, seen)
        self.assertEqual(seen.get_all("X-Forwarded-For"), [self.client])
        self.assertEqual((seen["Host"], seen["Connection"]), ("127.0.0.1", None))

    def test_rotating_forged_addresses_are_one_client(self):
        statuses = [self.login([("X-Forwarded-For", f"198.51.100.{n}")]).status for n in range(200)]
        self.assertEqual(statuses, [200] * 5 + [429] * 195)

    def test_rotating_api_keys_are_one_client(self):
        statuses = [self.login([("X-API-Key", f"key-{n}")]).status for n in range(20)]
        self.assertEqual(statuses, [200] * 5 + [429] * 15)

    def test_host_of_the_request_decides(self):
        # Not sluice's own name, and not what the client writes into X-Forwarded-Host.
        shop = [("Host", "shop.example.com:80")]
        self.assertIn('"shop";r=2', self.get("/", shop)["RateLimit"])
        self.assertIn('"api"', self.get("/", [("X-Forwarded-Host", "shop.example.com")])["RateLimit"])

    def test_request_without_host_is_judged(self):
        connection = Connection(self.nginx.address, self.client)
        connection.connect()
        with connection.sock as sock:
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b"".join(iter(lambda: sock.recv(4096), b""))
        self.assertRegex(answer, rb"^HTTP/1.1 200 ")
        self.assertIn(b'RateLimit: "api";r=999', answer)

    def test_refusals_and_failures_of_the_site_pass_unchanged(self):
        for status in (401, 403, 404, 429, 500, 502, 503):
            with self.subTest(status=status):
                answer = self.get(f"/status/{status}")
                self.assertEqual((answer.status, answer.text), (status, f"the site says {status}"))
                self.assertEqual(answer["X-Backend"], "site")
                self.assertEqual(answer["Retry-After"], "77" if status in (429, 503) else None)

    def test_refusal_by_nginx_itself_stays_403(self):
        self.assertEqual(self.get("/", [("Host", "private.example.com")]).status, 403)

    def test_statuses_survive_a_server_that_intercepts_errors(self):
        # The backend's 403 and 500 then come to the pages that are meant for sluice's, and sluice's own
        # must not come to the server's: with `=`, a denial would become a 200.
        host = [("Host", "other.example.com")]
        for status in (403, 500):
            answer = self.get(f"/status/{status}", host)
            self.assertEqual((answer.status, answer["Retry-After"]), (status, None))
        self.exhaust_logins()
        self.assertEqual(self.login(host).status, 429)

    def test_question_cannot_be_asked_from_outside(self):
        self.assertEqual(self.get("/_sluice/check").status, 404)


class BehindAnotherProxy(unittest.TestCase):
    def test_address_is_the_last_untrusted_one(self):
        # The leftmost entry is the client's to forge: 200 of them once were 200 budgets.
        def use_the_variant(edge):
            shipped = 'map "" $sluice_client { default $remote_addr; }'
            variant = 'map "" $sluice_client { default $proxy_add_x_forwarded_for; }'
            self.assertIn("\n# " + variant, edge)
            return edge.replace(shipped, "").replace("# " + variant, variant)

        backend = self.enterContext(Server(site))
        sluice = self.enterContext(Sluice(CONFIG))
        nginx = self.enterContext(Nginx(sluice.address, backend.address, edit=use_the_variant))
        statuses = [nginx.request("POST", "/login",
                                  [("X-Forwarded-For", f"198.51.100.{n}, 203.0.113.9")]).status
                    for n in range(200)]
        self.assertEqual(statuses, [200] * 5 + [429] * 195)
        other = nginx.request("POST", "/login", [("X-Forwarded-For", "203.0.113.9, 203.0.113.10")])
        self.assertEqual(other.status, 200)


if __name__ == "__main__":
    harness.main()
