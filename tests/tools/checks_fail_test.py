#!/usr/bin/env python3
"""The checks in tools/ fail on what they are there for, and only on that.

usage: checks_fail_test.py COMPILER
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A tiny tree that follows the table.
GOOD = {
    "include/sluice/policy.h": "#include <vector>\n",
    "testing/manual_clock.h": '#include "sluice/policy.h"\n',
    "src/limiter/plan.h": '#include <cstdint>\n#include "sluice/policy.h"\n#include "src/limiter/step.h"\n',
    "src/limiter/step.h": "",
    "src/limiter/CMakeLists.txt": "sluice_module(NAME limiter SOURCES plan.cc DEPS include)\n",
    "src/memory/table.cc": "#include <boost/unordered/unordered_flat_map.hpp>\n#include \"src/limiter/plan.h\"\n",
    "src/memory/table_test.cc": "#include <gtest/gtest.h>\n#include \"testing/manual_clock.h\"\n",
    "src/memory/CMakeLists.txt": "sluice_module(NAME memory SOURCES table.cc\n  DEPS limiter LIBS Boost::headers)\n",
    "src/config/reader.cc": '#include <yaml-cpp/yaml.h>\n#include "sluice/policy.h"\n',
    "src/config/CMakeLists.txt": "sluice_module(NAME config SOURCES reader.cc DEPS include limiter)\n",
    "src/app/main.cc": '#include <CLI/CLI.hpp>\n#include "src/memory/table.h"\n',
    "src/app/CMakeLists.txt": "sluice_module(NAME app SOURCES main.cc DEPS memory)\n",
}

# What breaks it: file, its new content, what the complaint says.
FORBIDDEN = [
    # An arrow upwards.
    ("src/limiter/step.h", '#include "src/memory/table.h"\n', "limiter may not include src/memory/table.h"),
    # Siblings.
    ("src/memory/table.cc", '#include "src/identity/key.h"\n', "memory may not include src/identity/key.h"),
    # What a module may only link, because public headers declare it.
    ("src/config/reader.cc", '#include "src/limiter/plan.h"\n', "config may not include src/limiter/plan.h"),
    # Nothing includes app.
    ("src/memory/table.cc", '#include "src/app/main.h"\n', "memory may not include src/app/main.h"),
    # The public headers know the standard library alone.
    ("include/sluice/policy.h", "#include <fmt/format.h>\n", "include may not include <fmt/format.h>"),
    ("include/sluice/policy.h", '#include "src/limiter/plan.h"\n', "include may not include src/limiter/plan.h"),
    # A library that belongs to another module, with spaces as the preprocessor allows them.
    ("src/memory/table.cc", "#  include <openssl/hmac.h>\n", "memory may not include <openssl/hmac.h>"),
    ("src/memory/table.cc", "#include <yaml-cpp/yaml.h>\n", "memory may not include <yaml-cpp/yaml.h>"),
    ("src/limiter/plan.h", "#include <sys/socket.h>\n", "limiter may not include <sys/socket.h>"),
    # Doubles are for tests.
    ("src/memory/table.cc", '#include "testing/manual_clock.h"\n', "memory may not include testing/manual_clock.h"),
    # A test has more friends than its subject, but not every module.
    ("src/memory/table_test.cc", '#include "src/http/server.h"\n', "memory may not include src/http/server.h"),
    # Includes by a way around the names that the table knows.
    ("src/memory/table.cc", '#include "table.h"\n', '"table.h" is not named from the root'),
    ("src/memory/table.cc", '#include "../limiter/plan.h"\n', "is not named from the root"),
    ("src/memory/table.cc", '#include "include/sluice/policy.h"\n', "public headers are included as"),
    ("src/memory/table.cc", "#include <src/limiter/plan.h>\n", "public headers are included as"),
    # A folder that the table does not know.
    ("src/cache/cache.h", "", "cache has no row in the table"),
    # DEPS against the table, and against what is included.
    ("src/limiter/CMakeLists.txt", "sluice_module(NAME limiter SOURCES plan.cc DEPS include memory)\n",
     "limiter may not depend on memory"),
    ("src/limiter/CMakeLists.txt", "sluice_module(NAME limiter DEPS include PRIVATE_LIBS sluice_memory)\n",
     "limiter may not depend on memory"),
    ("src/memory/CMakeLists.txt", "sluice_module(NAME memory SOURCES table.cc LIBS limiter)\n",
     "memory includes src/limiter without naming it in DEPS"),
]


class LayersTest(unittest.TestCase):
    def check(self, tree):
        with tempfile.TemporaryDirectory() as root:
            for name, text in tree.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return subprocess.run([ROOT / "tools/check_layers", root], capture_output=True, text=True, check=False)

    def test_accepts_what_the_table_allows(self):
        done = self.check(GOOD)
        self.assertEqual((done.returncode, done.stdout), (0, "8 files follow the layers\n"), done.stderr)

    def test_refuses_each_forbidden_arrow_alone(self):
        for name, text, complaint in FORBIDDEN:
            with self.subTest(name=name, text=text):
                done = self.check(GOOD | {name: text})
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertTrue(done.stdout.startswith(name + ":"), done.stdout)
                self.assertIn(complaint, done.stdout)
                self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)

    def test_refuses_a_folder_without_sources(self):
        self.assertNotEqual(self.check({}).returncode, 0)


class HeadersTest(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as root:
            if text:
                pathlib.Path(root, "subject.h").write_text(text, encoding="utf-8")
            return subprocess.run([ROOT / "tools/check_headers", COMPILER, root], capture_output=True, text=True,
                                  check=False)

    def test_accepts_a_header_that_stands_alone(self):
        self.assertEqual(self.check("#pragma once\n#include <string>\nstd::string Name();\n").returncode, 0)

    def test_refuses_a_header_that_relies_on_its_includer(self):
        done = self.check("#pragma once\nstd::string Name();\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("subject.h does not compile alone", done.stderr)

    def test_refuses_a_folder_without_headers(self):
        self.assertNotEqual(self.check("").returncode, 0)


if __name__ == "__main__":
    COMPILER = sys.argv.pop(1)
    assert shutil.which(COMPILER), COMPILER
    unittest.main()
