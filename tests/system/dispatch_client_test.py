# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Dispatch mode through the C interface: a program in C traces chosen kernels in several contexts, on the real
runtime over the software GPU; `wavetap verify` compares what it wrote with what really ran.
usage: dispatch_client_test.py WAVETAP SOFTGPU.so LIBWAVETAP.so PROGRAMS-FOLDER"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIMIT_SECONDS = 50


class DispatchClient(unittest.TestCase):
    wavetap = softgpu = library = programs = ''

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='wavetap-dispatch-')
        self.addCleanup(shutil.rmtree, self.folder)

    def run_client(self, arguments, tools=None):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith('WAVETAP_') and k not in ('LD_PRELOAD', 'HSA_TOOLS_LIB')}
        env.update(LD_PRELOAD=self.softgpu, WAVETAP_GPU='soft:gfx90a', WAVETAP_TRUTH_DIR=self.folder)
        if tools:
            env['HSA_TOOLS_LIB'] = tools
        return subprocess.run([os.path.join(self.programs, 'dispatch_client'), *arguments], env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_SECONDS)

    def check(self, how, *arguments, tools=None):
        code = os.path.join(self.programs, 'fill.elf')
        result = self.run_client([code, self.folder, how, *arguments], tools)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn('dispatch_client: all equal', result.stdout)
        self.assertNotIn('leak', result.stderr)
        rounds = re.findall(r'round (\d): context (\d) saw (\d+), traced (\d+)', result.stdout)
        self.assertEqual([(r, c) for r, c, _, _ in rounds], [('0', '0'), ('1', '1'), ('2', '2'), ('3', '0')])
        # Each of twelve launches is shown; of the third context, which stops itself, at least six.
        self.assertEqual([int(rounds[i][2]) for i in (0, 1, 3)], [12, 12, 24])
        self.assertGreaterEqual(int(rounds[2][2]), 6)
        self.assertEqual([int(rounds[i][3]) for i in (0, 1, 3)], [6, 6, 12])
        self.assertGreaterEqual(int(rounds[2][3]), 6)
        starts = 6 + 6 + int(rounds[2][3]) + 6
        self.assertIn(f'serialized 6, starts {starts}, queues 0', result.stdout)

        manifest, = glob.glob(os.path.join(self.folder, 'proc-*', 'manifest.jsonl'))
        with open(manifest, encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        kernels = {line['dispatch']: line['kernel'] for line in lines if line['type'] == 'dispatch'}
        traced = {}
        for line in lines:
            if line['type'] == 'run_begin':
                traced.setdefault(line['context'], set()).add(kernels[line['first_dispatch']])
        self.assertEqual(traced, {0: {'fill'}, 1: {'tick'}, 2: {'fill', 'tick'}})
        ids = {line['external_correlation_id'] for line in lines if line['type'] == 'dispatch'}
        self.assertEqual(ids, {queue << 32 | i for queue in (0, 1) for i in range(1, 7)})
        verified = subprocess.run([self.wavetap, 'verify', self.folder], capture_output=True, text=True,
                                  timeout=LIMIT_SECONDS)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        self.assertIn(' 0 failed', verified.stdout)
        self.assertRegex(verified.stdout, r'instructions +expected [1-9]')
        return lines

    def test_a_program_that_intercepts_before_the_runtime_is_up(self):
        self.check('program')

    def test_a_program_that_ends_without_closing_gets_what_it_traced(self):
        result = self.run_client([os.path.join(self.programs, 'fill.elf'), self.folder, 'program', 'leave'])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn('dispatch_client: left', result.stdout)
        starts = int(re.search(r'starts (\d+)', result.stdout)[1])
        manifest, = glob.glob(os.path.join(self.folder, 'proc-*', 'manifest.jsonl'))
        with open(manifest, encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        begun = [line['run'] for line in lines if line['type'] == 'run_begin']
        self.assertEqual(begun, [line['run'] for line in lines if line['type'] == 'run_end'])
        self.assertEqual(len(begun), starts + 6)

    def test_a_program_whose_user_loads_the_library_as_a_tool(self):
        self.check('preloaded', tools=self.library)

    def test_a_tool_that_intercepts_in_its_onload(self):
        self.check('tool', os.path.join(self.programs, 'libdispatch_tool.so'))

    def test_ids_that_a_recorded_program_pushes_are_in_its_folder(self):
        trace = os.path.join(self.folder, 'trace')
        result = subprocess.run(
            [self.wavetap, 'record', '--gpu', 'soft:gfx90a', '--every-launch', '--cu', '0', '--buffer', '1MiB',
             '-o', trace, '--', os.path.join(self.programs, 'dispatch_client'), 'pushes',
             os.path.join(self.programs, 'fill.elf')],
            cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_SECONDS)
        self.assertEqual(result.returncode, 0, result.stderr)
        expected = {queue << 32 | i for queue in (0, 1) for i in range(1, 7)}
        manifest, = glob.glob(os.path.join(trace, 'proc-*', 'manifest.jsonl'))
        with open(manifest, encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        ids = {line['dispatch']: line.get('external_correlation_id', 0) for line in lines
               if line['type'] == 'dispatch'}
        self.assertEqual(sorted(ids.values()), sorted({0} | expected))
        report = subprocess.run([self.wavetap, 'report', trace, '--by', 'wave', '--json'],
                                capture_output=True, text=True, timeout=LIMIT_SECONDS)
        self.assertEqual(report.returncode, 0, report.stderr)
        waves = json.loads(report.stdout)['rows']
        self.assertEqual({wave['dispatch']: wave['external_correlation_id'] for wave in waves}, ids)

    def test_too_late_is_a_worded_status(self):
        result = self.run_client(['late'])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn('did not load wavetap as a tool', result.stdout)


if __name__ == '__main__':
    DispatchClient.wavetap, DispatchClient.softgpu, DispatchClient.library, DispatchClient.programs = (
        os.path.abspath(path) for path in sys.argv[1:5])
    unittest.main(argv=sys.argv[:1], verbosity=2)
