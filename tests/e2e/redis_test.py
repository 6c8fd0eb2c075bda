"""`provider: redis` as a whole: a daemon before a server that is late, gone, back or locked."""

import json
import pathlib
import signal
import sys
import tempfile
import types
import unittest

sys.path.append(str(pathlib.Path(__file__).parent.parent / "fault"))

import harness
from harness import YEAR, Redis, Sluice, wait_until
from servers import request
from topology import Cluster

PASSWORD = "correct-horse-battery"
LIMIT = 3


class WithRedis(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.key = self.directory / "pseudonym.key"
        self.assertEqual(harness.run("keygen", self.key).returncode, 0)

    def config(self, redis, workers=2, **more):
        return {
            "provider": "redis",
            "redis": {"address": redis.address, "maximum_clock_skew": "1h"} | more,
            "default_policy": "few",
            "policies": {"few": {"algorithm": "fixed-window", "limit": LIMIT, "window": YEAR}},
            "pseudonym": {"active_version": 1, "keys": {"1": {"file": str(self.key)}}},
            "http": {"workers": workers, "budget": "20s"},
        }

    def outcomes(self, sluice, count, client="203.0.113.9"):
        return [sluice.check(client=client)["X-Sluice-Outcome"] for _ in range(count)]


class Late(WithRedis):
    def test_starts_without_a_server_and_is_ready_once_there_is_one(self):
        with Redis(start=False) as redis, Sluice(self.config(redis), wait=False) as sluice:
            wait_until(lambda: "lane" in self.readyz(sluice), lambda: "readyz names the lanes")
            self.assertEqual(request(sluice.admin, "GET", "/livez").status, 200)
            wait_until(lambda: "a lane to redis is down" in sluice.log, lambda: sluice.log)
            lines = self.readyz(sluice).splitlines()
            self.assertEqual(len(lines), 2, lines)
            for number, line in enumerate(lines, 1):
                self.assertRegex(line, rf"^redis: lane {number} of 2 is down: .*No such file")

            for _ in range(8):  # over both workers
                answer = sluice.check()
                self.assertEqual((answer.status, answer["X-Sluice-Outcome"]), (503, "unavailable"))
                self.assertIn("unavailable-before-send", answer.text)

            redis.start()
            wait_until(sluice.is_ready, lambda: f"ready again\n{sluice.log}")
            wait_until(lambda: "a lane to redis is up" in sluice.log, lambda: sluice.log)
            # Nothing that was asked before has been charged.
            self.assertEqual(self.outcomes(sluice, LIMIT + 1), ["allowed"] * LIMIT + ["denied"])
            self.assertGreater(sluice.metrics()["sluice_redis_connect_failures_total"], 0)

    @staticmethod
    def readyz(sluice):
        try:
            answer = request(sluice.admin, "GET", "/readyz")
        except OSError:
            return ""
        return answer.text if answer.status == 503 else ""


class Shared(WithRedis):
    def test_two_daemons_count_together_and_a_restart_forgets_nothing(self):
        with Redis() as redis:
            with Sluice(self.config(redis)) as one, Sluice(self.config(redis)) as other:
                self.assertEqual(self.outcomes(one, 2) + self.outcomes(other, 2),
                                 ["allowed"] * 3 + ["denied"])
                samples = one.metrics()
                self.assertEqual(samples["sluice_redis_calls_total"], 2)
                self.assertEqual(samples["sluice_redis_evaluations_total"], 2)
                self.assertEqual(samples["sluice_redis_connections"], 2)
                self.assertEqual(samples["sluice_redis_in_flight"], 0)
                self.assertGreater(samples["sluice_redis_round_trip_seconds"], 0)
                self.assertLess(abs(samples["sluice_redis_clock_skew_seconds"]), 60)
                self.assertNotIn("sluice_memory_states", samples)
                self.assertEqual(harness.stop(one), 0, one.log)
            with Sluice(self.config(redis)) as again:
                self.assertEqual(self.outcomes(again, 1), ["denied"])
                # A server that forgot its scripts is given them again.
                self.assertEqual(redis.command("SCRIPT", "FLUSH"), b"+OK\r\n")
                self.assertEqual(self.outcomes(again, 1), ["denied"])
                self.assertEqual(again.metrics()["sluice_redis_script_reloads_total"], 1)

    def test_the_command_line_sees_the_same_counters(self):
        with Redis() as redis:
            config = self.directory / "sluice.yaml"
            config.write_text(json.dumps(self.config(redis)))
            ask = ["evaluate", "-c", config, "--policy", "few", "--subject", "alice", "--budget", "20s"]
            statuses = [harness.run(*ask).returncode for _ in range(LIMIT + 1)]
            self.assertEqual(statuses, [0] * LIMIT + [1])
            redis.kill()
            done = harness.run(*ask)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(json.loads(done.stdout)["category"], "unavailable-before-send")


class Gone(WithRedis):
    def test_a_killed_server_is_told_and_its_return_noticed(self):
        with Redis() as redis, Sluice(self.config(redis)) as sluice:
            self.assertEqual(self.outcomes(sluice, 1), ["allowed"])
            redis.kill()
            wait_until(lambda: not sluice.is_ready(), lambda: "readyz says 503")
            wait_until(lambda: set(self.outcomes(sluice, 4)) == {"unavailable"}, lambda: sluice.log)
            redis.start()
            wait_until(sluice.is_ready, lambda: f"ready again\n{sluice.log}")
            self.assertEqual(self.outcomes(sluice, 1), ["allowed"])

    def test_a_drain_ends_in_time_while_the_server_is_silent(self):
        with Redis() as redis, Sluice(self.config(redis)) as sluice:
            redis.signal(signal.SIGSTOP)
            try:
                self.assertEqual(harness.stop(sluice), 0, sluice.log)
            finally:
                redis.signal(signal.SIGCONT)


class Locked(WithRedis):
    def test_a_wrong_password_is_told_without_it_and_a_new_one_read(self):
        # Old wrong behaviour: the password stood in the log with the error of the login.
        secret = self.directory / "password"
        secret.write_text("wrong-" + PASSWORD + "\n")
        with Redis("--requirepass", PASSWORD) as redis:
            with Sluice(self.config(redis, password_file=str(secret)), wait=False) as sluice:
                wait_until(lambda: "permission-denied" in sluice.log, lambda: sluice.log)
                answer = sluice.check()
                self.assertEqual((answer.status, answer["X-Sluice-Outcome"]), (500, "incompatible"))
                ready = request(sluice.admin, "GET", "/readyz")
                self.assertEqual(ready.status, 503)
                self.assertIn("AUTH", ready.text)

                secret.write_text(PASSWORD + "\n")
                wait_until(sluice.is_ready, lambda: f"ready\n{sluice.log}")
                self.assertEqual(self.outcomes(sluice, 1), ["allowed"])
                told = sluice.log + ready.text + answer.text
                told += request(sluice.admin, "GET", "/metrics").text
                self.assertNotIn(PASSWORD, told)

    def test_check_config_masks_the_password_and_needs_no_server(self):
        with Redis(start=False) as redis:
            config = self.directory / "sluice.yaml"
            config.write_text(json.dumps(self.config(redis, password=PASSWORD)))
            done = harness.run("check-config", config)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertNotIn(PASSWORD, done.stdout)
            self.assertIn('password: "***"', done.stdout)


class Full(WithRedis):
    """What the server will do when its memory is full is told once, whatever the number of lanes."""

    def said(self, redis, **more):
        with Redis(*redis) as server, Sluice(self.config(server, **more)) as sluice:
            wait_until(lambda: "a lane to redis is up" in sluice.log, lambda: sluice.log)
            self.assertEqual(self.outcomes(sluice, 1), ["allowed"])
            self.assertEqual(harness.stop(sluice), 0, sluice.log)
            return [line for line in sluice.log.splitlines() if "maxmemory-policy" in line]

    def test_a_server_that_would_forget_counters_is_warned_of(self):
        lines = self.said(["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("maxmemory-policy is allkeys-lru: a full server forgets counters; use noeviction",
                      lines[0])
        self.assertIn("warn", lines[0])

    def test_a_server_that_refuses_writes_instead_is_no_news(self):
        self.assertEqual(self.said(["--maxmemory", "100mb", "--maxmemory-policy", "noeviction"]), [])

    def test_the_shipped_account_may_not_look_and_works(self):
        lines = self.said(["--aclfile", str(harness.ROOT / "deploy" / "redis" / "users.acl")],
                          username="sluice", password="change-me-sluice")
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("the server does not tell its maxmemory-policy", lines[0])
        self.assertIn("info", lines[0])


class InACluster(WithRedis):
    def config(self, redis, workers=2, **more):
        settings = super().config(redis, workers, topology="cluster", addresses=redis.addresses, **more)
        del settings["redis"]["address"]
        return settings

    def test_operators_are_told_of_each_node(self):
        with Cluster(replicas=0) as cluster:
            seeds = types.SimpleNamespace(address=None, addresses=[str(cluster.servers[0])])
            with Sluice(self.config(seeds)) as sluice:
                self.assertEqual(self.outcomes(sluice, LIMIT + 1), ["allowed"] * LIMIT + ["denied"])
                samples = sluice.metrics()
                nodes = {name: value for name, value in samples.items()
                         if name.startswith("sluice_redis_node_ready{")}
                self.assertEqual(list(nodes.values()), [1, 1, 1])
                self.assertIn('sluice_redis_node_ready{node="%s"}' % seeds.addresses[0], nodes)
                self.assertEqual(samples["sluice_redis_connections"], 2 * 3)

    def test_readiness_names_who_was_asked_in_vain(self):
        seed = f"127.0.0.1:{harness.free_port()}"
        seeds = types.SimpleNamespace(address=None, addresses=[seed])
        with Sluice(self.config(seeds), wait=False) as sluice:
            wait_until(lambda: f"is down: {seed}: connecting: " in Late.readyz(sluice),
                       lambda: Late.readyz(sluice))
            self.assertEqual(sluice.check().status, 503)


class Wrong(WithRedis):
    def test_options_that_cannot_work_end_the_start_with_their_place(self):
        config = self.directory / "sluice.yaml"
        redis = self.enterContext(Redis(start=False))
        settings = self.config(redis, tls={"ca_file": "/nonexistent/ca.pem"})
        settings["redis"]["address"] = "127.0.0.1:6379"
        config.write_text(json.dumps(settings))
        done = harness.run("serve", "-c", config)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"^sluice: .*sluice\.yaml:1:\d+: redis\.tls: .*/nonexistent/ca\.pem")


if __name__ == "__main__":
    harness.main()
