#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""`record --packets aqlprofile` under the real runtime, on a stand-in that replays recorded packets.
usage: record_test.py WAVETAP EXAMPLES STANDINS DATA"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import support  # noqa: E402

DATA = os.environ.get('WAVETAP_DATA') or os.path.abspath(sys.argv.pop(4))
STANDINS = os.path.abspath(sys.argv.pop(3))
EXAMPLES = os.path.abspath(sys.argv.pop(2))
MIB = 1 << 20
# The configuration that was recorded: shader engine 0, CU 1, all SIMDs, 96 MiB.
RECORDED = ('--se', '0x1', '--cu', '1', '--simd', '0,1,2,3', '--buffer', '96MiB')

# Libraries of 2025 have no multi-buffer functions.
KINDS = (('jun25_', 'plain'), ('aug25_', 'plain'), ('r26_', 'rings'))


class AqlprofileTest(support.WavetapTest):
    def record(self, *options, library='rings', cases='aug25_', fault='', program='matmul'):
        env = {'WAVETAP_AQLPROFILE': os.path.join(STANDINS, f'libaqlprofile_{library}.so'),
               'WAVETAP_DATA': DATA, 'WAVETAP_STANDIN_CASES': cases,
               'WAVETAP_STANDIN_FAULT': fault, 'WAVETAP_STANDIN_LOG': self.path('standin.log')}
        return self.call('record', '--gpu', 'soft:gfx90a', '--packets', 'aqlprofile', '--truth',
                         *options, '-o', 'trace', '--force', '--', f'{EXAMPLES}/{program}', env=env)

    def log(self):
        with open(self.path('standin.log'), encoding='utf-8') as file:
            return file.read()

    def summary(self):
        with open(self.path('trace/summary.json'), encoding='utf-8') as file:
            return json.load(file)

    def verified(self):
        result = self.call('verify', 'trace')
        self.check(result, 0)
        match = re.match(r'([\d,]+) passed, 0 failed$', result.stdout.splitlines()[-1])
        self.assertTrue(match, result.stdout)
        self.assertGreater(int(match.group(1).replace(',', '')), 100)

    def checked(self, contexts, slots=1, ring=1, slot_bytes=96 * MIB):
        """The trace verifies as one of our own packets does; contexts shared the hub's slots and a set
        of packets for each ring in them; the library was given back all that it had."""
        self.verified()
        summary = self.summary()
        self.assertEqual(summary['captured'], contexts)
        agent = summary['agents'][0]
        self.assertEqual(agent['output_slots'], slots)
        self.assertLessEqual(agent['output_bytes'], slots * (slot_bytes + 8192))
        self.assertEqual((agent['refused'], agent['deadline_misses']), (0, 0))
        log = self.log()
        sets = log.count(' flags 7 -> 0')
        # In dispatch mode the second slot is used if a dispatch comes soon enough.
        self.assertIn(sets, range(1, slots // ring + 1))
        self.assertEqual(log.count(' flags 17 -> 0'), sets * ring)
        made = re.findall(r'^created (\d+)$', log, re.M)
        self.assertEqual(sorted(made), sorted(re.findall(r'^deleted (\d+)$', log, re.M)))
        self.assertGreater(len(made), sets, 'markers were made by it, too')


class Recorded(AqlprofileTest):
    def test_dispatch_mode(self):
        for cases, library in KINDS:
            with self.subTest(cases=cases):
                self.check(self.record('--contexts', '3', *RECORDED, cases=cases,
                                       library=library), 0)
                self.checked(contexts=3, slots=2)
                os.remove(self.path('standin.log'))

    def test_every_launch(self):
        self.check(self.record('--every-launch', *RECORDED, program='reduce'), 0)
        self.checked(contexts=1, slots=2)

    def test_device_mode(self):
        for cases, library in KINDS:
            with self.subTest(cases=cases):
                self.check(self.record('--mode', 'device', '--contexts', '3', *RECORDED,
                                       cases=cases, library=library), 0)
                self.checked(contexts=3)
                os.remove(self.path('standin.log'))

    def test_several_buffers(self):
        self.check(self.record('--buffers', '3', '--contexts', '2', *RECORDED[:-1], '64MiB',
                               cases='r26_'), 0)
        self.checked(contexts=2, slots=3, ring=3, slot_bytes=64 * MIB)

    def test_a_context_that_the_library_refuses_is_words_and_the_others_go_on(self):
        result = self.record('--mode', 'device', '--contexts', '2', *RECORDED[:-1], '96MiB,95MiB')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('context 1 did not start: aqlprofile answered 0x1001 (invalid argument)',
                      result.stderr)
        self.assertEqual(self.summary()['captured'], 1)
        verdict = self.call('verify', 'trace')
        self.check(verdict, 1)
        self.assertRegex(verdict.stdout, r'context 0: .* good\n')
        self.assertIn('the context never ran', verdict.stdout)


class Refused(AqlprofileTest):
    """What cannot work is said before the program runs."""

    def refused(self, error, hint, *options, **settings):
        result = self.record(*options, *RECORDED, program='none-of-these', **settings)
        self.check(result, 125, error, hint)
        self.assertFalse(os.path.exists(self.path('trace')))

    def test_no_library(self):
        self.refused('aqlprofile cannot be loaded', 'WAVETAP_AQLPROFILE', library='missing')
        # By its own name: there is none on this machine, or one that is AMD's own, which this test
        # must not load; so only where there is none.
        if not any('aqlprofile64' in name for folder in ('/usr/lib/x86_64-linux-gnu', '/opt/rocm/lib')
                   if os.path.isdir(folder) for name in os.listdir(folder)):
            result = self.call('record', '--gpu', 'soft:gfx90a', '--packets', 'aqlprofile', *RECORDED,
                               '--', 'true')
            self.check(result, 125, 'libhsa-amd-aqlprofile64.so', 'install hsa-amd-aqlprofile')

    def test_a_library_without_a_function(self):
        self.refused('this library has no aqlprofile_att_codeobj_marker', 'leave out --packets',
                     library='no_marker')

    def test_another_version(self):
        self.refused('version 2.0.0 of aqlprofile is not known', 'leave out --packets',
                     library='version_2')

    def test_a_library_that_does_not_tell(self):
        self.refused('does not tell its version: 0x1000', 'leave out --packets', fault='version')

    def test_several_buffers_without_their_functions(self):
        self.refused('cannot trace through several buffers', 'use one buffer', '--buffers', '3',
                     library='plain')

    def test_wrong_word(self):
        result = self.call('record', '--gpu', 'soft:gfx90a', '--packets', 'amd', '--', 'true')
        self.check(result, 2, "'amd' makes no packets that we know", 'write wavetap or aqlprofile')


class Faults(AqlprofileTest):
    """Whatever fails in the library, the program runs to its end, and the reason stands there."""

    def test_faults(self):
        for mode in ('device', 'dispatch'):
            for fault, words in (('create', 'aqlprofile answered 0x1000'),
                                 ('extra_device', 'asks for output slot 2 of a trace with 1'),
                                 ('odd_packet', 'form that is not known'),
                                 ('marker', 'aqlprofile answered 0x1000'),
                                 ('iterate', 'aqlprofile answered 0x1000')):
                with self.subTest(mode=mode, fault=fault):
                    result = self.record('--mode', mode, *RECORDED, fault=fault, program='saxpy')
                    self.assertEqual(result.returncode, 125, result.stderr)
                    self.assertIn(words, result.stderr)
                    self.assertEqual(self.summary()['captured'], 0)


def main():
    if not os.path.isdir(f'{DATA}/pm4-golden/gfx90a'):
        print(f'no recorded streams in {DATA}', file=sys.stderr)
        sys.exit(1 if os.environ.get('CI') or os.path.isdir(DATA) else 77)
    support.main()


if __name__ == '__main__':
    main()
