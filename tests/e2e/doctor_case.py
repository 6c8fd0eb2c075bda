"""What the tests of `sluice doctor` stand on."""

import json
import pathlib
import re
import tempfile
import unittest

import harness
from harness import YEAR, Redis
from resp_relay import RespRelay

PASSWORD = "correct-horse-battery"
# With these a server has nothing to complain about.
KEEPS = ("--appendonly", "yes")


class Doctor(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.key = self.directory / "pseudonym.key"
        self.assertEqual(harness.run("keygen", self.key).returncode, 0)
        self.config = self.directory / "sluice.yaml"

    def server(self, *options):
        return self.enterContext(Redis(*KEEPS, *options))

    def relay(self, redis, edit=lambda words, reply: reply, **options):
        return self.enterContext(RespRelay(redis.socket, edit, **options))

    def configure(self, address=None, budget="1m", **redis):
        where = {"address": address} if address else {}
        settings = {
            "provider": "redis",
            "redis": where | {"command_timeout": "20s", "maximum_clock_skew": "1h"} | redis,
            "default_policy": "few",
            "policies": {"few": {"algorithm": "fixed-window", "limit": 3, "window": YEAR}},
            "pseudonym": {"active_version": 1, "keys": {"1": {"file": str(self.key)}}},
            "http": {"budget": budget},
        }
        self.config.write_text(json.dumps(settings))

    def findings(self, *options):
        """The findings of a run whose exit status fits them."""
        done = harness.run("doctor", "-c", self.config, "--json", *options)
        self.assertEqual(done.stderr, "")
        self.assertNotIn(PASSWORD, done.stdout)
        report = json.loads(done.stdout)
        failed = [finding for finding in report["findings"] if finding["verdict"] == "failed"]
        self.assertEqual(report["healthy"], not failed)
        self.assertEqual(done.returncode, 1 if failed else 0, failed)
        return report["findings"]

    def assert_healthy(self, *options, unknown=frozenset()):
        findings = self.findings(*options)
        bad = [finding for finding in findings if finding["verdict"] == "failed"]
        self.assertEqual(bad, [])
        self.assertEqual({f["check"] for f in findings if f["verdict"] == "unknown"}, unknown)
        return findings

    def assert_only(self, check, *options, found="", remedy="", subjects=1):
        """One check has failed, and what is said of it matches. Gives the findings."""
        findings = self.findings(*options)
        failed = [finding for finding in findings if finding["verdict"] == "failed"]
        self.assertEqual([finding["check"] for finding in failed], [check] * subjects, failed)
        self.assertTrue(re.search(found, failed[0]["found"]), failed[0])
        self.assertTrue(re.search(remedy, failed[0]["remedy"] or ""), failed[0])
        return findings

    def verdicts(self, findings, verdict):
        return {finding["check"] for finding in findings if finding["verdict"] == verdict}
