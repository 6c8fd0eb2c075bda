#!/usr/bin/env python3
"""Proves that run_vectors sees what differs."""

import importlib.machinery
import importlib.util
import json
import pathlib
import unittest

LOADER = importlib.machinery.SourceFileLoader(
    "run_vectors", str(pathlib.Path(__file__).with_name("run_vectors")))
SPEC = importlib.util.spec_from_loader("run_vectors", LOADER)
vectors = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(vectors)


class Differences(unittest.TestCase):
    def test_members_that_are_expected_must_be_equal(self):
        answer = {"allowed": True, "remaining": 1, "retry_after_ms": None}
        self.assertEqual(vectors.differences({"allowed": True}, answer), [])
        self.assertEqual(vectors.differences({"retry_after_ms": None}, answer), [])
        for wrong in ({"allowed": False}, {"remaining": 2}, {"absent": None}, {"remaining": True}):
            self.assertEqual(len(vectors.differences(wrong, answer)), 1, wrong)

    def test_a_missing_answer_is_a_failure(self):
        test = {"steps": [{"expect": {}}, {"expect": {}}]}
        self.assertEqual(len(vectors.failures(test, json.dumps({}))), 1)
        self.assertEqual(vectors.failures(test, "{}\n{}\n"), [])

    def test_durations_are_spelled_with_their_unit(self):
        policy = {"window_ms": 60000, "limit": 5, "dedup": {"ttl_ms": 50, "max_bytes": 1024}}
        self.assertEqual(vectors.spelled(policy), {
            "window": "60000ms", "limit": 5, "dedup": {"ttl": "50ms", "max_bytes": "1024B"}})


if __name__ == "__main__":
    unittest.main()
