#!/usr/bin/env python3
"""Proves that every bar of a report can break, and that the books see what is wrong with the counters."""

import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

from books import Balance, balance  # noqa: E402
from load import BAND, LIMIT, Answer, plan_of, understand  # noqa: E402
from report import Fault, Record, Sample, broken_bars, everybody, figures, timeline  # noqa: E402
from resp import encoded, slot_of  # noqa: E402

FAULT, SERVED, END = 102.0, 103.0, 109.0


def answer(sent, subject=0, outcome="allowed", took=0.01, **more):
    return Answer(sent, sent, sent + took, subject, 200, outcome, **more)


def failure(sent, subject=0, outcome="unavailable", took=0.01):
    return answer(sent, subject, outcome, took, category="unavailable-before-send")


def good_run():
    """Everybody is evaluated before the fault and soon after it, and nobody in between."""
    answers = [answer(sent + subject / 1000, subject)
               for sent in (100.0, 101.0, SERVED + 0.1, 105.0) for subject in everybody()]
    answers += [failure(FAULT + subject / 1000, subject) for subject in everybody()]
    return Record(answers, [Fault("fault", FAULT, everybody(), served=SERVED, asked=SERVED + 0.1)],
                  Balance(), [Sample(100.0, 4, 7), Sample(FAULT + 4, 44, 9), Sample(END, 400, 9)], 4, 100.0, END)


class Bars(unittest.TestCase):
    def broken_by(self, change):
        record = good_run()
        change(record)
        return broken_bars(record)

    def test_a_good_run_breaks_none_and_is_printed(self):
        record = good_run()
        self.assertEqual(broken_bars(record), [])
        text = "\n".join([*timeline(record), *figures(record)])
        self.assertIn("200 unavailable (unavailable-before-send)", text)
        self.assertIn("served again after 1.00 s; first evaluated 0.11 s later", text)
        self.assertIn("10.0 connects a lane", text)

    def test_each_bar_can_break(self):
        def add(*answers):
            return lambda record: record.answers.extend(answers)

        def with_fault(**fields):
            return lambda record: [setattr(record.faults[0], k, v) for k, v in fields.items()]

        def with_balance(**fields):
            return lambda record: setattr(record, "balance", Balance(**fields))

        def with_sample(*numbers):
            return lambda record: record.samples.append(Sample(*numbers))

        def without_answers_after(time, subjects):
            return lambda record: setattr(record, "answers", [
                a for a in record.answers if a.sent < time or a.subject not in subjects])

        def late(record):  # the first answer is 2.01 s after a primary served
            record.answers = [a for a in record.answers if not SERVED <= a.sent < 105]

        cases = [
            (late, "no evaluated answer within 2.00 s"),
            (add(answer(105, outcome="denied")), "1 evaluations were denied"),
            (add(failure(102.5, outcome="incompatible")), "1 evaluations were incompatible"),
            (add(failure(102.5, outcome="unanswered")), "1 evaluations were unanswered"),
            (add(answer(105, wrong="another's")), "1 wrong answers"),
            (add(failure(101)), "failed without a reason"),                        # before the fault
            (add(failure(SERVED + 2.1)), "failed without a reason"),               # long after it
            (with_fault(subjects={1}), "199 evaluations failed without a reason"),  # not concerned
            (with_fault(interrupts=False), "200 evaluations failed without a reason"),
            (with_balance(lost=1), "1 told but not charged"),
            (with_balance(twice=1), "1 units were told to two"),
            (with_balance(excess=1), "1 charged that were neither"),
            (with_balance(uneven=1), "1 charged in one limit"),
            (without_answers_after(SERVED, {7}), "1 subjects were never evaluated again"),
            (without_answers_after(SERVED, everybody()), "no evaluated answer within 2.00 s"),
            (without_answers_after(104, everybody()), None),
            (with_fault(served=FAULT + 0.5), None),
            (with_fault(asked=SERVED + 2.1), "the new primary was not asked"),
            (with_sample(FAULT + 5, 45, 9), "10.2 connects a lane"),
            (with_sample(FAULT + 5.1, 45, 9), None),
            (with_sample(FAULT, 4, 8), "1 evaluations were sent to the wrong server"),
        ]
        for number, (change, sentence) in enumerate(cases):
            with self.subTest(case=number):
                broken = self.broken_by(change)
                if sentence is None:
                    self.assertEqual(broken, [])
                else:
                    self.assertTrue(any(sentence in bar for bar in broken), broken)

    def test_a_failure_is_excused_if_the_machine_was_too_slow_for_its_deadline(self):
        self.assertEqual(self.broken_by(lambda record: record.answers.append(failure(101, took=0.5))), [])

    def test_what_a_dead_primary_had_not_replicated_may_be_lost(self):
        def lose(record, loses):
            record.faults[0].loses, record.balance = loses, Balance(lost=200)
        self.assertEqual(self.broken_by(lambda record: lose(record, True)), [])  # a second's evaluations
        self.assertEqual(len(self.broken_by(lambda record: lose(record, False))), 1)

        def lose_more(record):
            lose(record, True)
            record.balance.lost = 201
        self.assertEqual(len(self.broken_by(lose_more)), 1)


class Books(unittest.TestCase):
    # Subject 0 has one limit, subject 1 has several.
    TAGS = {0: b"{a}", 1: b"{b}"}

    def balance(self, first, second, twin, *answers):
        counters = {b"{a}": {"steady": BAND + first}, b"{b}": {"steady": 2 * BAND + second, "twin": twin}}
        found = balance(answers, counters, self.TAGS)
        return found.lost, found.excess, found.twice, found.uneven

    def test_what_is_wrong_is_counted(self):
        one, two = answer(100, 0, used=1), answer(101, 0, used=2)
        unknown = failure(102, 0, "indeterminate")
        self.assertEqual(self.balance(2, 0, 0, one, two), (0, 0, 0, 0))
        self.assertEqual(self.balance(1, 0, 0, one, two), (1, 0, 0, 0))
        self.assertEqual(self.balance(3, 0, 0, one, two), (0, 1, 0, 0))
        self.assertEqual(self.balance(3, 0, 0, one, two, unknown), (0, 0, 0, 0))
        self.assertEqual(self.balance(3, 0, 0, one, two, failure(102, 0)), (0, 1, 0, 0))
        self.assertEqual(self.balance(2, 0, 0, one, one), (0, 0, 1, 0))
        self.assertEqual(self.balance(0, 1, 0, answer(100, 1, used=1)), (0, 0, 0, 1))
        # Another subject's surplus makes up for nothing.
        self.assertEqual(self.balance(0, 1, 1, one), (1, 1, 0, 0))


class Understanding(unittest.TestCase):
    def wrong(self, subject, body, question=None):
        given = answer(100, subject)
        understand(given, {"policies": plan_of(subject), "subject": "s"} | (question or {}),
                   {"outcome": "evaluated", "allowed": True, "replayed": False, "certainty": "certain",
                    "evaluation_id": "e",
                    "limits": [{"policy": p, "limit": LIMIT, "remaining": LIMIT - (subject + 1) * BAND - 5}
                               for p in plan_of(subject)]} | body)
        return given.wrong

    def test_another_subjects_answer_is_seen(self):
        limits = [{"policy": "steady", "limit": LIMIT, "remaining": LIMIT - BAND - 1}]
        self.assertEqual(self.wrong(0, {"limits": limits}), "")
        self.assertNotEqual(self.wrong(2, {"limits": limits}), "")
        self.assertNotEqual(self.wrong(1, {"limits": limits}), "")
        self.assertNotEqual(self.wrong(0, {}, {"evaluation_id": "another"}), "")
        self.assertEqual(self.wrong(0, {}, {"evaluation_id": "e"}), "")
        self.assertEqual(self.wrong(1, {}), "")


class Resp(unittest.TestCase):
    def test_slots_and_commands(self):
        # The cluster specification's example of CRC-16, and its rule about braces.
        self.assertEqual(slot_of(b"123456789"), 0x31C3)
        self.assertEqual(slot_of(b"x{123456789}y"), 0x31C3)
        self.assertNotEqual(slot_of(b"x{}123456789"), slot_of(b""))
        self.assertEqual(encoded(["GET", 12]), b"*2\r\n$3\r\nGET\r\n$2\r\n12\r\n")


if __name__ == "__main__":
    unittest.main()
