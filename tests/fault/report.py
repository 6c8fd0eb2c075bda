"""What a trial has to show: its answers over time, the figures, and every bar that it broke."""

import collections
import dataclasses

from load import BUDGET_MS, SUBJECTS

SERVED_TO_ANSWERED = 2.0  # seconds from a primary that serves to the first evaluated answer
CONNECT_WINDOW = 5.0  # seconds after a fault
CONNECTS = 10  # in that window, for each lane


@dataclasses.dataclass
class Fault:
    name: str
    at: float  # on time.monotonic, like all times here
    subjects: set  # whose counters it concerns
    interrupts: bool = True  # evaluations of theirs may fail until somebody serves them again
    spreads: bool = False  # those of all others may as well
    loses: bool = False  # what the old primary had not yet told its replica is gone
    loses_until: float = 0.0  # and what it still answers until then
    replicated: bool = False  # of that, only what says of itself that no replica has it
    served: float = 0.0  # from when on somebody takes writes for them
    announced: float | None = None  # when those whom clients ask named that somebody, if it was watched
    asked: float | None = None  # when the server that serves them ran their first script, if it was watched

    @property
    def known(self):
        """From when on clients could be served."""
        return max(self.served, self.announced or 0.0)


@dataclasses.dataclass
class Sample:
    """What the daemon has counted so far."""

    time: float
    attempts: int  # connections to servers that it tried
    redirects: int  # evaluations that a server sent elsewhere


@dataclasses.dataclass
class Record:
    """All that was seen of a trial."""

    answers: list
    faults: list
    balance: object
    samples: list
    lanes: int  # to each server
    began: float
    ended: float


def evaluated_from(record, fault):
    """Of the evaluations that were sent once the subjects were served again: when each subject had its first."""
    first = {}
    for answer in record.answers:
        if answer.evaluated and answer.sent >= fault.served and answer.subject in fault.subjects:
            first[answer.subject] = min(answer.done, first.get(answer.subject, answer.done))
    return first


def longest_gap(record, fault):
    """The longest time after a fault in which no evaluated answer came for its subjects."""
    times = sorted(a.done for a in record.answers
                   if a.evaluated and a.subject in fault.subjects and a.done >= fault.at)
    return max((b - a for a, b in zip([fault.at, *times], times)), default=record.ended - fault.at)


def lateness(record, start, end):
    """How much later than it was due the load sent something in that time: this machine's own slowness."""
    return max((a.sent - a.due for a in record.answers if start <= a.due <= end), default=0.0)


def sample_at(record, time):
    """The newest one by then."""
    return max((s for s in record.samples if s.time <= time), default=record.samples[0], key=lambda s: s.time)


def connects_a_lane(record, fault):
    """Connections tried in the window after a fault, as if one server's lanes had made them all."""
    before, after = (sample_at(record, time) for time in (fault.at, fault.at + CONNECT_WINDOW))
    return (after.attempts - before.attempts) / record.lanes


def overslept(record, answer):
    """Whether the load was too late itself to see an answer in time."""
    return answer.outcome == "unanswered" and lateness(record, answer.sent, answer.done) > 1


def excused(record, answer):
    """Whether a failure had a reason: a fault that interrupts, or this machine, too slow for the deadline."""
    if answer.done - answer.sent >= BUDGET_MS / 1000:
        return True
    return any(fault.interrupts and (fault.spreads or answer.subject in fault.subjects)
               and fault.at <= answer.done
               and answer.sent <= fault.known + SERVED_TO_ANSWERED for fault in record.faults)


def losable(record):
    """How many evaluations may be missing: those from a second before a fault that loses data on."""
    return sum(any(fault.loses and answer.subject in fault.subjects and fault.at - 1 <= answer.done
                   and answer.sent <= max(fault.at, fault.loses_until)
                   and (not fault.replicated or answer.certainty == "unreplicated") for fault in record.faults)
               for answer in record.answers if answer.outcome == "allowed")


def broken_bars(record):
    """One sentence for each bar that does not hold."""
    return [*broken_by_answers(record), *broken_by_counters(record), *broken_by_faults(record)]


def broken_by_answers(record):
    for outcome in ("denied", "incompatible", "unanswered"):
        those = [a for a in record.answers if a.outcome == outcome and not overslept(record, a)]
        if those:
            yield f"{len(those)} evaluations were {outcome}, the first {seconds(record, those[0])}"
    wrong = [a for a in record.answers if a.wrong]
    if wrong:
        yield f"{len(wrong)} wrong answers, the first {seconds(record, wrong[0])}: {wrong[0].wrong}"
    failed = [a for a in record.answers
              if a.outcome in ("unavailable", "indeterminate") and not excused(record, a)]
    if failed:
        yield (f"{len(failed)} evaluations failed without a reason, the first {seconds(record, failed[0])}: "
               f"{failed[0].category}")


def broken_by_counters(record):
    books, may_miss = record.balance, losable(record)
    if books.excess:
        yield f"{books.excess} charged that were neither told nor unknown"
    if books.lost > may_miss:
        yield f"{books.lost} told but not charged; at most {may_miss} may be missing"
    if books.twice > may_miss:
        yield f"{books.twice} units were told to two evaluations"
    if books.uneven:
        yield f"{books.uneven} charged in one limit of a plan but not in the other"


def broken_by_faults(record):
    redirects = sample_at(record, record.faults[0].at).redirects - record.samples[0].redirects
    if redirects:
        yield f"{redirects} evaluations were sent to the wrong server before any fault"
    for fault in record.faults:
        first = evaluated_from(record, fault)
        missing = len(fault.subjects) - len(first)
        if missing:
            yield f"{fault.name}: {missing} subjects were never evaluated again"
        bar = SERVED_TO_ANSWERED + lateness(record, fault.at, fault.known + SERVED_TO_ANSWERED)
        if not first or min(first.values()) - fault.known > bar:
            yield f"{fault.name}: no evaluated answer within {bar:.2f} s of a primary that serves"
        if fault.asked is not None and fault.asked - fault.known > bar:
            yield f"{fault.name}: the new primary was not asked within {bar:.2f} s"
        connects = connects_a_lane(record, fault)
        if connects > CONNECTS:
            yield f"{fault.name}: {connects:.1f} connects a lane in {CONNECT_WINDOW:.0f} s"


def seconds(record, answer):
    return f"at {answer.sent - record.began:.2f} s"


def timeline(record):
    """Lines: for each second of the load, what its evaluations were answered."""
    rows = collections.defaultdict(collections.Counter)
    for answer in record.answers:
        rows[int(answer.due - record.began)][answer.outcome, answer.category] += 1
    faults = collections.defaultdict(list)
    for fault in record.faults:
        faults[int(fault.at - record.began)].append(fault.name)
    yield "  second  evaluated"
    for second in range(max(rows, default=0) + 1):
        row = rows[second]
        good = sum(n for (outcome, _), n in row.items() if outcome in ("allowed", "denied"))
        bad = [f"{n} {outcome} ({category})" for (outcome, category), n in sorted(row.items())
               if outcome != "allowed"]
        names = [f"<- {name}" for name in faults[second]]
        yield f"  {second:6}  {good:9}  {', '.join(bad):60} {' '.join(names)}".rstrip()


def service_again(record, fault):
    """Phrases: how soon its subjects were evaluated again; times are from when somebody took their writes."""
    yield f"served again after {fault.served - fault.at:.2f} s"
    if fault.announced is not None:
        yield f"announced {fault.announced - fault.served:.2f} s later"
    if first := evaluated_from(record, fault):
        yield (f"first evaluated {min(first.values()) - fault.served:.2f} s later,"
               f" all {len(first)} subjects {max(first.values()) - fault.served:.2f} s later")
    end = min((other.at for other in record.faults if other.at > fault.at), default=record.ended)
    failures = [a.sent for a in record.answers
                if not a.evaluated and fault.served <= a.sent < end and a.subject in fault.subjects]
    if failures:
        yield f"the last to fail was sent {max(failures) - fault.served:.2f} s later"
    if fault.asked is not None:
        yield f"the server first asked {fault.asked - fault.served:.2f} s later"


def figures(record):
    """Lines: the faults, the answers and the counters."""
    for fault in record.faults:
        parts = [f"  {fault.name} at {fault.at - record.began:.2f} s"]
        if fault.interrupts:
            parts += service_again(record, fault)
        parts.append(f"longest gap {longest_gap(record, fault):.2f} s")
        parts.append(f"{connects_a_lane(record, fault):.1f} connects a lane in {CONNECT_WINDOW:.0f} s")
        yield "; ".join(parts)
    counts = collections.Counter(a.outcome for a in record.answers)
    took = sorted(a.done - a.sent for a in record.answers) or [0.0]
    yield (f"  answers: {len(record.answers)}: " + ", ".join(f"{n} {o}" for o, n in sorted(counts.items()))
           + f"; {sum(a.replayed for a in record.answers)} replayed;"
           + f" took {1000 * took[len(took) // 2]:.1f} ms in the middle, {1000 * took[-1]:.0f} ms at most;"
           + f" sent up to {1000 * lateness(record, record.began, record.ended):.0f} ms late")
    first, last = record.samples[0], record.samples[-1]
    yield (f"  lanes: {last.attempts - first.attempts} connections tried,"
           f" {last.redirects - first.redirects} evaluations sent elsewhere by a server")
    books = record.balance
    yield (f"  counters: {books.allowed} told, {books.charged} charged, {books.unknown} unknown;"
           f" {books.lost} lost (at most {losable(record)} may be), {books.excess} in excess,"
           f" {books.twice} told twice, {books.uneven} uneven")


def print_report(title, record):
    """Prints everything; gives the bars that were broken."""
    broken = broken_bars(record)
    print(title)
    for line in [*timeline(record), *figures(record)]:
        print(line)
    for bar in broken:
        print(f"  BROKEN: {bar}")
    print("  all bars hold" if not broken else f"  {len(broken)} bars are broken", flush=True)
    return broken


def everybody():
    return set(range(SUBJECTS))
