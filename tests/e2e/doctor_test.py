"""`sluice doctor`: each test breaks one thing and sees that the doctor names it, and nothing else."""

import re
import signal
import socket
import ssl
import subprocess
import time

import harness
import resp_relay
from doctor_case import KEEPS, PASSWORD, Doctor
from harness import ROOT, Redis
from servers import Relay

COMMANDS = ("evalsha", "script|load", "time", "hmget", "hget", "hgetall", "exists", "hset", "pexpire", "hdel")
LOOKS = ("info", "config|get", "scan", "type", "pttl")
# What the shipped account may not look at.
UNSEEN = {"maxmemory-policy", "replication", "persistence", "keyspace"}


class Healthy(Doctor):
    def test_nothing_is_wrong_nor_unseen_for_somebody_who_may_look(self):
        self.configure(self.server().address)
        findings = self.assert_healthy()
        self.assertEqual(len({finding["check"] for finding in findings}), 15)
        self.assertEqual(self.verdicts(findings, "skipped"), {"tls"})

    def test_the_shipped_account_may_not_look_but_the_operator_may(self):
        redis = self.server("--aclfile", str(ROOT / "deploy" / "redis" / "users.acl"))
        password, operator = self.directory / "password", self.directory / "operator"
        password.write_text("change-me-sluice\n")
        operator.write_text("change-me-operator\n")
        self.configure(redis.address, username="sluice", password_file=str(password))
        self.assert_healthy(unknown=UNSEEN)
        as_operator = ("--redis-user", "operator", "--redis-password-file", operator)
        self.assert_healthy(*as_operator)
        operator.write_text("wrong\n")
        self.assert_only("authentication", *as_operator, found="user operator", remedy="--redis-user")

    def test_leaves_nothing_behind_that_does_not_expire(self):
        redis = self.server()
        self.configure(redis.address)
        self.assert_healthy()
        script = "for _, k in ipairs(redis.call('KEYS', '*')) do " \
                 "local ttl = redis.call('PTTL', k) if ttl < 0 or ttl > 3000 then return k end end " \
                 "return 'none'"
        self.assertEqual(redis.command("EVAL", script, "0"), b"$4\r\nnone\r\n")

    def test_prints_a_line_a_finding_for_people(self):
        self.configure(self.server().address)
        done = harness.run("doctor", "-c", self.config)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^  ✓ version +(redis|valkey) \d+\.\d+")
        self.assertRegex(done.stdout, r"(?m)^  ✓ latency +p50 .* p99 .* of 200 probes")
        self.assertEqual(done.stdout.splitlines()[-1], "14 ✓  0 ✗  0 ?")
        self.assertNotIn("\x1b", done.stdout)


class Keys(Doctor):
    def test_a_key_file_that_others_can_read(self):
        self.configure(self.server().address)
        self.key.chmod(0o644)
        findings = self.assert_only("pseudonym-key", found="chmod 600")
        self.assertEqual(findings[0]["subject"], str(self.key))

    def test_the_memory_provider_has_key_files_and_no_server(self):
        self.configure("127.0.0.1:1")
        self.config.write_text(self.config.read_text().replace('"redis", "redis"', '"memory", "redis"'))
        self.assertEqual([f["check"] for f in self.assert_healthy()], ["pseudonym-key", "topology"])
        self.key.write_bytes(b"short")
        self.assert_only("pseudonym-key")


class Reach(Doctor):
    def test_a_name_that_nobody_knows(self):
        self.configure("no-such-host.invalid:6379")
        findings = self.assert_only("resolution")
        self.assertEqual(self.verdicts(findings, "ok"), {"pseudonym-key"})

    def test_a_name_that_is_known(self):
        relay = self.relay(self.server())
        self.configure(f"localhost:{relay.port}")
        found = {f["check"]: f["found"] for f in self.assert_healthy()}
        self.assertIn("127.0.0.1", found["resolution"])

    def test_a_server_that_is_gone(self):
        redis = self.server()
        redis.kill()
        self.configure(redis.address)
        self.assert_only("connection")

    def test_a_server_that_hangs(self):
        redis = self.server()
        self.configure(redis.address, command_timeout="200ms")
        redis.signal(signal.SIGSTOP)
        try:
            self.assert_only("connection", found="in time")
        finally:
            redis.signal(signal.SIGCONT)

    def test_a_server_that_takes_no_more_clients(self):
        redis = self.server("--maxclients", "1")
        self.configure(redis.address)
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(redis.socket)
            other.sendall(b"PING\r\n")
            self.assertEqual(other.recv(100), b"+PONG\r\n")
            self.assert_only("connection", found="max number of clients")


class Tls(Doctor):
    def certificate(self, name):
        """A certificate for `name`, its own authority, and its key."""
        file, key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "2", "-subj", f"/CN={name}",
                        "-addext", f"subjectAltName=DNS:{name}", "-out", file, "-keyout", key], check=True, capture_output=True)
        return file, key

    def setUp(self):
        super().setUp()
        file, key = self.certificate("redis.internal")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file, key)
        self.relayed = self.relay(self.server(), tls=context)
        self.tls = {"ca_file": str(file), "server_name": "redis.internal"}

    def test_a_certificate_that_fits(self):
        self.configure(self.relayed.address, tls=self.tls)
        self.assertEqual(self.verdicts(self.assert_healthy(), "skipped"), set())

    def test_an_authority_that_did_not_sign_it(self):
        other, _ = self.certificate("other.internal")
        self.configure(self.relayed.address, tls=self.tls | {"ca_file": str(other)})
        self.assert_only("tls", found="self-signed", remedy="ca_file")

    def test_another_name_than_the_certificates(self):
        self.configure(self.relayed.address, tls=self.tls | {"server_name": "redis.example"})
        self.assert_only("tls", found="not for redis.example", remedy="server_name")

    def test_no_tls_before_a_server_that_expects_it(self):
        self.configure(self.relayed.address)
        self.assert_only("tls", found="not configured", remedy="the chapter tls")

    def test_tls_before_a_server_that_has_none(self):
        plain = self.enterContext(Relay(self.server().socket))
        self.configure("%s:%d" % plain.address, tls=self.tls, command_timeout="1s")
        self.assert_only("tls", remedy="speak TLS")

    def test_a_file_that_is_not_there(self):
        self.configure(self.relayed.address, tls={"ca_file": "/nowhere/ca.pem"})
        self.assert_only("tls", found="/nowhere/ca.pem")


class Login(Doctor):
    def test_no_password_where_one_is_asked_for(self):
        self.configure(self.server("--requirepass", PASSWORD).address)
        self.assert_only("authentication", found="asks for a login")

    def test_a_wrong_password(self):
        self.configure(self.server("--requirepass", "other").address, password=PASSWORD)
        findings = self.assert_only("authentication", found="AUTH")
        self.assertIn("version", self.verdicts(findings, "skipped"))

    def test_a_password_file_that_is_not_there(self):
        self.configure(self.server().address, password_file="/nowhere/password")
        self.assert_only("authentication", found="/nowhere/password")

    def test_a_server_without_auth_is_not_told_the_password_in_the_report(self):
        # "unknown command 'AUTH', with args beginning with: …" quotes it.
        self.configure(self.server("--rename-command", "AUTH", "LOGIN").address, password=PASSWORD)
        self.assert_only("authentication")


class Permissions(Doctor):
    def login(self, redis, *rules):
        for user in (["sluice", "on", ">" + PASSWORD, *rules], ["default", "off"]):
            self.assertEqual(redis.command("ACL", "SETUSER", *user), b"+OK\r\n")

    def test_each_command_that_is_missing(self):
        for missing in COMMANDS:
            with self.subTest(missing), Redis(*KEEPS) as redis:
                allowed = [f"+{command}" for command in (*COMMANDS, *LOOKS) if command != missing]
                self.login(redis, "~sluice:*", *allowed)
                self.configure(redis.address, username="sluice", password=PASSWORD)
                grant = rf"^ACL SETUSER sluice \+{re.escape(missing)}$"
                findings = self.assert_only("permission", remedy=grant)
                self.assertIn("script-cache", self.verdicts(findings, "skipped"))
                self.assertEqual(redis.command("AUTH", "sluice", PASSWORD), b"+OK\r\n")

    def test_each_of_several_is_a_line_of_its_own(self):
        redis = self.server()
        self.login(redis, "~sluice:*", *(f"+{c}" for c in COMMANDS if c not in ("hset", "hdel")))
        self.configure(redis.address, username="sluice", password=PASSWORD)
        failed = [f["remedy"] for f in self.findings() if f["verdict"] == "failed"]
        self.assertEqual(failed, ["ACL SETUSER sluice +hset", "ACL SETUSER sluice +hdel"])

    def test_keys_of_another_prefix(self):
        redis = self.server()
        self.login(redis, "~sluice:*", *(f"+{command}" for command in (*COMMANDS, *LOOKS)))
        self.configure(redis.address, username="sluice", password=PASSWORD, prefix="edge")
        self.assert_only("permission", found='"edge:"', remedy=r"~edge:\*$")

    def test_another_database(self):
        redis = self.server()
        self.login(redis, "~sluice:*", *(f"+{command}" for command in (*COMMANDS, *LOOKS)))
        self.configure(redis.address, username="sluice", password=PASSWORD, database=1)
        self.assert_only("permission", remedy=r"\+select$")

    def test_waiting_for_replicas(self):
        redis = self.server()
        self.login(redis, "~sluice:*", *(f"+{command}" for command in (*COMMANDS, *LOOKS)))
        self.configure(redis.address, username="sluice", password=PASSWORD, wait_replicas=1)
        failed = {f["check"]: f["remedy"] for f in self.findings() if f["verdict"] == "failed"}
        self.assertEqual(set(failed), {"permission", "replication"})  # there is none to wait for either
        self.assertEqual(failed["permission"], "ACL SETUSER sluice +wait")

    def test_a_command_that_is_switched_off(self):
        self.configure(self.server("--rename-command", "HGETALL", "").address)
        self.assert_only("permission", found="knows no HGETALL", remedy="rename-command")


class Servers(Doctor):
    def test_an_old_version(self):
        version = re.compile(rb"\$\d+\r\nversion\r\n\$\d+\r\n[^\r]+\r\n")

        def older(words, reply):
            if words[0] != b"HELLO":
                return reply
            return version.sub(resp_relay.text(b"version") + resp_relay.text(b"6.0.20"), reply)

        self.configure(self.relay(self.server(), older).address)
        self.assert_only("version", found=r"6\.0\.20", remedy=r"6\.2")

    def test_a_server_in_cluster_mode(self):
        self.configure(self.server("--cluster-enabled", "yes").address)
        findings = self.assert_only("topology", found="cluster mode")
        self.assertEqual(self.verdicts(findings, "skipped") - {"tls"},
                         {"script-cache", "replication", "latency", "keyspace"})

    def test_a_replica(self):
        primary = self.server()
        redis = self.server("--replicaof", *self.relay(primary).address.split(":"))
        self.configure(redis.address)
        self.assert_only("topology", found="replica", remedy="primary")

    def test_a_database_that_the_server_lacks(self):
        self.configure(self.server("--databases", "2").address, database=2)
        self.assert_only("topology", found="DB index", remedy="redis.database")

    def test_a_clock_that_is_apart(self):
        def late(words, reply):
            if words != [b"TIME"]:
                return reply
            seconds, micros = resp_relay.words_of(reply)
            return b"*2\r\n" + resp_relay.text(b"%d" % (int(seconds) + 7200)) + resp_relay.text(micros)

        self.configure(self.relay(self.server(), late).address)
        self.assert_only("clock", found=r"^\+7[12]\d{5} ms", remedy="NTP")


class Scripts(Doctor):
    def test_a_script_under_another_name(self):
        def renamed(words, reply):
            return resp_relay.text(b"0" * 40) if words[:2] == [b"SCRIPT", b"LOAD"] else reply

        self.configure(self.relay(self.server(), renamed).address)
        self.assert_only("script-cache", found="SHA-1", remedy="proxy")

    def test_scripts_that_are_forgotten_at_once(self):
        def forgotten(words, reply):
            return b"-NOSCRIPT No matching script.\r\n" if words[0] == b"EVALSHA" else reply

        self.configure(self.relay(self.server(), forgotten).address)
        self.assert_only("script-cache", found="NOSCRIPT")

    def test_a_script_that_says_something_else(self):
        def other(words, reply):
            is_call = words[0] == b"EVALSHA" and reply[:1] != b"-"
            return resp_relay.text(b"denied 0 -:-") if is_call else reply

        self.configure(self.relay(self.server(), other).address)
        self.assert_only("script-cache")


class Keeping(Doctor):
    def test_a_policy_that_forgets(self):
        self.configure(self.server("--maxmemory-policy", "allkeys-lru").address)
        self.assert_only("maxmemory-policy", found="allkeys-lru", remedy="noeviction")

    def test_a_memory_that_is_full(self):
        self.configure(self.server("--maxmemory", "100kb").address)
        self.assert_only("maxmemory-policy", found="OOM")

    def test_too_few_replicas(self):
        self.configure(self.server("--min-replicas-to-write", "1").address)
        findings = self.assert_only("replication", found="0 of the 1")
        self.assertTrue(self.verdicts(findings, "skipped") >= {"script-cache", "latency"})

    def test_replicas_to_wait_for_that_are_not_there(self):
        self.configure(self.server().address, wait_replicas=1)
        self.assert_only("replication", found="0 replicas, needed are 1", remedy="redis.wait_replicas")

    def test_no_persistence(self):
        redis = self.enterContext(Redis())
        self.configure(redis.address)
        self.assert_only("persistence", found="restart", remedy="appendonly")

    def test_snapshots_alone_will_do(self):
        redis = self.enterContext(Redis("--save", "3600 1"))
        self.configure(redis.address)
        found = {f["check"]: f["found"] for f in self.assert_healthy()}
        self.assertIn("save 3600 1", found["persistence"])

    def test_a_snapshot_that_failed(self):
        gone = self.directory / "gone"
        gone.mkdir()
        redis = self.enterContext(Redis("--save", "3600 1", "--dir", str(gone)))
        gone.rmdir()
        self.assertEqual(redis.command("SET", "other", "1"), b"+OK\r\n")
        self.assertEqual(redis.command("BGSAVE")[:1], b"+")
        harness.wait_until(lambda: b"rdb_last_bgsave_status:err" in redis.command("INFO", "persistence"),
                           lambda: redis.log)
        self.configure(redis.address)
        findings = self.assert_only("persistence", found="snapshot failed")
        self.assertIn("script-cache", self.verdicts(findings, "skipped"))
        redis.kill()  # it would not end before it has made one


class Slow(Doctor):
    def test_answers_that_take_too_much_of_the_budget(self):
        def slow(words, reply):
            if words[0] == b"EVALSHA":
                time.sleep(0.3)  # what it is to measure
            return reply

        self.configure(self.relay(self.server(), slow).address, budget="500ms")
        self.assert_only("latency", remedy="budget|network")


class Keyspace(Doctor):
    def test_keys_of_somebody_else(self):
        for words in (["SET", "sluice:queue", "1", "PX", "600000"], ["HSET", "sluice:cart", "item", "1"]):
            with self.subTest(words[0]), Redis(*KEEPS) as redis:
                redis.command(*words)
                redis.command("SET", "other:key", "1")
                self.configure(redis.address)
                self.assert_only("keyspace", found="1 key under", remedy="prefix")


class Usage(Doctor):
    def test_a_configuration_with_errors_is_no_report(self):
        self.configure("127.0.0.1:0")
        done = harness.run("doctor", "-c", self.config, "--json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("redis.address", done.stderr)
        self.configure("127.0.0.1:1")
        written = self.config.read_text()
        self.config.write_text(written.replace('"default_policy": "few"', '"default_policy": "other"'))
        self.assertEqual(harness.run("doctor", "-c", self.config, "--json").returncode, 2)

    def test_an_operator_has_a_name_and_a_password(self):
        self.configure("127.0.0.1:1")
        self.assertEqual(harness.run("doctor", "-c", self.config, "--redis-user", "operator").returncode, 2)


if __name__ == "__main__":
    harness.main()
