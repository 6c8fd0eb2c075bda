"""What can happen to Redis while it is asked."""

import time

from harness import wait_until
from topology import Cluster, SentinelPair, Standalone

# How long servers that watch each other wait for a silent one: where one is to be found dead, and where
# none is, however slow this machine may be.
QUICK_MS, PATIENT_MS = 1000, 3000

ALL = {}  # name: (a function that makes the topology, the scenario, settings for the chapter `redis`)


def scenario(topology, **settings):
    def add(function):
        ALL[function.__name__.replace("_", "-")] = topology, function, settings
        return function
    return add


def quick_pair():
    return SentinelPair(QUICK_MS)


def patient_pair():
    return SentinelPair(PATIENT_MS)


def quick_cluster():
    return Cluster(QUICK_MS)


def patient_cluster():
    return Cluster(PATIENT_MS)


def flush_scripts(trial):
    """Every server forgets its scripts, more than once, and nobody notices."""
    for _ in range(3):
        fault = trial.fault("SCRIPT FLUSH everywhere", interrupts=False)
        for server in trial.topology.servers:
            server.ask("SCRIPT", "FLUSH")
        time.sleep(0.5)
    trial.recover(fault, window=0)


def restart(server):
    server.shut_down("NOSAVE")
    server.start()


# --- one server -----------------------------------------------------------------------------------------

@scenario(Standalone)
def standalone_scripts_flushed(trial):
    flush_scripts(trial)


@scenario(Standalone)
def standalone_restarted(trial):
    """Orderly."""
    [server] = trial.topology.servers
    fault = trial.fault("restart")
    restart(server)
    trial.wait_until_served(fault, server)
    trial.recover(fault)


@scenario(Standalone)
def standalone_killed(trial):
    """It wrote what it had answered, so it comes back with that."""
    [server] = trial.topology.servers
    fault = trial.fault("kill -9")
    server.kill()
    time.sleep(1)
    server.start()
    trial.wait_until_served(fault, server)
    trial.recover(fault)


@scenario(Standalone)
def standalone_stopped(trial):
    """It hangs and goes on as if nothing had been, with all that was sent to it."""
    [server] = trial.topology.servers
    fault = trial.fault("SIGSTOP")
    server.pause()
    time.sleep(3)
    server.resume()
    trial.wait_until_served(fault, server)
    trial.recover(fault)


# --- a pair and its sentinels ---------------------------------------------------------------------------

@scenario(quick_pair)
def sentinel_primary_killed(trial, **kind):
    victim, heir = trial.topology.primaries()[0], trial.topology.replica()
    fault = trial.fault("primary killed -9", loses=True, **kind)
    victim.kill()
    trial.wait_until_served(fault, heir)
    trial.recover(fault)
    trial.topology.wait_until_named(heir)


@scenario(quick_pair, wait_replicas=1)
def sentinel_primary_killed_replicated(trial):
    """Answers wait for the replica, so none of them is lost. Afterwards there is no replica to wait for."""
    sentinel_primary_killed(trial, replicated=True)


@scenario(quick_pair, wait_replicas=1)
def sentinel_replica_killed(trial):
    """Answers are still given; they say that no replica has them."""
    fault = trial.fault("replica killed -9")
    trial.topology.replica().kill()
    trial.recover(fault)


@scenario(quick_pair)
def sentinel_primary_stopped(trial):
    """The old primary comes back and thinks for some seconds that it still is one."""
    victim, heir = trial.topology.primaries()[0], trial.topology.replica()
    fault = trial.fault("primary stopped", loses=True)
    victim.pause()
    trial.wait_until_served(fault, heir)
    trial.recover(fault)
    trial.topology.wait_until_named(heir)
    victim.resume()
    trial.recover(trial.fault("the old primary is back", interrupts=False))


@scenario(patient_pair)
def sentinel_scripts_flushed(trial):
    flush_scripts(trial)


@scenario(patient_pair)
def sentinel_rolling_restart(trial):
    """The replica, the sentinels, and the primary when it is none. Until it is told that, which sentinels do
    in their own time, it takes what clients send it."""
    pair = trial.topology
    restart(pair.replica())
    pair.wait_until_whole()
    for sentinel in pair.sentinels:
        restart(sentinel)
        pair.wait_until_whole()
    old, heir = pair.primaries()[0], pair.replica()
    fault = trial.fault("SENTINEL FAILOVER", loses=True)
    pair.fail_over()
    trial.wait_until_served(fault, heir)
    fault.loses_until = fault.asked
    pair.wait_until_named(heir)
    old.ask("REPLICAOF", "127.0.0.1", heir.port)  # the sentinels would see to it some seconds later
    pair.wait_until_whole()
    restart(old)
    pair.wait_until_whole()
    trial.recover(fault)


# --- a cluster ------------------------------------------------------------------------------------------

def choose_primary(trial):
    """One of the primaries, its replica and the subjects it has."""
    victim = trial.rng.choice(trial.topology.primaries())
    return victim, trial.topology.replica_of(victim), trial.subjects_of(victim)


@scenario(quick_cluster)
def cluster_primary_killed(trial):
    """Until the replica is promoted, a cluster with default settings serves no slot at all."""
    victim, heir, subjects = choose_primary(trial)
    fault = trial.fault("primary killed -9", subjects, spreads=True, loses=True)
    victim.kill()
    trial.wait_until_served(fault, heir)
    trial.recover(fault)


@scenario(quick_cluster)
def cluster_primary_stopped(trial):
    victim, heir, subjects = choose_primary(trial)
    fault = trial.fault("primary stopped", subjects, spreads=True, loses=True)
    victim.pause()
    trial.wait_until_served(fault, heir)
    trial.recover(fault)
    victim.resume()
    back = trial.fault("the old primary is back", subjects, interrupts=False)
    trial.topology.wait_until_whole()
    trial.recover(back)


@scenario(patient_cluster)
def cluster_scripts_flushed(trial):
    flush_scripts(trial)


@scenario(patient_cluster)
def cluster_failover(trial):
    """An operator's: nothing is lost. A node that hears of the old primary's new part first knows no owner
    of its slots for some milliseconds, and with default settings serves none meanwhile."""
    _, heir, subjects = choose_primary(trial)
    fault = trial.fault("CLUSTER FAILOVER", subjects, spreads=True)
    heir.ask("CLUSTER", "FAILOVER")
    trial.wait_until_served(fault, heir)
    trial.recover(fault)


@scenario(patient_cluster)
def cluster_slots_migrated(trial):
    """There and back. Slots stay open a while with all, a part and none of their keys at the old place."""
    cluster = trial.topology
    here, there = trial.rng.sample(cluster.primaries(), 2)
    slots = trial.choose_slots(here, 30)
    subjects = trial.subjects_in(slots)
    for source, target in ((here, there), (there, here)):
        trial.fault("slots opened", subjects, interrupts=False)
        cluster.open_slots(slots, source, target)
        time.sleep(1)
        # Plans with keys at both places cannot be decided by either; what has one key is asked for.
        fault = trial.fault("keys moved in part", trial.with_several_limits(subjects))
        cluster.move_keys(source, target, [trial.key_of(subject, "steady") for subject in subjects])
        time.sleep(1)
        cluster.move_slots_keys(slots, source, target)
        fault.served = time.monotonic()
        time.sleep(1)
        fault = trial.fault("slots handed over", subjects, interrupts=False)
        cluster.close_slots(slots, source, target)
        cluster.wait_until_agreed()
        time.sleep(1)
    trial.recover(fault)


@scenario(patient_cluster)
def cluster_node_added_and_removed(trial):
    cluster = trial.topology
    donors = cluster.primaries()
    node = cluster.start_node()
    trial.fault("a node joins", interrupts=False)
    cluster.meet(node, donors[0])
    wait_until(cluster.is_agreed, lambda: "all know the new node", 60)

    # Between their first key and their last, plans with several keys cannot be decided.
    shares = [(donor, trial.choose_slots(donor, 20)) for donor in donors]
    moved = set().union(*(trial.subjects_in(slots) for _, slots in shares))
    fault = trial.fault("slots move to it", moved)
    for donor, slots in shares:
        move_slots(cluster, slots, donor, node)
    trial.wait_until_served(fault, node)
    cluster.wait_until_agreed()
    trial.recover(fault, window=1)

    fault = trial.fault("slots move back", moved)
    for donor, slots in shares:
        move_slots(cluster, slots, node, donor)
    fault.served = time.monotonic()
    cluster.wait_until_agreed()
    trial.recover(fault, window=2)
    fault = trial.fault("the node leaves", interrupts=False)
    cluster.remove_node(node)
    trial.recover(fault)


def move_slots(cluster, slots, source, target):
    cluster.open_slots(slots, source, target)
    cluster.move_slots_keys(slots, source, target)
    cluster.close_slots(slots, source, target)


@scenario(patient_cluster)
def cluster_rolling_restart(trial):
    """Replicas first; a primary hands over to its replica and is one when it is restarted."""
    cluster = trial.topology
    primaries = cluster.primaries()
    for primary in primaries:
        restart(cluster.replica_of(primary))
        cluster.wait_until_whole()
    for primary in primaries:
        heir, subjects = cluster.replica_of(primary), trial.subjects_of(primary)
        fault = trial.fault("CLUSTER FAILOVER", subjects)
        heir.ask("CLUSTER", "FAILOVER")
        trial.wait_until_served(fault, heir)
        cluster.wait_until_whole()
        restart(primary)
        cluster.wait_until_whole()
    trial.recover(fault)
