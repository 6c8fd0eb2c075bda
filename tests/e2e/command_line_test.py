"""The command line: what each subcommand prints, where, and with which exit status."""

import json
import pathlib
import re
import stat
import tempfile
import unittest

import harness
from harness import ROOT, YEAR, run

CONFIG = {
    "default_policy": "api",
    "policies": {
        "api": {"algorithm": "token-bucket", "capacity": 100, "refill": 10, "period": "1s"},
        "never": {"algorithm": "fixed-window", "limit": 0, "window": YEAR},
    },
}
ESCAPE = "\x1b"


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.config = self.directory / "sluice.yaml"
        self.config.write_text(json.dumps(CONFIG))


class Help(CommandLine):
    def test_version_is_that_of_the_header(self):
        header = (ROOT / "include" / "sluice" / "version.h").read_text()
        version = re.search(r'kVersion.*"([0-9.]+)"', header)[1]
        for arguments in (["version"], ["--version"]):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"sluice {version}\n", ""))

    def test_shows_the_usage_on_stdout(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in ("serve", "check-config", "doctor", "keygen", "version", "evaluate"):
            self.assertRegex(done.stdout, rf"(?m)^ *{command} ")
            own = run(command, "--help")
            self.assertEqual((own.returncode, own.stderr), (0, ""))
            self.assertIn("Usage", own.stdout)

    def test_has_no_colours_where_no_terminal_is(self):
        for env in ({}, {"NO_COLOR": "1"}):
            done = run("--help", env=env)
            self.assertNotIn(ESCAPE, done.stdout)


class Usage(CommandLine):
    def test_errors_are_one_line_on_stderr(self):
        file = self.config
        for arguments in (
            [],
            ["no-such-command"],
            ["serve"],
            ["serve", "-c"],
            ["serve", "-c", file, "surplus"],
            ["check-config"],
            ["keygen"],
            ["evaluate", "-c", file],
            ["evaluate", "-c", file, "--policy", "api"],
            ["evaluate", "-c", file, "--subject", "alice"],
            ["evaluate", "-c", file, "--policy", "api", "--subject", "alice", "--cost", "many"],
            ["evaluate", "-c", file, "--policy", "api", "--subject", "alice", "--budget", "soon"],
            ["evaluate", "-c", file, "--policy", "api", "--subject", "alice", "--manual-clock"],
            ["evaluate", "-c", file, "--stream", "--policy", "api"],
            ["evaluate", "-c", "/nonexistent.yaml", "--policy", "api", "--subject", "alice"],
        ):
            with self.subTest(arguments[:6]):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertRegex(done.stderr, r"^sluice: [^\n]+\n$")


class Keygen(CommandLine):
    def test_makes_a_key_for_its_owner_alone(self):
        keys = [self.directory / name for name in ("1.key", "2.key")]
        for key in keys:
            done = run("keygen", key)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
            self.assertGreaterEqual(len(key.read_bytes()), 32)
        self.assertNotEqual(keys[0].read_bytes(), keys[1].read_bytes())

    def test_never_replaces_a_file(self):
        key = self.directory / "1.key"
        run("keygen", key)
        before = key.read_bytes()
        done = run("keygen", key)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^sluice: [^\n]+\n$")
        self.assertEqual(key.read_bytes(), before)

    def test_key_names_the_same_client_in_every_run(self):
        run("keygen", self.directory / "1.key")
        config = CONFIG | {"pseudonym": {"active_version": 1,
                                         "keys": {"1": {"file": str(self.directory / "1.key")}}}}
        self.config.write_text(json.dumps(config))
        ask = ["evaluate", "-c", self.config, "--policy", "api", "--subject", "alice"]
        self.assertEqual(run(*ask).returncode, 0)
        # Others could name clients too: such a key is refused.
        (self.directory / "1.key").chmod(0o644)
        done = run(*ask)
        self.assertEqual(done.returncode, 2)
        self.assertIn("1.key", done.stderr)


class CheckConfig(CommandLine):
    def test_output_loads_again_and_stays_the_same(self):
        for file in (self.config, ROOT / "deploy" / "quickstart.yaml"):
            effective = run("check-config", file)
            self.assertEqual((effective.returncode, effective.stderr), (0, ""))
            self.config.write_text(effective.stdout)
            again = run("check-config", self.config)
            self.assertEqual((again.returncode, again.stdout), (0, effective.stdout))

    def test_shows_the_environment_in_effect(self):
        done = run("check-config", self.config, env={"SLUICE_HTTP__LISTEN": "127.0.0.1:8181"})
        self.assertIn("127.0.0.1:8181", done.stdout)

    def test_refuses_variables_that_it_does_not_know(self):
        done = run("check-config", self.config, env={"SLUICE_HTTP__LISTENS": "127.0.0.1:8181"})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("SLUICE_HTTP__LISTENS", done.stderr)

    def test_names_each_error_with_its_place(self):
        self.config.write_text("default_policy: api\n"
                               "policies:\n"
                               "  api: {algorithm: token-bucket, capacity: many, refill: 10, period: 1s}\n"
                               "surprise: 1\n")
        done = run("check-config", self.config)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertIn(f"{self.config}:3:", lines[0])
        self.assertIn(f"{self.config}:4:", lines[1])


class Evaluate(CommandLine):
    def evaluate(self, *arguments):
        done = run("evaluate", "-c", self.config, "--subject", "alice", *arguments)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertNotIn("alice", done.stdout)
        return done.returncode, json.loads(done.stdout)

    def test_exit_status_tells_the_outcome(self):
        status, outcome = self.evaluate("--policy", "api", "--cost", "3")
        self.assertEqual((status, outcome["allowed"], outcome["remaining"]), (0, True, 97))
        status, outcome = self.evaluate("--policy", "api", "--policy", "never")
        self.assertEqual((status, outcome["allowed"], outcome["policy"]), (1, False, "never"))
        self.assertIsNone(outcome["retry_after_ms"])
        status, outcome = self.evaluate("--policy", "unknown")
        self.assertEqual((status, outcome["outcome"], outcome["reason"]),
                         (3, "incompatible", "unknown-policy"))

    def test_peek_reports_without_charging(self):
        status, outcome = self.evaluate("--policy", "api", "--peek")
        self.assertEqual((status, outcome["outcome"]), (0, "evaluated"))


class Stream(CommandLine):
    def test_answers_line_for_line_at_the_time_that_each_names(self):
        asks = [{"policies": ["api"], "subject": "alice", "cost": 60, "now_ms": now}
                for now in (0, 1000, 4000)]
        lines = "".join(json.dumps(ask) + "\n" for ask in asks)
        done = run("evaluate", "-c", self.config, "--stream", "--manual-clock", stdin=lines.encode())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        outcomes = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(o["allowed"], o["remaining"], o["retry_after_ms"]) for o in outcomes],
                         [(True, 40, 0), (False, 50, 1000), (True, 20, 0)])

    def test_of_nothing_is_nothing(self):
        done = run("evaluate", "-c", self.config, "--stream")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    harness.main()
