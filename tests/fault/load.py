"""A steady load of evaluations, whatever becomes of the answers, and a record of each of them.

Evaluations arrive at a constant rate, of all SUBJECTS subjects in turn, over connections that stay open.
Before the load every subject is charged a different amount, many more units than a run has evaluations. So
what an answer says was consumed tells whose counter it was, and so does every counter in Redis.
"""

import asyncio
import collections
import dataclasses
import json
import re
import threading
import time

SUBJECTS = 200
BAND = 1_000_000  # subject n begins at (n + 1) * BAND
BUDGET_MS = 500
LIMIT = 10**12
PATIENCE = 10.0  # seconds until an evaluation counts as not answered at all

# Nobody reaches a limit: whatever is refused, is refused wrongly. The longest window begins once a year,
# and no state of a subject that is asked about ends during a run.
POLICIES = {
    "steady": {"algorithm": "fixed-window", "limit": LIMIT, "window": "366d"},
    "twin": {"algorithm": "fixed-window", "limit": LIMIT, "window": "366d"},
    "flow": {"algorithm": "token-bucket", "capacity": 10**7, "refill": 1, "period": "20s"},
    "slide": {"algorithm": "sliding-counter", "limit": 10**6, "window": "1m"},
}
PLANS = (["steady"], ["steady", "twin", "flow", "slide"])


def plan_of(number):
    """The policies for a subject: every other one has several."""
    return PLANS[number % len(PLANS)]


@dataclasses.dataclass(slots=True)
class Answer:
    due: float  # when it had to be sent, on time.monotonic
    sent: float
    done: float
    subject: int
    status: int  # 0: none came
    outcome: str = "unanswered"  # allowed, denied or the outcome's name
    category: str = ""  # of a failure: its category, or the reason
    used: int = 0  # what `steady` had charged the subject after it, marks not counted
    replayed: bool = False
    certainty: str = ""
    wrong: str = ""  # why this is not an answer to the question

    @property
    def evaluated(self):
        return self.outcome in ("allowed", "denied")


class Connection:
    """HTTP/1.1 to the daemon."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def ask(self, question):
        """The status and the JSON of one evaluation."""
        body = json.dumps(question).encode()
        self.writer.write(b"POST /v1/evaluate HTTP/1.1\r\nHost: sluice\r\nContent-Type: application/json\r\n"
                          b"Content-Length: %d\r\n\r\n" % len(body) + body)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: (\d+)", head.lower())
        return int(head[9:12]), json.loads(await self.reader.readexactly(int(length[1])))


class Load:
    """Runs in a thread of its own from `start` to `stop`. `answers` grows meanwhile."""

    def __init__(self, address, rate, rng):
        self.address, self.rate, self.rng = address, rate, rng
        self.answers = []
        self.began = 0.0
        self.idle = collections.deque()
        self.ending = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run()), daemon=True)

    def mark(self):
        """Charges every subject what it begins with; must be done before anything else."""
        asyncio.run(self.mark_all())

    def start(self):
        self.thread.start()

    def stop(self):
        """Returns when everything asked has its answer."""
        self.ending.set()
        self.thread.join()

    async def mark_all(self):
        connection = await self.connect()
        for number in range(SUBJECTS):
            cost = (number + 1) * BAND
            status, answer = await connection.ask({
                "policies": ["steady"], "subject": f"subject-{number}", "cost": cost, "budget_ms": 20_000})
            assert status == 200 and answer["remaining"] == LIMIT - cost, answer
        connection.writer.close()

    async def run(self):
        # Enough connections from the first moment on that every worker has some.
        self.idle.extend([await self.connect() for _ in range(32)])
        self.began = time.monotonic()
        under_way = set()
        count = 0
        deck = list(range(SUBJECTS))
        while not self.ending.is_set():
            due = self.began + count / self.rate
            if (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            if count % SUBJECTS == 0:  # everybody once a round, in a new order
                self.rng.shuffle(deck)
            task = asyncio.create_task(self.ask(due, count, deck[count % SUBJECTS]))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            count += 1
        await asyncio.gather(*under_way)
        for connection in self.idle:
            connection.writer.close()

    async def connect(self):
        return Connection(*await asyncio.open_connection(*self.address))

    async def ask(self, due, count, number):
        question = {"policies": plan_of(number), "subject": f"subject-{number}", "budget_ms": BUDGET_MS}
        if count % 2:  # the others have an id that Sluice makes
            question["evaluation_id"] = f"evaluation-{count}"
        answer = Answer(due, time.monotonic(), 0.0, number, 0)
        connection = None
        try:
            async with asyncio.timeout(PATIENCE):
                connection = self.idle.popleft() if self.idle else await self.connect()
                answer.status, body = await connection.ask(question)
            self.idle.append(connection)
            understand(answer, question, body)
        except (OSError, EOFError, TimeoutError, ValueError, KeyError) as error:
            answer.category = type(error).__name__
            if connection:
                connection.writer.close()
        answer.done = time.monotonic()
        self.answers.append(answer)


def understand(answer, question, body):
    """Fills in what the daemon said, and whether that can be the answer to this question."""
    answer.outcome = body["outcome"]
    answer.category = body.get("category", "")
    if answer.outcome == "incompatible":
        answer.category = body["reason"]
    if body["evaluation_id"] != question.get("evaluation_id", body["evaluation_id"]):
        answer.wrong = f"the id {body['evaluation_id']} came back for {question['evaluation_id']}"
    if answer.outcome != "evaluated":
        return
    answer.outcome = "allowed" if body["allowed"] else "denied"
    answer.replayed, answer.certainty = body["replayed"], body["certainty"]
    limits = body["limits"]
    if [limit["policy"] for limit in limits] != question["policies"]:
        answer.wrong = f"limits {[limit['policy'] for limit in limits]} for {question['policies']}"
        return
    answer.used = limits[0]["limit"] - limits[0]["remaining"] - (answer.subject + 1) * BAND
    if body["allowed"] and not 0 < answer.used < BAND:
        answer.wrong = f"{limits[0]['remaining']} remaining cannot be of {question['subject']}"
