"""`sluice doctor` before sentinels and clusters: one thing is broken, and that is what it names."""

import contextlib
import re

import harness
from doctor_case import KEEPS, PASSWORD, Doctor
from harness import Process, Redis, free_port, wait_until
from resp_relay import RespRelay

MASTER = "edge"
NODE_COMMANDS = ("evalsha", "script|load", "time", "hmget", "hget", "hgetall", "exists", "hset", "pexpire",
                 "hdel", "asking", "cluster|shards", "info", "config|get", "scan", "type", "pttl")


class Server(Redis):
    """A server on a TCP port too."""

    def __init__(self, *options):
        self.port = free_port()
        super().__init__("--bind", "127.0.0.1", "--port", str(self.port), "--repl-diskless-sync-delay", "0",
                         "--repl-ping-replica-period", "1", *KEEPS, *options)

    @property
    def tcp(self):
        return f"127.0.0.1:{self.port}"

    def info(self, chapter):
        return self.command("INFO", chapter).decode()

    def done(self, *words):
        reply = self.command(*words)
        assert reply[:1] != b"-", reply
        return reply


def pair(stack, *options):
    """A primary and its replica, in step."""
    primary = stack.enter_context(Server(*options))
    replica = stack.enter_context(Server(*options))
    replica.done("REPLICAOF", "127.0.0.1", str(primary.port))
    await_replica(primary, replica)
    return primary, replica


def await_replica(primary, replica):
    wait_until(lambda: "master_link_status:up" in replica.info("replication")
               and "state=online" in primary.info("replication"), lambda: primary.log + replica.log)


class Sentinel(Process):
    """A sentinel of one server, which decides alone; `lines` are of its configuration."""

    def __init__(self, server, *lines, quorum=1):
        super().__init__()
        self.port = free_port()
        self.socket = str(self.directory / "sentinel.sock")
        self.tcp = f"127.0.0.1:{self.port}"
        configuration = self.directory / "sentinel.conf"
        configuration.write_text("\n".join([
            f"port {self.port}", "bind 127.0.0.1", f"unixsocket {self.socket}",
            f"sentinel monitor {MASTER} 127.0.0.1 {server.port} {quorum}", *lines, ""]))
        self.spawn(["redis-server", str(configuration), "--sentinel"])
        wait_until(self.answers, lambda: self.log)

    answers = Redis.answers
    command = Redis.command

    def knows_a_replica(self):
        return b"num-slaves\r\n$1\r\n1" in self.command("SENTINEL", "MASTER", MASTER)


class Sentinels(Doctor):
    def setUp(self):
        super().setUp()
        self.stack = self.enterContext(contextlib.ExitStack())

    def sentinel(self, server, *lines, **options):
        return self.stack.enter_context(Sentinel(server, *lines, **options))

    def watch(self, *addresses, **sentinel):
        self.configure(topology="sentinel", sentinel={"master": MASTER, "addresses": addresses} | sentinel)

    def watched_pair(self, *lines):
        primary, replica = pair(self.stack)
        sentinel = self.sentinel(primary, *lines)
        if not lines:
            wait_until(sentinel.knows_a_replica, lambda: sentinel.log)
        return primary, replica, sentinel

    def test_nothing_is_wrong_with_any_server(self):
        primary, replica, sentinel = self.watched_pair()
        self.watch(sentinel.tcp)
        findings = self.assert_healthy()
        subjects = list(dict.fromkeys(finding["subject"] for finding in findings))
        self.assertEqual(subjects[1:], [f"sentinel {sentinel.tcp}", primary.tcp, replica.tcp])

    def test_a_sentinel_that_is_gone(self):
        *_, sentinel = self.watched_pair()
        self.watch(f"127.0.0.1:{free_port()}", sentinel.tcp)
        findings = self.assert_only("connection")
        failed = [finding["subject"] for finding in findings if finding["verdict"] == "failed"]
        self.assertTrue(failed[0].startswith("sentinel "), failed)

    def test_a_master_that_nobody_knows(self):
        *_, sentinel = self.watched_pair()
        self.watch(sentinel.tcp, master="other")
        self.assert_only("topology", found='"other"', remedy="redis.sentinel")

    def test_sentinels_that_disagree(self):
        _, _, sentinel = self.watched_pair()
        other = self.sentinel(self.stack.enter_context(Server()))
        self.watch(sentinel.tcp, other.tcp)
        self.assert_only("topology", found=f"but {sentinel.tcp} names")

    def test_sentinels_that_are_too_few_to_decide(self):
        primary, _ = pair(self.stack)
        sentinel = self.sentinel(primary, quorum=2)
        wait_until(sentinel.knows_a_replica, lambda: sentinel.log)
        self.watch(sentinel.tcp)
        self.assert_only("topology", found="NOQUORUM", remedy="start")

    def test_a_sentinel_that_names_a_replica(self):
        primary, replica, sentinel = self.watched_pair()

        def late(words, reply):
            is_name = words[1:2] == [b"GET-MASTER-ADDR-BY-NAME"]
            return reply.replace(b"%d" % primary.port, b"%d" % replica.port) if is_name else reply

        self.watch(self.stack.enter_context(RespRelay(sentinel.socket, late)).address)
        self.assert_only("topology", found="role is replica", remedy="failover")

    def test_a_sentinel_that_asks_for_a_login(self):
        *_, sentinel = self.watched_pair(f"requirepass {PASSWORD}")
        self.watch(sentinel.tcp)
        self.assert_only("authentication", remedy="redis.sentinel")
        self.watch(sentinel.tcp, password=PASSWORD)
        wait_until(lambda: not [f for f in self.findings() if f["verdict"] == "failed"], self.findings)

    def test_a_subscription_that_a_sentinel_refuses(self):
        account = "-@all +sentinel|get-master-addr-by-name"
        *_, sentinel = self.watched_pair(
            f"user whole on >{PASSWORD} resetchannels &+switch-master {account} +subscribe",
            f"user mute on >{PASSWORD} resetchannels &+switch-master {account}",
            f"user deaf on >{PASSWORD} resetchannels {account} +subscribe")
        self.watch(sentinel.tcp, username="whole", password=PASSWORD)
        seen = [f for f in self.findings() if f["subject"].startswith("sentinel ")]
        self.assertEqual({f["check"]: f["verdict"] for f in seen},
                         {"resolution": "ok", "connection": "ok", "tls": "skipped", "authentication": "ok",
                          "topology": "ok", "permission": "ok", "replication": "unknown"})
        for user, grant in (("mute", "+subscribe"), ("deaf", "&+switch-master")):
            self.watch(sentinel.tcp, username=user, password=PASSWORD)
            self.assert_only("permission", found="failovers are noticed late",
                             remedy=re.escape(f"ACL SETUSER {user} {grant}"))

    def test_a_primary_without_a_replica(self):
        self.watch(self.sentinel(self.stack.enter_context(Server())).tcp)
        self.assert_only("replication", found="needed are 1", remedy="add")


class Cluster(Doctor):
    """Each test has a primary with all slots and its replica, unless it asks for less."""

    def setUp(self):
        super().setUp()
        self.stack = self.enterContext(contextlib.ExitStack())

    def node(self, *options):
        return self.stack.enter_context(Server(
            "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1",
            "--cluster-port", str(free_port()), *options))

    def primary(self, last=16383):
        primary = self.node()
        primary.done("CLUSTER", "ADDSLOTSRANGE", "0", str(last))
        if last == 16383:
            wait_until(lambda: b"cluster_state:ok" in primary.command("CLUSTER", "INFO"), lambda: primary.log)
        return primary

    def join(self, primary, *options):
        """A replica of it, known to both."""
        replica = self.node(*options)
        bus_port = primary.options[primary.options.index("--cluster-port") + 1]
        replica.done("CLUSTER", "MEET", "127.0.0.1", str(primary.port), bus_port)
        own = primary.command("CLUSTER", "MYID").decode().split("\r\n")[1]
        wait_until(lambda: replica.command("CLUSTER", "REPLICATE", own) == b"+OK\r\n", lambda: replica.log)
        await_replica(primary, replica)
        wait_until(lambda: all(b"replica\r\n" in node.command("CLUSTER", "SHARDS")
                               and node.command("CLUSTER", "SHARDS").count(b"online") == 2
                               and b"cluster_state:fail" not in node.command("CLUSTER", "INFO")
                               for node in (primary, replica)), lambda: replica.log)
        return replica

    def ask(self, *addresses, **redis):
        self.configure(topology="cluster", addresses=addresses, **redis)

    def test_nothing_is_wrong_with_any_node(self):
        primary = self.primary()
        replica = self.join(primary)
        self.ask(replica.tcp)
        findings = self.assert_healthy()
        self.assertEqual({finding["subject"] for finding in findings[1:]}, {primary.tcp, replica.tcp})
        latency = [finding["verdict"] for finding in findings if finding["check"] == "latency"]
        self.assertEqual(latency, ["ok", "skipped"])  # of the primary and its replica

    def test_a_seed_that_is_gone(self):
        primary = self.primary()
        self.join(primary)
        self.ask(f"127.0.0.1:{free_port()}", primary.tcp)
        self.assert_only("connection")

    def test_a_primary_without_a_replica(self):
        self.ask(self.primary().tcp)
        self.assert_only("replication", found="needed are 1")

    def test_a_server_without_cluster_mode(self):
        self.ask(self.stack.enter_context(Server()).tcp)
        self.assert_only("topology", found="standalone server, but a cluster is configured")

    def test_slots_that_nobody_serves(self):
        primary = self.primary()
        self.join(primary)
        primary.done("CLUSTER", "DELSLOTS", "7")
        self.ask(primary.tcp)
        self.assert_only("topology", found="1 slots? (is|are) served by nobody", subjects=2)

    def test_nodes_that_disagree(self):
        primary = self.primary()
        stray = str(free_port()).encode()

        def other(words, reply):
            if b"SHARDS" not in words:
                return reply
            return reply.replace(b":%d\r\n" % primary.port, b":" + stray + b"\r\n")

        port = free_port()
        replica = self.join(primary, "--cluster-announce-port", str(port))
        self.stack.enter_context(RespRelay(replica.socket, other, port=port))
        self.ask(primary.tcp)
        self.assert_only("topology", found="elsewhere than its peers do")

    def test_permissions_that_only_a_cluster_needs(self):
        for missing in ("asking", "cluster|shards"):
            with self.subTest(missing):
                primary = self.primary()
                replica = self.join(primary)
                for node in (primary, replica):
                    node.done("ACL", "SETUSER", "sluice", "on", ">" + PASSWORD, "~sluice:*",
                              *(f"+{command}" for command in NODE_COMMANDS if command != missing))
                self.ask(primary.tcp, username="sluice", password=PASSWORD)
                subjects = 1 if missing == "cluster|shards" else 2
                self.assert_only("permission", remedy=rf"\+{missing.replace('|', '.')}", subjects=subjects)


if __name__ == "__main__":
    harness.main()
