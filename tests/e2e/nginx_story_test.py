"""The story of the README: nginx before a site, deploy/quickstart.yaml, and a client that logs in too often."""

import json
import re
import unittest

import harness
from harness import ROOT, Nginx, Sluice
from servers import Server, site

QUICKSTART = ROOT / "deploy" / "quickstart.yaml"


class Site(unittest.TestCase):
    def setUp(self):
        self.backend = self.enterContext(Server(site))
        sluice = self.enterContext(Sluice(QUICKSTART))
        self.nginx = self.enterContext(Nginx(sluice.address, self.backend.address))

    def six_logins(self):
        """Six answers of one minute, and who asked.

        The policy's minute may turn in the middle of a burst. Then a client without a past tries
        again at once, which is long before the next turn.
        """
        for client in ("127.0.0.2", "127.0.0.3", "127.0.0.4"):
            answers = [self.nginx.request("POST", "/login", body=b"user=alice", client=client)
                       for _ in range(6)]
            remaining = [re.search(r'"login";r=(\d+)', answer["RateLimit"])[1] for answer in answers]
            if remaining == ["4", "3", "2", "1", "0", "0"]:
                return client, answers
        self.fail(f"no burst of one minute; the last one had {remaining} left")

    def test_sixth_login_of_a_minute_is_refused(self):
        client, answers = self.six_logins()
        self.assertEqual([answer.status for answer in answers], [200] * 5 + [429])
        for answer in answers[:5]:
            self.assertEqual(answer.text, "the site says 200")
            self.assertIsNone(answer["Retry-After"])
        refused = answers[5]
        self.assertRegex(refused["Retry-After"], r"^[1-9][0-9]?$")
        wait = int(refused["Retry-After"])
        self.assertLessEqual(wait, 60)
        self.assertIn('"login";q=5;w=60', refused["RateLimit-Policy"])
        self.assertTrue(refused["RateLimit"].startswith(f'"login";r=0;t={wait}'), refused["RateLimit"])
        self.assertEqual(refused["Content-Type"], "application/problem+json")
        self.assertEqual(refused["Cache-Control"], "no-store")
        problem = json.loads(refused.text)
        self.assertEqual(problem["status"], 429)
        self.assertEqual(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded")

        # The budget is that of logging in, and of this client.
        self.assertEqual(self.nginx.get("/", client=client).status, 200)
        self.assertEqual(self.nginx.request("POST", "/login", client="127.0.0.9").status, 200)

    def test_site_does_not_see_what_is_refused(self):
        client, answers = self.six_logins()
        self.backend.seen.clear()
        while answers[-1].status != 200 and len(answers) < 9:
            answers.append(self.nginx.request("POST", "/login", client=client))
        # Only if the minute turned meanwhile, one more came through.
        self.assertEqual(len(self.backend.seen), answers[-1].status == 200)


if __name__ == "__main__":
    harness.main()
