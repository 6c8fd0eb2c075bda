"""One daemon under a steady load before a topology, while a scenario does its worst."""

import contextlib
import pathlib
import tempfile
import threading
import time

import books
import harness
from load import POLICIES, Load, plan_of
from report import CONNECT_WINDOW, Fault, Record, Sample, everybody, print_report
from resp import slot_of

WORKERS = 4
PATIENCE = 30.0  # seconds in which everybody must be served after a fault, whatever the bars say


class Trial(contextlib.ExitStack):
    """A context: the daemon runs and the load goes on inside it. `rng` chooses the scenario's victims."""

    def __init__(self, topology, rng, rate, calm, settings):
        super().__init__()
        self.topology, self.rng, self.calm = topology, rng, calm
        self.faults = []
        try:
            self.sluice = self.enter_context(harness.Sluice(self.configuration(settings), tcp=True))
            self.load = Load(self.sluice.address, rate, rng)
            self.load.mark()
            self.tags = books.read_tags(topology)
            self.meter = self.enter_context(Meter(self.sluice))
            self.load.start()
            self.callback(self.load.stop)
            self.stay_calm()
        except BaseException:
            self.close()
            raise

    def configuration(self, settings):
        folder = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory()))
        key = folder / "pseudonym.key"
        assert harness.run("keygen", key).returncode == 0
        return {
            "provider": "redis",
            "redis": {"prefix": books.PREFIX} | self.topology.settings() | settings,
            "default_policy": "steady",
            "policies": POLICIES,
            "pseudonym": {"active_version": 1, "keys": {"1": {"file": str(key)}}},
            "identity": {"trusted_proxies": ["127.0.0.0/8"]},
            "http": {"workers": WORKERS},
        }

    def stay_calm(self):
        """Lets the load go on for a while."""
        time.sleep(self.calm)

    def subjects_of(self, server):
        """Those whose counters `server` has now."""
        owners = self.topology.owners()
        return {number for number in self.tags if owners[self.slot_of(number)] is server}

    def slot_of(self, subject):
        return slot_of(self.tags[subject])

    def choose_slots(self, server, count):
        """Slots of `server` in which subjects have their counters."""
        slots = {self.slot_of(subject) for subject in self.subjects_of(server)}
        return set(self.rng.sample(sorted(slots), count))

    def subjects_in(self, slots):
        return {subject for subject in self.tags if self.slot_of(subject) in slots}

    def key_of(self, subject, policy):
        return books.key_of(self.tags[subject], policy)

    @staticmethod
    def with_several_limits(subjects):
        return {subject for subject in subjects if len(plan_of(subject)) > 1}

    def probe(self, subjects):
        """A key that lives where the counters of those subjects do."""
        return b"probe:" + self.tags[min(subjects)]

    def fault(self, name, subjects=None, **kind):
        """Call it right before the fault; `kind` are fields of Fault."""
        fault = Fault(name, time.monotonic(), everybody() if subjects is None else subjects, **kind)
        fault.served = fault.at
        self.faults.append(fault)
        return fault

    def wait_until_served(self, fault, server):
        """Waits until `server` takes writes for the fault's subjects, is announced, and ran a script."""
        calls = server.script_calls()
        probe = self.probe(fault.subjects)
        harness.wait_until(lambda: server.accepts(probe), lambda: f"{server} serves\n{server.log}", 60)
        fault.served = time.monotonic()
        calls = min(calls, server.script_calls())  # it may have begun anew
        fault.announced = fault.asked = None
        while not (fault.announced and fault.asked):
            now = time.monotonic()
            if not fault.announced and self.topology.announces(server):
                fault.announced = now
            if not fault.asked and (server.script_calls() > calls or now > fault.served + PATIENCE):
                fault.asked = now
            time.sleep(0.01)

    def recover(self, fault, window=CONNECT_WINDOW):
        """Waits until all its subjects are served, as far as they ever are, and its connects are counted."""
        give_up = fault.served + PATIENCE
        missing, looked = set(fault.subjects), 0
        while missing and time.monotonic() < give_up:
            time.sleep(0.1)
            new = self.load.answers[looked:]
            looked += len(new)
            missing -= {answer.subject for answer in new if answer.evaluated and answer.sent >= fault.served}
        time.sleep(max(0.0, fault.at + window - time.monotonic()))

    def finish(self, title):
        """Ends load and daemon, does the books and prints the report. Gives the bars that were broken."""
        self.load.stop()
        self.meter.stop()
        balance = books.balance(self.load.answers, books.read_counters(self.topology), self.tags)
        answers = sorted(self.load.answers, key=lambda answer: answer.sent)
        record = Record(answers, self.faults, balance, self.meter.samples, WORKERS, self.load.began,
                        time.monotonic())
        broken = print_report(title, record)
        status = harness.ended_by(self.sluice, harness.signal.SIGTERM, 20)
        if status != 0:
            broken.append(f"the daemon ended with {status}")
            print(f"  BROKEN: {broken[-1]}")
        if broken:
            print("  the end of its log:", *self.sluice.log.splitlines()[-30:], sep="\n    ", flush=True)
        return broken


class Meter:
    """Reads what the daemon counts, several times a second."""

    def __init__(self, sluice):
        self.sluice = sluice
        self.samples = []
        self.ending = threading.Event()
        self.sample()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ending.wait(0.25):
            with contextlib.suppress(OSError):
                self.sample()

    def sample(self):
        counted = self.sluice.metrics()

        def total(*names):
            return int(sum(counted.get(f"sluice_redis_{name}_total", 0) for name in names))

        self.samples.append(Sample(time.monotonic(), total("connects", "connect_failures"), total("redirects")))

    def stop(self):
        self.ending.set()
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
