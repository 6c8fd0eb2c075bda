"""Lines that are no requests of `sluice evaluate --stream --manual-clock`.

`HANDWRITTEN` are the known kinds of trouble; `malformed(rng)` breaks a good request in one of many ways,
each of which leaves nothing that could be read as a request.
"""

import json

GOOD = {"policies": ["api"], "subject": "mallory", "cost": 1, "now_ms": 1000, "evaluation_id": "id-1",
        "budget_ms": 100, "mode": "evaluate"}


def text(request):
    return json.dumps(request, separators=(",", ":"), ensure_ascii=False)


def with_subject(raw):
    """A request whose subject is these bytes between quotes."""
    head, tail = text(GOOD | {"subject": "@"}).encode().split(b"@")
    return head + raw + tail


def with_number(field, literal):
    """A request whose field is this literal, which json.dumps would not write."""
    return text(GOOD | {field: "@"}).replace('"@"', literal).encode()


HANDWRITTEN = [
    b"",
    b" ",
    b"\r",
    b"\0",
    b"\0" * 1000,
    b"\xef\xbb\xbf",
    b"null",
    b"true",
    b"17",
    b'"policies"',
    b"[]",
    b"{}",
    b"{",
    b"}",
    b"{{",
    b"not json at all",
    b"GET /check HTTP/1.1",
    text(GOOD).encode() + b"\0",
    b"\0" + text(GOOD).encode(),
    text(GOOD).encode() + b" // comment",
    text(GOOD).replace('"', "'").encode(),
    text(GOOD).replace("}", ",}").encode(),
    text([GOOD]).encode(),
    with_subject(b"\xff"),
    with_subject(b"\xc0\xaf"),              # overlong "/"
    with_subject(b"\xed\xa0\x80"),          # a surrogate in UTF-8
    with_subject(b"\xf4\x90\x80\x80"),      # beyond U+10FFFF
    with_subject(b"\xe2\x82"),              # cut off
    with_subject(rb"\ud800"),               # half a pair
    with_subject(rb"\x41"),
    with_subject(b"tab\there"),
    with_subject(b"x" * 70 * 1024),         # longer than a line may be
    b"x" * 70 * 1024,
    b" " * 70 * 1024 + text(GOOD).encode(),
    b"[" * 60000,
    b'{"subject":' * 5000,
    b'{"a":' * 1000 + b"1" + b"}" * 1000,
    text(GOOD).replace('"mallory"', "[" * 500 + "]" * 500).encode(),
    text(GOOD | {"cost": 1}).replace('"cost":1', '"cost":1,"cost":1').encode(),
    text(GOOD).replace('"subject":', '"subject":"alice","subject":').encode(),
    with_number("cost", "1.0"),
    with_number("cost", "1e0"),
    with_number("cost", "01"),
    with_number("cost", "+1"),
    with_number("cost", "0x1"),
    with_number("cost", "NaN"),
    with_number("cost", "Infinity"),
    with_number("cost", "-0"),
    with_number("cost", "9007199254740992"),
    with_number("cost", "18446744073709551616"),
    with_number("cost", "1e999"),
    with_number("cost", "9" * 1000),
    with_number("now_ms", "-1"),
    with_number("now_ms", "1000.5"),
    with_number("now_ms", "9223372036854775808"),
]

# Values of the right place in JSON and the wrong kind or size.
WRONG = {
    "policies": [None, 1, "api", {}, [], [1], [None], [""], [["api"]], ["api", "api"],
                 [f"p{n}" for n in range(17)]],
    "subject": [None, True, 1, 0.5, "", [], {}, {"kind": "client-ip"}, {"value": "x"},
                {"kind": "martian", "value": "x"}, {"kind": "client-ip", "value": "999.1.1.1"},
                {"kind": "opaque", "value": 1}, {"kind": "opaque", "value": "x", "more": 1}],
    "cost": [None, True, "1", 1.5, 0, -1, 2**53, 2**63, 2**64, 10**30, [], {}],
    "now_ms": [None, False, "1000", 0.5, -1, 2**53, 2**64, []],
    "evaluation_id": [None, 1, "", "x" * 129, "\u00e9", "two\nlines", "\x7f", []],
    "budget_ms": [None, "100", 0, -1, 1.5, 60001, 2**64],
    "mode": [None, 1, "", "Evaluate", "peek ", ["peek"]],
    "operation": [None, 1, "", "login"],  # beside "policies" at that
}


def outside_strings(line):
    """Positions of a good request's bytes that are in no string."""
    inside, positions = False, []
    for position, character in enumerate(line):
        if not inside:
            positions.append(position)
        inside ^= character == '"'
    return positions


def truncated(rng):
    line = text(GOOD)
    return line[:rng.randrange(len(line))].encode()


def with_a_mark_too_many(rng):
    line = text(GOOD)
    position = rng.choice(outside_strings(line))
    return (line[:position] + rng.choice("{}[]:,") + line[position:]).encode()


def with_bytes_that_are_no_text(rng):
    raw = bytearray(b"mallory")
    raw.insert(rng.randrange(8), rng.choice([*range(0, 10), *range(11, 32), *range(0x80, 0x100)]))
    return with_subject(bytes(raw))


def with_a_bad_escape(rng):
    return with_subject(b"mal\\" + rng.choice([b"x41", b"u12", b"uD8FF", b"U0041", b"'", b"0"]) + b"lory")


def with_an_unknown_field(rng):
    name = rng.choice(["Cost", "cost ", "now", "policy", "", "x" * 1000, "\u00fc", "__proto__"])
    return text(GOOD | {name: rng.choice([1, None, "x", []])}).encode()


def with_a_field_twice(rng):
    name = rng.choice(list(GOOD))
    return b"{" + text({name: GOOD[name]})[1:-1].encode() + b"," + text(GOOD)[1:].encode()


def without_a_field(rng):
    missing = rng.choice(["policies", "subject", "now_ms"])
    return text({name: value for name, value in GOOD.items() if name != missing}).encode()


def with_a_wrong_value(rng):
    name = rng.choice(list(WRONG))
    return text(GOOD | {name: rng.choice(WRONG[name])}).encode()


def followed_by_more(rng):
    more = rng.choice(["{}", text(GOOD), "1", "]", "x", "\\", "\0"])
    return (text(GOOD) + rng.choice(["", " ", "\t"]) + more).encode()


def of_noise(rng):
    return rng.randbytes(rng.randrange(1, 200)).replace(b"\n", b"x")


KINDS = [truncated, with_a_mark_too_many, with_bytes_that_are_no_text, with_a_bad_escape,
         with_an_unknown_field, with_a_field_twice, without_a_field, with_a_wrong_value,
         followed_by_more, of_noise]


def malformed(rng):
    return rng.choice(KINDS)(rng)


def perhaps_malformed(rng):
    """A good request with some bytes replaced, removed or added: it may still be one."""
    raw = bytearray(text(GOOD).encode())
    for _ in range(rng.randrange(1, 4)):
        position = rng.randrange(len(raw))
        byte = rng.choice([*range(10), *range(11, 256)])
        raw[position:position + rng.randrange(2)] = bytes([byte] * rng.randrange(2))
    return bytes(raw)
