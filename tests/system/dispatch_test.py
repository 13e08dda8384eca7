# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Dispatch mode: real HIP programs on the software GPU, recorded and verified with the real binaries.
usage: dispatch_test.py WAVETAP PROGRAMS-FOLDER quick|long"""
import glob
import os
import subprocess
import sys
import unittest

import record_test
import truth
from record_test import LIMIT_SECONDS


class Dispatch(record_test.RecordTest):
    """The helpers of the device-mode tests; their test methods are not run here."""

    def trace_dispatches(self, options, program, env=None):
        return self.record(['--mode', 'dispatch', '--force', *options], program, env)

    def verify(self, status=0):
        """Returns what it says about contexts."""
        result = subprocess.run([self.wavetap, 'verify', self.trace], capture_output=True,
                                text=True, timeout=LIMIT_SECONDS)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        if status == 0:
            self.assertIn(' 0 failed', result.stdout)
        return result.stdout

    def check_every_launch(self, launches, waves):
        """Each launch is a run of its own, and every wave and instruction of it is there."""
        self.assertEqual(len(self.check_complete(launches)), launches)
        self.check_runs_of_one_dispatch()
        self.check_statistics(launches)
        said = self.verify()
        self.assertIn(f'{launches} runs: good', said)
        self.assertIn(f'expected {waves}, matched {waves}, missing 0, extra 0, differing 0', said)
        self.assertRegex(said, r'instructions +expected [1-9]')

    def queues_program(self, case, count):
        return ['hsa_queues', os.path.join(self.programs, 'fill.elf'), case, str(count)]

    def check_launches_traced(self, launches):
        result = self.trace_dispatches(['--every-launch', '--cu', '0', '--buffer', '1MiB'],
                                       ['launches', str(launches)])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f'launches: 1 x {launches}, all equal', result.stdout)
        self.check_every_launch(launches, 2 * launches)

    def check_batches_traced(self, launches):
        result = self.trace_dispatches(['--every-launch', '--cu', '0', '--buffer', '1MiB'],
                                       self.queues_program('batch', launches))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f'hsa_queues: batch {launches}, all equal', result.stdout)
        self.check_every_launch(launches, launches)
        # The program is faster than the GPU: with seven packets each they do not all fit into the ring.
        self.assertGreater(self.agent_statistics()['ring_waits'], 0)

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

    def check_statistics(self, leases, slots=2):
        statistics = self.agent_statistics()
        self.assertEqual((statistics['starts'], statistics['stops']), (leases, leases))
        self.assertEqual((statistics['backend'], statistics['packets']), ('rocr', 'own'))
        # The application's own queues carry the traces.
        self.assertEqual(statistics['queues_created'], 0)
        # Two slots: a dispatch runs while the data of the one before are on their way.
        self.assertEqual(statistics['output_slots'], slots if leases > 0 else 0)
        self.assertEqual(statistics['threads'], 2)
        self.assertEqual((statistics['refused'], statistics['bytes_lost'], statistics['gaps'],
                          statistics['deadline_misses']), (0, 0, 0, 0))
        self.assertEqual((statistics['ring_crowded'], statistics['ring_full']), (0, 0))


class Quick(Dispatch):
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

    # The intercept queue must not overflow, however far the program runs ahead.

    def test_launches_without_waiting_traced(self):
        self.check_launches_traced(2000)

    def test_doorbells_for_sixteen_packets_traced(self):
        self.check_batches_traced(1000)

    def test_as_many_launches_as_the_queue_was_asked_for_behind_a_barrier(self):
        # The host lets the barrier go only when all of them are enqueued: nobody may wait for room.
        result = self.trace_dispatches(['--every-launch', '--cu', '0', '--buffer', '1MiB'],
                                       self.queues_program('held', 250))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_every_launch(250, 250)
        self.assertEqual(self.agent_statistics()['ring_waits'], 0)

    def test_thirty_thousand_doorbells_for_sixteen_packets_declined(self):
        result = self.trace_dispatches(['--kernel', 'no_such_kernel', '--allow-empty'],
                                       self.queues_program('batch', 30000))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('hsa_queues: batch 30000, all equal', result.stdout)
        self.assertEqual(len(self.lines('dispatch')), 30000)
        self.assertEqual(self.lines('run_begin'), [])

    def test_thirty_thousand_launches_without_waiting_no_match(self):
        result = self.trace_dispatches(['--kernel', 'no_such_kernel', '--allow-empty'],
                                       ['launches', '30000'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('launches: 1 x 30000, all equal', result.stdout)
        self.assertEqual(self.lines('run_begin'), [])

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

    # Queues: destroyed at once, in error, stuck. The program's own results stay right.

    def test_queues_that_are_destroyed_when_the_signal_has_fired(self):
        result = self.trace_dispatches(['--every-launch', '--cu', '0', '--buffer', '1MiB'],
                                       self.queues_program('destroy', 40))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_every_launch(40, 40)
        self.assertNotIn('leak', result.stderr)

    def test_two_queues(self):
        result = self.trace_dispatches(['--every-launch', '--cu', '0', '--buffer', '1MiB'],
                                       self.queues_program('pair', 100))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_every_launch(200, 200)

    # Dispatches that are not traced take turns, too, if that is asked for.

    def check_serialized(self, options, traced, serialized):
        """Returns how many pairs of dispatches ran beside each other: in one queue, in two."""
        launches = 6
        result = self.trace_dispatches(['--buffer', '1MiB', *options],
                                       self.queues_program('beside', launches))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f'hsa_queues: beside {launches}, all equal', result.stdout)
        self.assertEqual([line['serialize_all'] for line in self.lines('context')],
                         ['--serialize-all' in options])
        statistics = self.agent_statistics()
        self.assertEqual((statistics['starts'], statistics['serialized']), (traced, serialized))
        if traced:
            self.verify()
        log, = glob.glob(os.path.join(self.trace, 'truth-*.bin'))
        times = truth.dispatch_times(log)
        self.assertEqual(len(times), 2 * launches)
        return truth.overlaps(times)

    def test_declined_dispatches_run_beside_each_other(self):
        same, other = self.check_serialized(['--kernel', 'no_such_kernel', '--allow-empty'], 0, 0)
        self.assertGreater(same, 0)
        self.assertGreater(other, 0)
        self.assertGreater(self.check_serialized([], 1, 0)[0], 0)

    def test_declined_dispatches_take_turns_with_serialize_all(self):
        self.assertEqual(self.check_serialized(['--serialize-all'], 1, 11), (0, 0))
        # None of them has a kernel that is to be traced.
        none = ['--serialize-all', '--kernel', 'no_such_kernel', '--allow-empty']
        self.assertEqual(self.check_serialized(none, 0, 12), (0, 0))

    # A slow tool: the next dispatch has another slot, if the slots are not too large.

    def test_the_next_dispatch_runs_while_a_chunk_is_stored(self):
        program = ['hsa_paired', os.path.join(self.programs, 'fill.elf')]
        for buffer, how, slots in (('1MiB', 'two', 2), ('256MiB', 'two', 2), ('257MiB', 'one', 1)):
            with self.subTest(buffer):
                result = self.trace_dispatches(['--every-launch', '--cu', '0', '--buffer', buffer],
                                               [*program, how])
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertEqual(len(self.check_complete(3)), 3)
                self.check_runs_of_one_dispatch([0, 0, 0])
                self.check_statistics(3, slots)
                self.verify()

    def check_one_lost(self, launches):
        """Of the launches that ran, the one with the fault is not in the trace."""
        said = self.verify(1)
        self.assertIn(f'waves         expected {launches}, matched {launches - 1}, missing 1, '
                      'extra 0, differing 0', said)
        statistics = self.agent_statistics()
        self.assertEqual((statistics['queues_created'], statistics['gaps']), (1, 1))
        self.assertEqual(self.lines()[-1]['type'], 'finish')

    def test_a_queue_in_error_ends_its_leases(self):
        result = self.trace_dispatches(['--every-launch', '--cu', '0', '--buffer', '1MiB'],
                                       self.queues_program('illegal', 4))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('queue error', result.stdout)
        self.assertIn('hsa_queues: illegal 4, all equal', result.stdout)
        self.assertIn("the dispatch's queue ended before its trace did", result.stderr)
        self.check_one_lost(13)
        self.assertNotIn('leak', result.stderr)

    def test_a_queue_with_a_memory_fault_ends_its_leases(self):
        # The end of the queue waits for its leases; nothing tells that they never come.
        result = self.trace_dispatches(['--every-launch', '--cu', '0', '--buffer', '1MiB'],
                                       self.queues_program('fault', 4),
                                       {'WAVETAP_DEADLINE_SCALE': '0.1'})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('hsa_queues: fault 4, all equal', result.stdout)
        self.assertIn('a queue ended with traced dispatches in it', result.stderr)
        self.check_one_lost(9)

    def test_a_queue_that_is_destroyed_before_its_dispatch_can_run(self):
        result = self.trace_dispatches(['--every-launch', '--cu', '0', '--buffer', '1MiB'],
                                       self.queues_program('stuck', 3),
                                       {'WAVETAP_DEADLINE_SCALE': '0.1'})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('hsa_queues: stuck 3, all equal', result.stdout)
        self.assertIn('a queue ended with traced dispatches in it', result.stderr)
        self.check_statistics(6)
        self.verify()

    def test_deadlines_that_cannot_be_kept_leave_the_program_alone(self):
        # Some step of the tool is late, which one depends on the machine; the program must not notice.
        for scale in ('0.001', '0.0001', '0.00001'):
            with self.subTest(scale):
                result = self.trace_dispatches(
                    ['--every-launch', '--buffer', '1MiB', '--allow-empty'],
                    ['hsa_launch', os.path.join(self.programs, 'fill.elf'), '60'],
                    {'WAVETAP_DEADLINE_SCALE': scale})
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn('hsa_launch: 60 launches, all equal', result.stdout)
                self.assertEqual(len(self.lines('dispatch')), 60)
                self.assertEqual(self.lines()[-1]['type'], 'finish')
        errors = [n['text'] for n in self.lines('note') if n['severity'] == 'error']
        self.assertGreater(len(errors), 0)

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
        self.assertRegex(errors[0], 'no 4 GiB .*device memory')


class Long(Dispatch):
    def test_thirty_thousand_launches_without_waiting_traced(self):
        self.check_launches_traced(30000)

    def test_thirty_thousand_in_doorbells_for_sixteen_packets_traced(self):
        self.check_batches_traced(30000)


if __name__ == '__main__':
    record_test.RecordTest.wavetap = os.path.abspath(sys.argv[1])
    record_test.RecordTest.programs = os.path.abspath(sys.argv[2])
    wanted = {'quick': Quick, 'long': Long}[sys.argv[3]]
    if wanted is Long:
        record_test.LIMIT_SECONDS = LIMIT_SECONDS = 600
    suite = unittest.TestSuite()
    for name in unittest.defaultTestLoader.getTestCaseNames(wanted):
        if name in vars(wanted):
            suite.addTest(wanted(name))
    outcome = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if outcome.wasSuccessful() and outcome.testsRun > 0 else 1)
