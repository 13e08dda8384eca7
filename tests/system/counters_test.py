# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Performance counters in the traces of real programs on the software GPU.
usage: counters_test.py WAVETAP PROGRAMS_DIR"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from proof import count_run  # noqa: E402

LIMIT_SECONDS = 50
COUNTERS = ['--perf-counter', 'SQ_WAVES,SQ_INSTS_VALU:0x3,SQ_BUSY_CU_CYCLES,25,SQ_WAVE_CYCLES', '--perf-period',
            '1', '--se', '0xff', '--buffer', '4MiB']


class CountersTest(unittest.TestCase):
    wavetap = programs = ''

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='wavetap-counters-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.trace = os.path.join(self.folder, 'trace')

    def run_wavetap(self, *arguments):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith('WAVETAP_') and k not in ('LD_PRELOAD', 'HSA_TOOLS_LIB')}
        return count_run(subprocess.run(
            [self.wavetap, *arguments], cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors='replace', timeout=LIMIT_SECONDS))

    def record(self, *options):
        result = self.run_wavetap('record', '--gpu', 'soft:gfx90a', '--truth', '-o', self.trace, '--force', *options,
                                  '--', os.path.join(self.programs, 'launches'), '6', '2')
        self.assertEqual(result.returncode, 0, result.stderr)

    def verify(self):
        """Status and the first context."""
        result = self.run_wavetap('verify', self.trace, '--json')
        return result.returncode, json.loads(result.stdout)['contexts'][0]

    def spoil_a_sample(self):
        """Makes the first value of one PERF token larger by 2,048: never 0, which would be no sample at all."""
        for path in sorted(glob.glob(os.path.join(self.trace, 'proc-*', 'runs', '*', '*.att'))):
            for line in self.run_wavetap('decode', path, '--tokens', '--json').stdout.splitlines():
                token = json.loads(line)
                if token.get('name') != 'PERF':
                    continue
                bit = token['offset_bits'] + 12 + 11
                with open(path, 'r+b') as file:
                    file.seek(bit // 8)
                    byte = file.read(1)[0]
                    file.seek(bit // 8)
                    file.write(bytes([byte ^ 1 << bit % 8]))
                return
        self.fail('no trace has a PERF token')

    def test_every_sample_is_verified_in_both_modes(self):
        for mode in ('dispatch', 'device'):
            with self.subTest(mode):
                self.record('--mode', mode, *COUNTERS)
                status, context = self.verify()
                self.assertEqual(status, 0, context['faults'])
                samples = context['samples']
                self.assertGreater(samples['matched'], 10)
                self.assertEqual(samples['matched'], samples['expected'])
                events = [json.loads(line) for line in
                          self.run_wavetap('decode', self.trace, '--events', '--json').stdout.splitlines()]
                counted = [event for event in events if event.get('name') == 'counters']
                self.assertEqual({event['bank'] for event in counted}, {0, 1})
                waves = sum(event['c0'] for event in counted if event['bank'] == 0)
                self.assertGreater(waves, 0)
                self.assertLessEqual(waves, context['waves']['expected'])
                self.spoil_a_sample()
                status, context = self.verify()
                self.assertEqual(status, 1)
                self.assertEqual(context['samples']['differing'], 1)
                self.assertIn('the trace says', context['faults'][0])

    def test_several_buffers_and_excluded_units(self):
        self.record('--mode', 'device', '--perf-counter', 'SQ_WAVES', '--perf-period', '2', '--perf-exclude', '0xfffe',
                    '--buffers', '3', '--buffer', '1MiB')
        status, context = self.verify()
        self.assertEqual(status, 0, context['faults'])
        rcv = self.run_wavetap('export', self.trace, '--to', 'rcv', '-o', os.path.join(self.folder, 'rcv'))
        self.assertEqual(rcv.returncode, 0, rcv.stderr)
        names = glob.glob(os.path.join(self.folder, 'rcv', '*', 'filenames.json'))
        self.assertTrue(names)
        with open(names[0], encoding='utf-8') as file:
            self.assertEqual(json.load(file)['counter_names'], ['SQ_WAVES'])

    def test_without_counters_there_are_none(self):
        self.record('--mode', 'device')
        status, context = self.verify()
        self.assertEqual(status, 0, context['faults'])
        self.assertEqual(context['samples']['expected'], 0)


if __name__ == '__main__':
    CountersTest.wavetap, CountersTest.programs = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
