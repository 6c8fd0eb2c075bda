"""What the counters in Redis hold, against what the clients were told."""

import collections
import dataclasses
import re

from load import BAND, SUBJECTS, plan_of
from resp import Client, slot_of

PREFIX = "sluice"
KEY = re.compile(rb"%s:1:(?P<tag>{[^}]+}):(?P<policy>\w+)@1" % PREFIX.encode())


def key_of(tag, policy):
    return b"%s:1:%s:%s@1" % (PREFIX.encode(), tag, policy.encode())


def read_counters(topology):
    """{tag: {policy: consumed}} of the fixed windows, over all primaries; a tag is a key's part in braces."""
    counters = collections.defaultdict(dict)
    owners = topology.owners()
    for primary in topology.primaries():
        with Client(primary.port) as client:
            keys = [key for key in client.ask("KEYS", PREFIX + ":*")
                    if owners[slot_of(key)] is primary]
            counts = client.ask_all([("HGET", key, "count") for key in keys]) if keys else []
        for key, count in zip(keys, counts):
            match = KEY.fullmatch(key)
            assert match, f"{key} is no key of this run"
            policy = match["policy"].decode()
            if count is not None:
                assert policy not in counters[match["tag"]], f"two primaries hold {key}"
                counters[match["tag"]][policy] = int(count)
    return counters


def read_tags(topology):
    """The tag of each subject, by number: after the marks, what is consumed tells which subject it is."""
    tags = {state["steady"] // BAND - 1: tag for tag, state in read_counters(topology).items()}
    assert sorted(tags) == list(range(SUBJECTS)), "every subject has a counter of its own"
    return tags


@dataclasses.dataclass
class Balance:
    """In evaluations, added up over the subjects."""

    allowed: int = 0  # told
    charged: int = 0  # in Redis
    unknown: int = 0  # may have been charged, says the answer; or there was none
    lost: int = 0  # told, but not in Redis, at least
    excess: int = 0  # in Redis, but neither told nor unknown
    twice: int = 0  # the same unit told to two evaluations
    uneven: int = 0  # charged in one limit of a plan, but not in the other


def balance(answers, counters, tags):
    told, unknown, units = (collections.Counter() for _ in range(3))
    for answer in answers:
        if answer.outcome == "allowed":
            told[answer.subject] += 1
            units[answer.subject, answer.used] += 1
        elif answer.outcome in ("indeterminate", "unanswered"):
            unknown[answer.subject] += 1
    total = Balance(twice=sum(count - 1 for count in units.values()))
    for subject, tag in tags.items():
        state = counters.get(tag, {})
        charged = state.get("steady", 0) - (subject + 1) * BAND
        total.allowed += told[subject]
        total.charged += charged
        total.unknown += unknown[subject]
        total.lost += max(0, told[subject] - charged)
        total.excess += max(0, charged - told[subject] - unknown[subject])
        if "twin" in plan_of(subject):
            total.uneven += abs(charged - state.get("twin", 0))
    return total
