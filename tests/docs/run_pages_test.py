"""run_pages.py runs what pages say, and notices when it does not work."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

SCRIPT = pathlib.Path(__file__).with_name("run_pages.py")
CONFIG = """\
default_policy: api
policies:
  api: {algorithm: fixed-window, limit: 2, window: 366d}
identity: {trusted_proxies: [127.0.0.0/8]}
"""


class Page(unittest.TestCase):
    def run_page(self, text, name="README.md"):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "sluice.yaml").write_text(CONFIG)
            page = root / name
            page.parent.mkdir(exist_ok=True)
            (root / "README.md").touch()
            page.write_text(textwrap.dedent(text))
            done = subprocess.run([sys.executable, "-B", SCRIPT, "--root", root], capture_output=True,
                                  text=True, timeout=60, check=False)
            return done.returncode, done.stdout + done.stderr

    def expect_pass(self, text, says="", **options):
        status, output = self.run_page(text, **options)
        self.assertEqual(status, 0, output)
        self.assertIn(says, output)

    def expect_failure(self, text, says, **options):
        status, output = self.run_page(text, **options)
        self.assertEqual(status, 1, output)
        self.assertIn(says, output)


class Script(Page):
    def test_runs_in_one_shell_with_the_repository(self):
        self.expect_pass("""\
            ```sh run
            cd /
            mine=yes
            ```
            ```sh run
            test "$PWD $mine" = '/ yes'
            cat "$OLDPWD/sluice.yaml"
            sluice version | grep -q sluice
            "$OLDPWD/build/release/sluice" version
            ```
            """, says="2 steps are right")

    def test_that_fails_is_found_with_its_place(self):
        for script in ("false", "true\nfalse\ntrue", "false | true", "no-such-program", "exit 3",
                       "echo $undefined", "cat /nonexistent; true\nfalse", "if true; then"):
            with self.subTest(script):
                self.expect_failure(f"# Title\n\n```sh run\n{script}\n```\n", says="README.md:4: ")

    def test_of_a_later_page_is_found_too(self):
        self.expect_failure("```sh run\nfalse\n```\n", says="docs/guide.md:2: ", name="docs/guide.md")

    def test_in_a_list_is_found_too(self):
        self.expect_failure("- a list:\n\n  ```sh run\n  false\n  ```\n", says="README.md:4: false")

    def test_marked_no_run_does_not_run_and_is_counted(self):
        self.expect_pass("""\
            ```sh no-run
            false
            ```
            ```sh run
            true
            ```
            """, says="1 steps are right, 1 blocks are marked no-run")

    def test_must_say_whether_it_runs(self):
        for info in ("sh", "console", "sh norun", "sh run now", "python run"):
            with self.subTest(info):
                self.expect_failure(f"```{info}\ntrue\n```\n", says=f"README.md:1: ```{info}")

    def test_is_missed_where_no_page_has_one(self):
        self.expect_failure("Nothing to run.\n", says="no page has anything to run")


class Session(Page):
    def test_prints_what_the_page_shows(self):
        self.expect_pass("""\
            ```console run
            $ printf '%s\\n' one two 'three 3'
            one
            ...
            three ...
            $ echo one \\
            >   line
            one line
            $ echo not shown
            $ false || echo "exit $?"
            exit 1
            ```
            """, says="4 steps are right")

    def test_that_prints_something_else_is_found(self):
        for shown in ("two", "on", "one\ntwo", "...two", "one.", "...\ntwo"):
            with self.subTest(shown):
                self.expect_failure(f"```console run\n$ echo one\n{shown}\n```\n", says="README.md:2: echo one")

    def test_that_fails_is_found_even_if_it_prints_what_is_shown(self):
        self.expect_failure("```console run\n$ echo one; false\none\n```\n", says="README.md:2: ")


class Config(Page):
    def test_is_checked(self):
        self.expect_pass(f"```yaml config\n{CONFIG}```\n", says="1 steps are right")
        self.expect_failure("```yaml config\ndefault_policy: api\n```\n", says="policies")


class Serving(Page):
    def test_lasts_to_the_end_of_the_page(self):
        self.expect_pass("""\
            ```sh run
            sluice serve -c sluice.yaml
            ```
            ```console run
            $ for n in 1 2 3; do
            >   curl -s -o /dev/null -w '%{http_code}\\n' -H 'X-Original-Method: GET' \\
            >     -H 'X-Original-URI: /' http://127.0.0.1:8080/check
            > done
            200
            200
            429
            $ curl -s http://localhost:9090/metrics | grep -c denied
            ...
            ```
            """, says="3 steps are right")

    def test_with_a_bad_configuration_is_found(self):
        self.expect_failure("```sh run\nsluice serve -c nonexistent.yaml &\n```\n",
                            says="README.md:2: sluice serve")

    def test_leaves_nothing_behind(self):
        pid = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "pid"
        self.expect_pass(f"```sh run\nsluice serve -c sluice.yaml\necho $! >{pid}\n```\n")
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    sys.exit(not (result.wasSuccessful() and result.testsRun > 0))
