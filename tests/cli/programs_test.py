#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Programs of others and of our own on the software GPU, through `run`, `record` and `doctor`.
usage: programs_test.py WAVETAP EXAMPLES PROGRAMS"""
import json
import os
import signal
import sys

import support

SOFT = ('--gpu', 'soft:gfx90a')
EXAMPLES = os.path.abspath(sys.argv.pop(2))
PROGRAMS = os.path.abspath(sys.argv.pop(2))


class Run(support.WavetapTest):
    def test_doctor_is_content(self):
        result = self.call('doctor', '--json')
        self.check(result, 0)
        answer = json.loads(result.stdout)
        soft = [a for a in answer['agents'] if a['source'] == 'soft:gfx90a']
        self.assertEqual([(a['name'], a['compute_units']) for a in soft], [('gfx90a', 110)])
        self.assertEqual([(a['backend'], a['packets']) for a in soft], [('rocr', 'own')])

    def test_rocminfo_sees_the_chip(self):
        result = self.call('run', *SOFT, '--', 'rocminfo')
        self.check(result, 0)
        self.assertIn('gfx90a', result.stdout)
        two = self.call('run', '--gpu', 'soft:gfx90a,gfx90a', '--', 'rocminfo')
        self.assertEqual(two.stdout.count('Name:                    gfx90a'), 2)

    def test_examples_are_right(self):
        for example in ('saxpy', 'reduce', 'histogram'):
            self.check(self.call('run', *SOFT, '--', f'{EXAMPLES}/{example}'), 0)


class Record(support.WavetapTest):
    def record(self, *program, options=()):
        return self.call('record', *SOFT, '-o', 'trace', '--force', *options, '--', *program)

    def summary(self):
        with open(self.path('trace/summary.json'), encoding='utf-8') as file:
            return json.load(file)

    def test_every_ending_leaves_a_readable_trace(self):
        # Six launches under three contexts of two each; a program that ends without a word loses
        # only the run that was on.
        for ending, status, captured in (
                ('return', 0, 3), ('exit', 3, 3), ('_exit', 4, 2), ('kill', 128 + signal.SIGKILL, 2),
                ('segv', 128 + signal.SIGSEGV, 2), ('gpu-fault', 128 + signal.SIGABRT, 2)):
            with self.subTest(ending=ending):
                result = self.record(PROGRAMS + '/ending', ending, options=('--contexts', '3'))
                self.check(result, status)
                self.assertGreaterEqual(self.summary()['captured'], captured)
                self.assertIn('timing: modelled', result.stderr)
                for reader in ('health', 'report', 'decode'):
                    self.check(self.call(reader, 'trace'), 0)

    def test_program_without_kernels(self):
        self.check(self.record(PROGRAMS + '/ending', 'none'), 125,
                   'nothing was captured: the program launched no kernel', '--allow-empty')
        self.check(self.record(PROGRAMS + '/ending', 'none', options=('--allow-empty',)), 0)

    def test_program_without_hsa(self):
        self.check(self.record('true'), 125, 'no process loaded the HSA runtime')

    def test_kernel_filter_that_matches_nothing(self):
        self.check(self.record(EXAMPLES + '/saxpy', options=('--kernel', 'no_such_kernel')), 125,
                   'nothing was captured')

    def test_cu_that_no_wave_reaches_is_told(self):
        result = self.record(PROGRAMS + '/ending', 'return', '1',
                             options=('--se', '0x80', '--cu', '12'))
        self.check(result, 0)
        self.assertIn('none of 8 waves on the target: take another --cu or --simd', result.stderr)
        strict = self.call('health', 'trace', '--strict')
        self.check(strict, 1)


if __name__ == '__main__':
    support.main()
