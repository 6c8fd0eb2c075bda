"""Redis as people run it, on 127.0.0.1: one server, a pair that Sentinel watches, a cluster.

Every server has a directory of its own and ports that were free, and is ended by its pid. What a topology
has to reach is asked of its servers, never waited for by the clock.
"""

import contextlib
import signal
import time

import harness
from harness import free_port, wait_until
from resp import SLOTS, Client, Refused

MASTER = "edge"  # what the sentinels call the pair


class Server(harness.Process):
    """A redis-server, or a sentinel, on a port of its own."""

    def __init__(self, *options):
        super().__init__()
        self.options = list(options)
        self.stopped = False
        self.port = 0

    def start(self, *more):
        """Starts it, or starts it again on the port it had."""
        first = not self.port
        while True:
            if not self.port:
                self.choose_ports()
            self.spawn(self.command_line(*more))
            wait_until(lambda: self.answers() or self.child.poll() is not None,
                       lambda: f"{self} answers\n{self.log}")
            if self.child.poll() is None:
                return self
            if not first or "Address already in use" not in self.log:
                raise AssertionError(f"{self} ended\n{self.log}")
            self.port = 0  # somebody else was quicker

    def choose_ports(self):
        self.port = free_port()

    def command_line(self, *more):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                "--repl-diskless-sync-delay", "0", *self.options, *more]

    def answers(self):
        """Whether it talks at all; it may still be loading."""
        try:
            self.ask("PING")
        except Refused:
            return True
        except OSError:
            return False
        return True

    def ask(self, *words):
        with Client(self.port) as client:
            return client.ask(*words)

    def ask_all(self, commands):
        with Client(self.port) as client:
            return client.ask_all(list(commands))

    def runs(self):
        return self.child.poll() is None and not self.stopped

    def accepts(self, key):
        """Whether it would take a write of `key` now."""
        with contextlib.suppress(OSError, Refused), Client(self.port, 0.5) as client:
            return client.ask_all([("SET", key, "1"), ("DEL", key)])[0] == b"OK"
        return False

    def info(self, section):
        lines = self.ask("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def script_calls(self):
        """How often it was asked to run a script since it started; 0 if it does not say."""
        with contextlib.suppress(OSError, Refused):
            return int(self.info("commandstats").get("cmdstat_evalsha", "calls=0").split(",")[0][6:])
        return 0

    def has_replica(self):
        """Whether a replica follows it and has all it had when it joined."""
        replication = self.info("replication")
        return replication["role"] == "master" and "state=online" in replication.get("slave0", "")

    def kill(self):
        """As a machine that is gone."""
        self.signal(signal.SIGKILL)
        self.wait(20)

    def pause(self):
        """As a machine that hangs: connections stay, nothing answers."""
        self.signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self):
        self.signal(signal.SIGCONT)
        self.stopped = False

    def shut_down(self, *how):
        """Orderly; replicas get what is on its way to them."""
        with contextlib.suppress(OSError):
            self.ask("SHUTDOWN", *how)
        self.wait(20)

    def close(self):
        if self.child and self.child.poll() is None:
            self.kill()
        super().close()

    def __str__(self):
        return f"127.0.0.1:{self.port}"


class Topology(contextlib.ExitStack):
    """What the kinds have in common. Everything ends with it."""

    def __init__(self):
        super().__init__()
        self.servers = []  # those that hold keys
        try:
            self.build()
        except BaseException:
            self.close()
            raise

    def build(self):
        """Starts the servers and returns when they are one."""
        raise NotImplementedError

    def add(self, server):
        self.servers.append(self.enter_context(server))
        return server

    def settings(self):
        """What the configuration says of it in the chapter `redis`."""
        raise NotImplementedError

    def primaries(self):
        """The servers that take writes and are known to the others as such."""
        raise NotImplementedError

    def owners(self):
        """The primary of each slot."""
        return self.primaries() * SLOTS

    def announces(self, _server):
        """Whether those whom clients ask for a primary name this one."""
        return True


class Standalone(Topology):
    """One server that has lost nothing when it comes back."""

    def build(self):
        self.add(Server("--appendonly", "yes", "--appendfsync", "always")).start()

    def settings(self):
        return {"address": str(self.servers[0])}

    def primaries(self):
        return self.servers


class SentinelPair(Topology):
    """A primary and a replica, watched by sentinels that need two voices.

    `patience` is how long a silent server is alive to them.
    """

    def __init__(self, patience_ms=1000, sentinels=3):
        self.patience_ms = patience_ms
        self.sentinels = [None] * sentinels
        super().__init__()

    def build(self):
        primary = self.add(Server()).start()
        self.add(Server("--replicaof", f"127.0.0.1 {primary.port}")).start()
        wait_until(primary.has_replica, lambda: primary.log)
        self.sentinels = [self.enter_context(Sentinel(primary.port, self.patience_ms)).start()
                          for _ in self.sentinels]
        wait_until(lambda: all(s.knows(1, len(self.sentinels) - 1) for s in self.sentinels),
                   lambda: "the sentinels know each other", 60)

    def settings(self):
        return {"topology": "sentinel",
                "sentinel": {"master": MASTER, "addresses": [str(s) for s in self.sentinels]}}

    def primaries(self):
        ports = [s.named() for s in self.sentinels if s.runs()]
        port = max(set(ports), key=ports.count)
        return [s for s in self.servers if s.port == port]

    def announces(self, server):
        return any(s.named() == server.port for s in self.sentinels if s.runs())

    def replica(self):
        """The other one."""
        [primary] = self.primaries()
        return next(s for s in self.servers if s is not primary)

    def fail_over(self):
        """As an operator asks for it."""
        self.sentinels[0].ask("SENTINEL", "FAILOVER", MASTER)

    def wait_until_named(self, server):
        """All sentinels name `server` as the primary."""
        wait_until(lambda: all(s.named() == server.port for s in self.sentinels if s.runs()),
                   lambda: f"all sentinels name {server}", 60)

    def wait_until_whole(self):
        """The pair is one again."""
        wait_until(lambda: len({s.named() for s in self.sentinels}) == 1, lambda: "one primary", 60)
        wait_until(lambda: self.primaries()[0].has_replica()
                   and all(s.knows(1, len(self.sentinels) - 1) for s in self.sentinels),
                   lambda: "the pair is whole", 60)


class Sentinel(Server):
    def __init__(self, primary, patience_ms):
        super().__init__()
        self.config = self.directory / "sentinel.conf"
        self.config.write_text(
            f"sentinel monitor {MASTER} 127.0.0.1 {primary} 2\n"
            f"sentinel down-after-milliseconds {MASTER} {patience_ms}\n"
            f"sentinel failover-timeout {MASTER} 3000\n")

    def command_line(self, *more):
        return ["redis-server", str(self.config), "--sentinel", "--port", str(self.port),
                "--bind", "127.0.0.1", *more]

    def named(self):
        """The port of the primary, as it believes."""
        return int(self.ask("SENTINEL", "get-master-addr-by-name", MASTER)[1])

    def knows(self, replicas, sentinels):
        """Whether it sees the primary and exactly that many others, all well."""
        words = self.ask("SENTINEL", "master", MASTER)
        state = dict(zip(words[::2], words[1::2]))
        return (state[b"flags"] == b"master" and int(state[b"num-slaves"]) == replicas
                and int(state[b"num-other-sentinels"]) == sentinels)


class Cluster(Topology):
    """Primaries that share the slots evenly, each with its replicas.

    `patience` is how long a silent node is alive to the others.
    """

    def __init__(self, patience_ms=1000, primaries=3, replicas=1):
        self.patience_ms = patience_ms
        self.shape = primaries, replicas
        super().__init__()

    def build(self):
        primaries, replicas = self.shape
        nodes = [self.start_node() for _ in range(primaries * (1 + replicas))]
        for number, node in enumerate(nodes):
            # Two new nodes with one epoch would have to settle that first.
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number < primaries:
                first, end = (SLOTS * n // primaries for n in (number, number + 1))
                node.ask("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
            if number > 0:
                self.meet(node, nodes[0])
        wait_until(lambda: all(len(view(node)) == len(nodes) for node in nodes), lambda: "all have met", 60)
        for number, node in enumerate(nodes[primaries:]):
            node.ask("CLUSTER", "REPLICATE", nodes[number % primaries].id)
        self.wait_until_whole()

    def start_node(self):
        node = self.add(ClusterNode(self.patience_ms)).start()
        node.id = node.ask("CLUSTER", "MYID").decode()
        return node

    @staticmethod
    def meet(node, other):
        node.ask("CLUSTER", "MEET", "127.0.0.1", other.port, other.bus)

    def settings(self):
        return {"topology": "cluster", "addresses": [str(node) for node in self.servers]}

    def owners(self):
        """The node of each slot: of those that claim it themselves, the one with the newest epoch."""
        owners = [(-1, None)] * SLOTS
        for node in self.servers:
            if not node.runs():
                continue
            [own] = [line for line in view(node) if "myself" in line.flags]
            if "master" in own.flags:
                for first, end in own.ranges:
                    for slot in range(first, end):
                        owners[slot] = max(owners[slot], (own.epoch, node), key=lambda claim: claim[0])
        return [node for _, node in owners]

    def primaries(self):
        return sorted({node for node in self.owners() if node}, key=self.servers.index)

    def announces(self, server):
        return any(line.id == server.id and line.ranges
                   for node in self.servers if node.runs() and node is not server for line in view(node))

    def replica_of(self, primary):
        """A node that follows `primary` and has all of it."""
        return next(node for node in self.servers
                    if node.runs() and (role := node.ask("ROLE"))[0] == b"slave"
                    and role[2] == primary.port and role[3] == b"connected")

    def wait_until_agreed(self):
        """All running nodes see the same owner for each slot and the same replicas, and serve."""
        wait_until(self.is_agreed, lambda: "\n".join(
            f"{node}: {node.ask('CLUSTER', 'NODES').decode()}" for node in self.servers if node.runs()), 60)

    def is_agreed(self):
        running = [node for node in self.servers if node.runs()]
        views = [{line.id: (line.primary, line.ranges) for line in view(node)} for node in running]
        return (all(view == views[0] for view in views)
                and all(b"cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in running))

    def wait_until_whole(self):
        """All agree, and every primary has its replica."""
        self.wait_until_agreed()
        if self.shape[1]:
            wait_until(lambda: all(node.has_replica() for node in self.primaries()),
                       lambda: "every primary has a replica", 60)

    @staticmethod
    def open_slots(slots, source, target):
        """Holds slots between two nodes: keys may be on either."""
        target.ask_all(("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id) for slot in slots)
        source.ask_all(("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id) for slot in slots)

    @staticmethod
    def move_keys(source, target, keys):
        source.ask_all(("MIGRATE", "127.0.0.1", target.port, key, 0, 5000) for key in keys)

    def move_slots_keys(self, slots, source, target):
        for slot in slots:
            while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
                self.move_keys(source, target, keys)

    def close_slots(self, slots, source, target):
        """Gives open slots to `target`, which must have all their keys; the others learn it as well."""
        for node in [target, source, *set(self.primaries()) - {source, target}]:
            node.ask_all(("CLUSTER", "SETSLOT", slot, "NODE", target.id) for slot in slots)

    def remove_node(self, leaver):
        """Takes out a node that has no slots and no replicas."""
        self.servers.remove(leaver)
        for node in self.servers:
            node.ask("CLUSTER", "FORGET", leaver.id)
        leaver.shut_down("NOSAVE")


class ClusterNode(Server):
    def __init__(self, patience_ms):
        super().__init__("--cluster-enabled", "yes", "--cluster-node-timeout", str(patience_ms),
                         "--cluster-allow-replica-migration", "no")
        self.bus = 0
        self.id = ""

    def choose_ports(self):
        self.port, self.bus = free_port(), free_port()

    def command_line(self, *more):
        return super().command_line("--cluster-port", str(self.bus), *more)


class Line:
    """One node as another sees it: a line of CLUSTER NODES."""

    def __init__(self, text):
        self.id, _, flags, self.primary, _, _, epoch, _, *slots = text.split()
        self.flags = flags.split(",")
        self.epoch = int(epoch)
        spans = [slot.split("-") for slot in slots if not slot.startswith("[")]
        self.ranges = [(int(span[0]), int(span[-1]) + 1) for span in spans]


def view(node):
    return [Line(text) for text in node.ask("CLUSTER", "NODES").decode().splitlines()]
