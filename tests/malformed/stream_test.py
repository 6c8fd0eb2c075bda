"""`sluice evaluate --stream` and ten thousand lines that nobody should write.

Every line gets exactly one line of output, whatever came before it. SEED repeats a run.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import lines

SLUICE = os.environ.get("SLUICE", "")
SEED = int(os.environ.get("SEED", random.randrange(2**32)))
MALFORMED = 10_000
LIMIT = 1_000_000
CONFIG = {"default_policy": "api",
          "policies": {"api": {"algorithm": "fixed-window", "limit": LIMIT, "window": "1d"}}}


def valid(number):
    """A good line of alice's, in a different dress each time."""
    ask = {"policies": ["api"], "subject": "alice", "now_ms": 1000 + number}
    dresses = [json.dumps(ask), json.dumps(ask, indent=None, separators=(" ,\t", " : ")),
               json.dumps(ask) + "\r", " " + json.dumps(ask) + "  ", json.dumps(ask, sort_keys=True)]
    return dresses[number % len(dresses)].encode()


class Stream(unittest.TestCase):
    def setUp(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.config = pathlib.Path(directory) / "sluice.yaml"
        self.config.write_text(json.dumps(CONFIG))

    def outputs(self, stream):
        """Exit status and the parsed lines of output."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE")}
        done = subprocess.run([SLUICE, "evaluate", "-c", self.config, "--stream", "--manual-clock"],
                              input=stream, capture_output=True, timeout=240, env=environment, check=False)
        self.assertEqual(done.stderr, b"")
        self.assertNotIn(b"mallory", done.stdout)  # an error never repeats what may be an identity
        self.assertTrue(not done.stdout or done.stdout.endswith(b"\n"))
        return done.returncode, [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]

    def expect_error(self, output, number, line):
        self.assertEqual(set(output), {"error", "line"}, (number, line[:200], output))
        self.assertEqual(output["line"], number)
        self.assertTrue(output["error"] and isinstance(output["error"], str), output)

    def test_malformed_lines_are_errors_and_valid_ones_between_them_are_answered(self):
        rng = random.Random(SEED)
        stream = lines.HANDWRITTEN + [lines.malformed(rng) for _ in range(MALFORMED)]
        rng.shuffle(stream)
        is_valid = [False] * len(stream)
        for _ in range(500):
            position = rng.randrange(len(stream))
            stream.insert(position, b"@")
            is_valid.insert(position, True)
        counter = iter(range(LIMIT))
        stream = [valid(next(counter)) if good else line for line, good in zip(stream, is_valid)]

        status, outputs = self.outputs(b"\n".join(stream) + b"\n")
        self.assertEqual(status, 2)
        self.assertEqual(len(outputs), len(stream))
        charged = 0
        for number, (line, good, output) in enumerate(zip(stream, is_valid, outputs), start=1):
            if not good:
                self.expect_error(output, number, line)
                continue
            charged += 1
            self.assertEqual((output["outcome"], output["allowed"]), ("evaluated", True), line)
            self.assertEqual(output["remaining"], LIMIT - charged)
        self.assertEqual(charged, 500)

    def test_scrambled_lines_have_one_answer_each(self):
        rng = random.Random(SEED + 1)
        stream = [lines.perhaps_malformed(rng) for _ in range(3000)]
        stream.append(valid(0))
        _, outputs = self.outputs(b"\n".join(stream) + b"\n")
        self.assertEqual(len(outputs), len(stream))
        for number, (line, output) in enumerate(zip(stream, outputs), start=1):
            if "outcome" not in output:
                self.expect_error(output, number, line)
        self.assertEqual(outputs[-1]["remaining"], LIMIT - 1)

    def test_last_line_needs_no_newline(self):
        status, outputs = self.outputs(valid(0) + b"\n" + valid(1))
        self.assertEqual((status, [o["remaining"] for o in outputs]), (0, [LIMIT - 1, LIMIT - 2]))
        status, outputs = self.outputs(valid(0) + b"\n" + valid(1)[:-10])
        self.assertEqual((status, len(outputs)), (2, 2))
        self.expect_error(outputs[1], 2, b"the last line")

    def test_refused_requests_are_not_malformed(self):
        asks = [{"policies": ["unknown"], "subject": "alice", "now_ms": 0},
                {"policies": ["api"], "subject": "alice", "cost": LIMIT + 1, "now_ms": 0}]
        status, outputs = self.outputs("".join(json.dumps(ask) + "\n" for ask in asks).encode())
        self.assertEqual(status, 0)
        self.assertEqual([output["reason"] for output in outputs], ["unknown-policy", "cost-exceeds-maximum"])


if __name__ == "__main__":
    print(f"SEED={SEED}", flush=True)
    result = unittest.main(exit=False, verbosity=2).result
    sys.exit(not (result.wasSuccessful() and result.testsRun > 0))
