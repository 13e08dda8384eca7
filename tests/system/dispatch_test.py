# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Dispatch mode: real HIP programs on the software GPU, recorded and verified with the real binaries.
usage: dispatch_test.py WAVETAP PROGRAMS-FOLDER"""
import os
import subprocess
import sys
import unittest

import record_test
from record_test import LIMIT_SECONDS


class DispatchTest(record_test.RecordTest):
    """The helpers of the device-mode tests; their test methods are not run here."""

    def trace_dispatches(self, options, program, env=None):
        return self.record(['--mode', 'dispatch', '--force', *options], program, env)

    def verify(self):
        result = subprocess.run([self.wavetap, 'verify', self.trace], capture_output=True,
                                text=True, timeout=LIMIT_SECONDS)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(' 0 failed', result.stdout)

    def check_runs_of_one_dispatch(self, contexts=None):
        begun, ended = self.lines('run_begin'), self.lines('run_end')
        self.assertEqual([line['run'] for line in begun], [line['run'] for line in ended])
        for line in ended:
            self.assertEqual(line['first_dispatch'], line['last_dispatch'])
        for line in self.lines('context'):
            self.assertEqual(line['mode'], 'dispatch')
        if contexts is not None:
            self.assertEqual([line['context'] for line in begun], contexts)
        kernels = {line['dispatch']: line['kernel'] for line in self.lines('dispatch')}
        return [kernels[line['first_dispatch']] for line in begun]

    def check_statistics(self, leases):
        statistics = self.agent_statistics()
        self.assertEqual((statistics['starts'], statistics['stops']), (leases, leases))
        # The application's own queues carry the traces.
        self.assertEqual(statistics['queues_created'], 0)
        self.assertEqual(statistics['output_slots'], 1)
        self.assertEqual((statistics['refused'], statistics['bytes_lost'], statistics['gaps'],
                          statistics['deadline_misses']), (0, 0, 0, 0))

    def test_examples_one_and_two_contexts(self):
        for program in ('saxpy', 'matmul', 'reduce', 'histogram'):
            for options in ([], ['--contexts', '2', '--window', '1']):
                with self.subTest(program=program, options=options):
                    result = self.trace_dispatches(['--buffer', '4MiB', *options],
                                                   ['../../examples/' + program])
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertIn('all equal', result.stdout)
                    self.assertEqual(self.lines()[-1]['type'], 'finish')
                    names = self.check_runs_of_one_dispatch()
                    if not options:
                        self.assertEqual(len(names), len(set(names)))
                    self.check_statistics(len(names))
                    self.verify()

    def test_first_launch_in_each_context(self):
        result = self.trace_dispatches(['--contexts', '8', '--buffer', '1MiB'],
                                       ['launches', '40'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('8/8 captured', result.stderr)
        self.check_complete(40)
        self.check_runs_of_one_dispatch(list(range(8)))
        self.check_statistics(8)

    def test_two_streams_that_wait_for_each_other(self):
        result = self.trace_dispatches(['--contexts', '3', '--every-launch', '--buffer', '1MiB'],
                                       ['streams', '8'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('16 launches, all equal', result.stdout)
        names = self.check_runs_of_one_dispatch()
        self.assertEqual(len(names), 16)
        self.check_statistics(16)
        self.verify()

    def test_four_threads_that_never_wait(self):
        result = self.trace_dispatches(['--contexts', '5', '--every-launch', '--buffer', '1MiB'],
                                       ['launches', '30', '4'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('launches: 4 x 30, all equal', result.stdout)
        self.check_complete(120)
        self.check_statistics(120)

    def test_kernel_expression(self):
        result = self.trace_dispatches(['--kernel', '^plus', '--every-launch'], ['streams', '4'])
        self.assertEqual(result.returncode, 0, result.stderr)
        names = self.check_runs_of_one_dispatch()
        self.assertEqual(len(names), 4)
        for name in names:
            self.assertIn('plus', name)
        self.verify()

    def test_thirty_thousand_launches_without_waiting_declined(self):
        result = self.trace_dispatches(['--buffer', '1MiB'], ['launches', '30000'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('launches: 1 x 30000, all equal', result.stdout)
        self.check_complete(30000)
        self.check_statistics(1)

    def test_every_way_to_end(self):
        for how, status in (('return', 0), ('exit', 3), ('fork', 0)):
            with self.subTest(how):
                result = self.trace_dispatches(['--every-launch', '--buffer', '1MiB'],
                                               ['ending', how])
                self.assertEqual(result.returncode, status, result.stderr)
                self.check_complete(6)
                self.assertEqual(len(self.check_runs_of_one_dispatch()), 6)
        for how, status in (('_exit', 4), ('kill', 137), ('segv', 139), ('gpu-fault', 134)):
            with self.subTest(how):
                result = self.trace_dispatches(['--every-launch', '--buffer', '1MiB'],
                                               ['ending', how])
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn('without closing its trace', result.stderr)
                self.assertNotIn('finish', [line['type'] for line in self.lines()])

    def test_hsa_program_that_destroys_its_queue_and_shuts_down(self):
        result = self.trace_dispatches(['--contexts', '3', '--every-launch', '--buffer', '1MiB'],
                                       ['hsa_launch', os.path.join(self.programs, 'fill.elf'),
                                        '12'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.check_complete(12)), 12)
        # ROCr says so when it is shut down with signals left.
        self.assertNotIn('leak', result.stderr)

    def test_a_slot_that_does_not_fit(self):
        result = self.trace_dispatches(['--contexts', '2', '--buffer', '1MiB,4GiB', '--window',
                                        '1', '--every-launch'],
                                       ['ending', 'return'], {'WAVETAP_SOFTGPU_HBM': '256MiB'})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('1/2 captured', result.stderr)
        self.assertIn('all equal', result.stdout)
        self.check_runs_of_one_dispatch([0, 0, 0])
        errors = [n['text'] for n in self.lines('note') if n['severity'] == 'error']
        self.assertEqual(len(errors), 1)
        self.assertIn('no 4 GiB of device memory', errors[0])


if __name__ == '__main__':
    record_test.RecordTest.wavetap = os.path.abspath(sys.argv[1])
    record_test.RecordTest.programs = os.path.abspath(sys.argv[2])
    suite = unittest.TestSuite()
    for name in unittest.defaultTestLoader.getTestCaseNames(DispatchTest):
        if name in vars(DispatchTest):
            suite.addTest(DispatchTest(name))
    outcome = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if outcome.wasSuccessful() and outcome.testsRun > 0 else 1)
