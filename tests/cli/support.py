# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""What the tests of the command line share: running the real wavetap in a folder of its own."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from proof import count_run  # noqa: E402

LIMIT_SECONDS = 50


def find_a_library():
    """Any shared library of the system: stands for the software GPU where no GPU is used."""
    with open('/proc/self/maps', encoding='utf-8') as maps:
        for line in maps:
            path = line.split()[-1]
            if 'libc.so' in path or 'libc-' in path:
                return path
    raise RuntimeError('no libc in /proc/self/maps')


class WavetapTest(unittest.TestCase):
    wavetap = ''  # set by main()
    build = ''

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='wavetap-cli-')
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        os.chmod(path, mode)
        return path

    def environment(self, more=None):
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith('WAVETAP_') and k not in ('LD_PRELOAD', 'HSA_TOOLS_LIB')}
        return {**kept, **(more or {})}

    def call(self, *arguments, binary=None, env=None):
        result = subprocess.run([binary or self.wavetap, *arguments], cwd=self.folder, env=self.environment(env),
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                errors='replace', timeout=LIMIT_SECONDS)
        carried = arguments and arguments[0] in ('run', 'record') and 'soft:' in ' '.join(arguments)
        return count_run(result) if carried and '--dry-run' not in arguments else result

    def check(self, result, status, error=None, hint=None):
        """The exit code; with `error`, one worded line that begins so, and a hint that holds `hint`."""
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        if error is None:
            return
        lines = result.stderr.splitlines()
        errors = [line for line in lines if line.startswith('wavetap: error: ')]
        self.assertEqual(len(errors), 1, result.stderr)
        self.assertIn(error, errors[0])
        if hint is not None:
            hints = [line for line in lines if line.startswith('hint: ')]
            self.assertEqual(len(hints), 1, result.stderr)
            self.assertIn(hint, hints[0])

    def relocated(self, *libraries):
        """A copy of the program with only these libraries beside it, each standing for the real one."""
        binary = self.path('tree/bin/wavetap')
        os.makedirs(os.path.dirname(binary), exist_ok=True)
        os.makedirs(self.path('tree/lib'), exist_ok=True)
        shutil.copy(self.wavetap, binary)
        for name in libraries:
            shutil.copy(find_a_library(), self.path('tree/lib/' + name))
        return binary


def main():
    WavetapTest.wavetap = os.path.abspath(sys.argv[1])
    WavetapTest.build = os.path.dirname(os.path.dirname(WavetapTest.wavetap))
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
