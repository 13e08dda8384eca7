#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""`wavetap soak`, by the real binaries; resources by the software driver's own count.
usage: soak_test.py WAVETAP quick|long"""
import collections
import glob
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import support

SIZE = sys.argv.pop(2)
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SLACK_PER_SLOT = 8 * KIB
GRANULE = 2 * MIB  # the runtime takes device memory from the driver in pieces of this size
LIMIT_SECONDS = 600


def slots_of(mode, largest):
    """Output slots that the plan has for contexts of one buffer."""
    return 2 if mode == 'dispatch' and largest <= 256 * MIB else 1


def read_now(name):
    """What stands in a file of /proc; nothing if it is gone."""
    try:
        with open(name, encoding='utf-8') as file:
            return file.read()
    except OSError:
        return ''


def thread_names(tasks):
    """The names in files of /proc, counted. Those of threads that have ended meanwhile cannot be read, and do not
    count: else a look at a process that ends would have as many as one at all of its threads."""
    return collections.Counter(name for name in (read_now(task).strip() for task in tasks) if name)


class SoakTest(support.WavetapTest):
    def watch(self, process):
        """The names of all threads of a child of `process`, as /proc tells, at the last time that they were most."""
        most = collections.Counter()
        while True:
            for name in glob.glob(f'/proc/{process.pid}/task/*/children'):
                for child in read_now(name).split():
                    now = thread_names(glob.glob(f'/proc/{child}/task/*/comm'))
                    most = now if sum(now.values()) >= sum(most.values()) else most
            try:
                process.wait(timeout=0.01)
                return most
            except subprocess.TimeoutExpired:
                continue

    def soak(self, *options, env=None, status=0):
        """Runs soak with --json and returns its answer, and with it the threads that /proc had."""
        with open(self.path('output'), 'w+', encoding='utf-8') as output:
            with subprocess.Popen(
                    [self.wavetap, 'soak', '--gpu', 'soft:gfx90a', '--force', '-o', 'trace', '--json=soak.json',
                     *options], cwd=self.folder, env=self.environment(env), stdin=subprocess.DEVNULL,
                    stdout=output, stderr=output) as process:
                timer = threading.Timer(LIMIT_SECONDS, process.kill)
                timer.start()
                seen = self.watch(process)
                timer.cancel()
            output.seek(0)
            text = output.read()
        print(text.splitlines()[-1])
        self.assertEqual(process.returncode, status, text)
        with open(self.path('soak.json'), encoding='utf-8') as file:
            answer = json.load(file)
        answer['threads_seen'] = seen
        return answer

    def check_threads(self, answer):
        """No thread but those that wavetap counts itself, one for each agent and one for each slot."""
        seen = dict(answer['threads_seen'])
        ours = sum(seen.pop(name) for name in list(seen) if re.match(r'wavetap-(hub-|out\.)', name))
        self.assertEqual(ours, sum(agent['threads'] for agent in answer['agents']))
        self.assertLessEqual(ours, sum(1 + agent['output_slots'] for agent in answer['agents']))
        # The program's and ROCr's, that for events; a thread without a name of its own would be here, too.
        self.assertEqual(seen, {'softgpu-engine': 1, 'wavetap-soak-pr': 2})

    def check_answer(self, answer, contexts, app_queues, largest, rotations=1, mode='device', window=2):
        """All captured, all verified, and shared resources only."""
        self.assertEqual((answer['format'], answer['version'], answer['good']),
                         ('wavetap-soak', 1, True))
        self.assertEqual(len(answer['contexts']), contexts)
        self.assertEqual(answer['captured'], contexts)
        self.assertEqual(answer['rotated'], contexts)
        self.assertEqual(answer['verified_contexts'], contexts)
        # A window of launches is one trace in device mode, as many traces in dispatch mode.
        runs = rotations * (window if mode == 'dispatch' else 1)
        self.assertEqual([c['runs'] for c in answer['contexts']], [runs] * contexts)
        self.assertEqual(answer['runs_per_context'], runs)
        self.assertEqual(answer['launches'], contexts * window * rotations)
        self.assertEqual(answer['dispatches'], answer['launches'])
        # Each context has waves of its engines in there, at the least.
        self.assertGreater(answer['verify_passed'], contexts * rotations * 8)
        self.assertEqual(answer['verify_failed'], 0)
        driver = answer['driver']
        # In dispatch mode the traces go through the program's own queues.
        queues = 0 if mode == 'dispatch' else 1
        self.assertEqual(driver['queues_by_owner']['wavetap'], queues)
        self.assertEqual(driver['queues_by_owner']['application'], app_queues)
        self.assertEqual((driver['queues_live'], driver['vram_bytes']), (0, 0))
        agent = answer['agents'][0]
        self.assertEqual((agent['contexts'], agent['queues_created']), (contexts, queues))
        self.assertEqual((agent['runs'], agent['starts'], agent['stops']), (contexts * runs,) * 3)
        for name in ('refused', 'bytes_lost', 'gaps', 'deadline_misses'):
            self.assertEqual(agent[name], 0, name)
        # The slot plan of single-buffer contexts: each slot as large as the largest.
        slots = slots_of(mode, largest)
        self.assertEqual(agent['output_slots'], slots)
        self.assertGreaterEqual(agent['output_bytes'], slots * largest)
        self.assertLessEqual(agent['output_bytes'], slots * (largest + SLACK_PER_SLOT))
        self.assertLessEqual(agent['host_bytes_per_idle_context'], 1024)
        self.assertGreater(agent['host_bytes_per_idle_context'], 0)
        self.check_threads(answer)

    def check_streaming(self, answer, contexts, largest):
        """Contexts of 1, 3, 4 and 16 buffers: nothing differs, every one with several flips often, and
        every kind of pause was met and counted."""
        self.assertTrue(answer['good'])
        self.assertEqual((answer['captured'], answer['verified_contexts'], answer['verify_failed']),
                         (contexts, contexts, 0))
        streaming = [c for c in answer['contexts'] if c['buffers'] > 1]
        self.assertEqual({c['buffers'] for c in answer['contexts']}, {1, 3, 4, 16})
        self.assertEqual((answer['streaming'], answer['flipped']), (len(streaming),) * 2)
        for context in streaming:
            self.assertGreaterEqual(context['flips'], 6, context)
        agent = answer['agents'][0]
        for name in ('flips', 'cpu_full', 'gpu_full'):
            self.assertGreater(agent[name], 0, name)
            self.assertGreater(sum(c[name] for c in streaming), 0, name)
        self.assertEqual(agent['gaps'], agent['cpu_full'] + agent['gpu_full'] + agent['halted'])
        for name in ('refused', 'bytes_lost', 'deadline_misses', 'halted'):
            self.assertEqual(agent[name], 0, name)
        self.assertEqual((agent['queues_created'], answer['driver']['queues_by_owner']['wavetap']), (1, 1))
        self.assertEqual(agent['output_slots'], 3)
        self.assertEqual(agent['output_bytes'], 3 * (largest + SLACK_PER_SLOT))
        # Here one that delivers, since chunks come in their order.
        self.check_threads(answer)

    def check_constant(self, once, again):
        for name in ('queues_by_owner', 'queues_peak', 'vram_peak_bytes', 'buffer_objects_peak'):
            self.assertEqual(once['driver'][name], again['driver'][name], name)
        for name in ('output_bytes', 'staging_bytes', 'control_bytes', 'threads', 'queues_created'):
            self.assertEqual(once['agents'][0][name], again['agents'][0][name], name)

    def check_agents(self, answer, agents, contexts, app_queues, largest, mode='device'):
        """Contexts dealt out to agents: each has the slots of the plan, and in device mode one queue, by
        the driver's count too."""
        # In dispatch mode a trace is one launch, and two launches are a turn.
        queues, runs = (0, 2) if mode == 'dispatch' else (1, 1)
        self.assertEqual((answer['good'], answer['captured'], answer['verify_failed']),
                         (True, contexts, 0))
        self.assertEqual([c['agent'] for c in answer['contexts']],
                         [i % agents for i in range(contexts)])
        self.assertEqual([c['runs'] for c in answer['contexts']], [runs] * contexts)
        self.assertEqual(len(answer['agents']), agents)
        self.check_threads(answer)
        slots = slots_of(mode, largest)
        for agent, driver in zip(answer['agents'], answer['driver']['agents']):
            self.assertEqual((agent['contexts'], agent['queues_created'], agent['output_slots']),
                             (contexts // agents, queues, slots))
            self.assertEqual((agent['runs'], agent['refused'], agent['gaps']), (contexts // agents * runs, 0, 0))
            self.assertGreaterEqual(agent['output_bytes'], slots * largest)
            self.assertLessEqual(agent['output_bytes'], slots * (largest + SLACK_PER_SLOT))
            self.assertEqual(driver['queues_by_owner']['wavetap'], queues)
            self.assertEqual(driver['queues_by_owner']['application'], app_queues)
            self.assertEqual((driver['queues_live'], driver['vram_bytes']), (0, 0))
            self.assertGreaterEqual(driver['vram_peak_bytes'], slots * largest)
            self.assertLessEqual(driver['vram_peak_bytes'], slots * largest + 4 * GRANULE)

    def untraced_driver(self, app_queues):
        """The driver's counts of the same program without wavetap."""
        program = os.path.join(os.path.dirname(self.wavetap), 'wavetap-soak-program')
        self.check(self.call('run', '--gpu', 'soft:gfx90a', '--', program, str(app_queues), '4',
                             env={'WAVETAP_DRIVER_DIR': self.folder}), 0)
        with open(glob.glob(self.path('driver-*.json'))[0], encoding='utf-8') as file:
            return json.load(file)

    def check_share(self, answer, app_queues):
        """What the driver counts beyond the untraced program: one queue, the output slots."""
        plain = self.untraced_driver(app_queues)
        self.assertEqual(plain['queues_by_owner']['wavetap'], 0)
        self.assertEqual(answer['driver']['queues_by_owner']['application'],
                         plain['queues_by_owner']['application'])
        more = answer['driver']['vram_peak_bytes'] - plain['vram_peak_bytes']
        agent = answer['agents'][0]
        slot = agent['output_bytes'] // agent['output_slots']  # all alike
        self.assertGreaterEqual(more, agent['output_bytes'])
        self.assertLessEqual(more, agent['output_slots'] * -(-slot // GRANULE) * GRANULE + SLACK_PER_SLOT)


class Quick(SoakTest):
    def test_threads_that_ended_while_they_were_read_do_not_count(self):
        names = [self.write('1', 'wavetap-hub-0\n'), self.write('2', ''), self.path('gone'), self.write('3', 'a\n')]
        self.assertEqual(thread_names(names), {'wavetap-hub-0': 1, 'a': 1})

    FORTY = ('--contexts', '40', '--buffer', '2MiB,1MiB', '--app-queues', '10')

    def test_forty_contexts_and_three_rotations(self):
        once = self.soak(*self.FORTY)
        self.check_answer(once, 40, 10, 2 * MIB)
        self.check_share(once, 10)
        thrice = self.soak(*self.FORTY, '--rotations', '3')
        self.check_answer(thrice, 40, 10, 2 * MIB, rotations=3)
        self.check_constant(once, thrice)

    def test_forty_contexts_and_two_rotations_by_completions(self):
        """Two turns of each: one that ends too late refuses the next one its start."""
        answer = self.soak(*self.FORTY, '--rotations', '2', '--turns', 'completions')
        self.check_answer(answer, 40, 10, 2 * MIB, rotations=2)
        self.assertEqual(answer['turns'], 'completions')

    def test_four_agents(self):
        answer = self.soak('--agents', '4', '--contexts', '40', '--buffer', '2MiB,1MiB', '--app-queues', '5')
        self.check_agents(answer, 4, 40, 5, 2 * MIB)

    def test_four_agents_in_dispatch_mode(self):
        answer = self.soak('--agents', '4', '--contexts', '40', '--buffer', '2MiB,1MiB', '--app-queues', '5',
                           '--mode', 'dispatch')
        self.check_agents(answer, 4, 40, 5, 2 * MIB, 'dispatch')

    def test_forty_contexts_and_three_rotations_in_dispatch_mode(self):
        once = self.soak(*self.FORTY, '--mode', 'dispatch')
        self.check_answer(once, 40, 10, 2 * MIB, mode='dispatch')
        self.check_share(once, 10)
        thrice = self.soak(*self.FORTY, '--mode', 'dispatch', '--rotations', '3')
        self.check_answer(thrice, 40, 10, 2 * MIB, rotations=3, mode='dispatch')
        self.check_constant(once, thrice)

    def test_streaming_of_every_buffer_count(self):
        answer = self.soak('--contexts', '4', '--buffers', '1,3,4,16', '--buffer', '1MiB',
                           '--app-queues', '2')
        self.check_streaming(answer, 4, MIB)
        result = self.call('health', 'trace')
        self.assertIn('overrun', result.stdout)

    def check_apart(self, answer, contexts, words):
        """Shared resources carry every context; resources of each context's own do not."""
        self.assertTrue(answer['good'])
        self.assertEqual(answer['driver']['queues_by_owner']['wavetap'], 1)
        apart = answer['no_sharing']
        self.assertFalse(apart['good'])
        self.assertGreater(apart['captured'], 2)
        self.assertLess(apart['captured'], contexts)
        self.assertEqual(apart['captured'] + apart['refused'], contexts)
        self.assertEqual(len(apart['refusals']), apart['refused'])
        for words_of_one in apart['refusals']:
            self.assertRegex(words_of_one, r'^context [0-9]+ did not start: ' + words)
        # Gone again: no queue and no byte is left behind by the many.
        self.assertEqual((apart['driver']['queues_live'], apart['driver']['vram_bytes']), (0, 0))
        return apart

    def test_no_sharing_runs_out_of_queues(self):
        answer = self.soak('--contexts', '40', '--buffer', '1MiB', '--app-queues', '10', '--no-sharing',
                           env={'WAVETAP_SOFTGPU_QUEUES': '20'}, status=1)
        apart = self.check_apart(answer, 40, r'.*queue')
        self.assertEqual(apart['driver']['queues_by_owner']['wavetap'], apart['captured'])
        self.assertEqual(apart['driver']['queues_peak'], 20)

    def test_no_sharing_runs_out_of_memory(self):
        answer = self.soak('--contexts', '24', '--buffer', '16MiB,8MiB', '--app-queues', '2', '--no-sharing',
                           env={'WAVETAP_SOFTGPU_HBM': '128MiB'}, status=1)
        self.check_apart(answer, 24, r'.*memory')

    def test_no_sharing_with_room_for_all(self):
        answer = self.soak('--contexts', '3', '--buffer', '1MiB', '--app-queues', '1', '--no-sharing')
        self.assertEqual((answer['no_sharing']['captured'], answer['no_sharing']['refusals']), (3, []))
        self.assertEqual(answer['no_sharing']['driver']['queues_by_owner']['wavetap'], 3)

    def test_verify_agrees_and_some_contexts_have_no_instructions(self):
        answer = self.soak('--contexts', '9', '--buffer', '1MiB', '--app-queues', '3')
        result = self.call('verify', 'trace')
        self.check(result, 0)
        self.assertEqual(result.stdout.splitlines()[-1],
                         f"{answer['verify_passed']} passed, 0 failed")
        self.assertEqual(result.stdout.count('without detail'), 1)
        self.assertRegex(result.stdout, r'context 8: .* without detail')

    def test_damaged_trace_is_a_no(self):
        self.soak('--contexts', '2', '--buffer', '1MiB', '--app-queues', '1')
        largest = max(glob.glob(self.path('trace/proc-*/runs/*/*.att')), key=os.path.getsize)
        with open(largest, 'r+b') as file:
            file.seek(os.path.getsize(largest) // 2)
            file.write(b'\0' * 64)
        self.check(self.call('verify', 'trace'), 1)

    def test_contexts_that_are_refused_are_a_no(self):
        answer = self.soak('--contexts', '4', '--buffer', '1MiB,4GiB', '--app-queues', '2', status=1,
                           env={'WAVETAP_SOFTGPU_HBM': '256MiB'})
        self.assertEqual((answer['good'], answer['captured'], answer['rotated']), (False, 2, 2))

    def test_queues_that_do_not_fit_are_worded(self):
        result = self.call('soak', '--contexts', '2', '--buffer', '1MiB', '--app-queues', '20',
                           env={'WAVETAP_SOFTGPU_QUEUES': '10'})
        self.check(result, 1, 'the program ended with 1')
        self.assertIn('hsa_queue_create', result.stderr)

    def test_wrong_use(self):
        for options, error in ((('--mode', 'dispatched'), "'dispatched' is not a mode (--mode)"),
                               (('--contexts', '0'), '--contexts'),
                               (('--app-queues', '0'), '0 is outside 1..1000 (--app-queues)'),
                               (('--rotations', 'x'), '--rotations'),
                               (('--window', '0'), '--window'),
                               (('--contexts', '100000', '--window', '1000000'), 'more than 100000000'),
                               (('--gpu', 'soft:gfx90a,gfx90a', '--agents', '2'), 'several chips'),
                               (('--no-sharing', '--mode', 'dispatch'), 'in device mode only'),
                               (('--turns', 'ends'), "'ends' is nothing that turns go by (--turns)"),
                               (('--turns', 'completions', '--mode', 'dispatch'), 'turns go by launches (--turns)'),
                               (('--agents', '17'), '17 is outside 1..16 (--agents)'),
                               (('--gpu', 'gfx9999'), 'gfx9999')):
            with self.subTest(options=options):
                self.check(self.call('soak', *options), 2, error)
        os.mkdir(self.path('there'))
        self.check(self.call('soak', '-o', 'there'), 2, 'the folder exists already', '--force')

    def test_json_on_stdout_is_only_json(self):
        result = self.call('soak', '--gpu', 'gfx90a', '--contexts', '2', '--buffer', '1MiB', '--json')
        self.check(result, 0)
        self.assertEqual(json.loads(result.stdout)['captured'], 2)
        self.assertIn('soak: good: 2/2 contexts captured', result.stderr)
        self.assertEqual(os.listdir(self.folder), ['wavetap-soak-1'])


class Sweep(SoakTest):
    """A whole GPU, one context for each compute unit, over repeated launches of one kernel."""

    def record(self, sweep, launches, *options, groups=128):
        program = os.path.join(os.path.dirname(self.wavetap), 'wavetap-soak-program')
        self.check(self.call('record', '--gpu', 'soft:gfx90a', '--sweep', sweep, *options, '--buffer', '1MiB',
                             '--truth', '--force', '-o', 'trace', '--', program, '2', str(launches),
                             '1', '1', str(groups)), 0)
        report = json.loads(self.call('report', 'trace', '--by', 'cu', '--json').stdout)
        return report['heat_map'][0], self.call('report', 'trace', '--by', 'cu').stdout

    def test_every_cu(self):
        heat, text = self.record('cu,se', 110, '--mode', 'device', '--window', '1')
        self.check(self.call('verify', 'trace'), 0)
        self.assertEqual((heat['covered'], heat['total'], heat['unit']), (110, 110, 'cu'))
        self.assertIn('agent 0 (gfx90a): 110/110 CUs with instruction detail', text)
        self.assertEqual(len(heat['latency']), 8)
        cells = [cell for engine in heat['latency'] for cell in engine]
        # 8 engines of 14 places, of which 2 are fused off.
        self.assertEqual((len(cells), sum(cell is not None for cell in cells)), (112, 110))
        self.assertTrue(all(cell > 0 for cell in cells if cell is not None))
        self.assertEqual(len([line for line in text.splitlines() if line.startswith('  SE')]), 8)

    def test_cut_short(self):
        # A turn lasts two launches.
        heat, text = self.record('cu,se', 20)
        self.assertEqual((heat['covered'], heat['total']), (10, 110))
        self.assertIn(': 10/110 CUs with instruction detail', text)


class Killed(SoakTest):
    """The program is killed while a trace with several buffers is on its way."""

    def chunks(self):
        """Those of the manifest's whole lines, and the process."""
        for name in glob.glob(self.path('trace/proc-*/manifest.jsonl')):
            with open(name, encoding='utf-8') as file:
                lines = [json.loads(line) for line in file.read().split('\n')[:-1]]
            return [line for line in lines if line['type'] == 'chunk'], int(name.split('proc-')[1].split('/')[0])
        return [], 0

    def record_and_kill(self, count):
        """Killed once `count` chunks of an endless run are there."""
        program = os.path.join(os.path.dirname(self.wavetap), 'wavetap-soak-program')
        with subprocess.Popen(
                [self.wavetap, 'record', '--gpu', 'soft:gfx90a', '--mode', 'device', '--buffers', '3', '--buffer',
                 '1MiB', '--window', '1000', '--truth', '-o', 'trace', '--', program, '1', '1000', '1', '1', '2000'],
                cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True) as record:
            limit = time.monotonic() + support.LIMIT_SECONDS
            while len(self.chunks()[0]) < count and record.poll() is None and time.monotonic() < limit:
                time.sleep(0.005)
            self.assertIsNone(record.poll(), 'it ended by itself')
            self.assertGreaterEqual(len(self.chunks()[0]), count)
            os.kill(self.chunks()[1], signal.SIGKILL)
            _, errors = record.communicate(timeout=support.LIMIT_SECONDS)
            self.assertEqual(record.returncode, 128 + signal.SIGKILL, errors)
            self.assertIn('1 process ended without closing its trace', errors)
            # As health says.
            self.assertIn('wavetap: 0/1 captured', errors)
            self.assertIn('killed: the last bytes are missing', errors)
        with open(self.path('trace/summary.json'), encoding='utf-8') as file:
            summary = json.load(file)
        (context,) = summary['contexts']
        self.assertEqual((summary['captured'], context['captured'], context['runs'], context['killed']),
                         (0, False, 1, 1))
        self.assertGreater(context['bytes'], 1 << 20)

    def check_readable(self):
        chunks, process = self.chunks()
        self.assertFalse(any(chunk['end'] for chunk in chunks))
        result = self.call('verify', 'trace')
        self.check(result, 0)
        self.assertIn(f'note: process {process}: the manifest has no last line; the process was killed', result.stdout)
        self.assertRegex(result.stdout, r'waves +expected [1-9]\d*, matched [1-9]\d*, missing 0, extra 0, differing 0')
        result = self.call('health', 'trace')
        self.assertRegex(result.stdout, r'\n +0 +0 +1 +1 .* killed\n')
        self.assertIn('The program ended before this run was stopped; its last bytes are', result.stdout)
        self.check(self.call('report', 'trace'), 0)
        (engine,) = [blob for line in self.call('decode', 'trace', '--json').stdout.splitlines()
                     for blob in [json.loads(line)] if blob['type'] == 'blob']
        return engine

    def test_between_chunks(self):
        self.record_and_kill(3)
        first = self.check_readable()
        # A chunk that was being written has no line yet.
        process = self.chunks()[1]
        with open(self.path(f'trace/proc-{process}/runs/0/se0.99.att'), 'wb') as file:
            file.write(b'x' * 1000)
        self.assertEqual(self.check_readable(), first)


class OnFull(SoakTest):
    def test_the_run_ends(self):
        """A hub that is kept from looking for four buffers: the trace unit runs out of room in the middle of the run.
        Without the option the trace starts again: see check_streaming()."""
        program = os.path.join(os.path.dirname(self.wavetap), 'wavetap-soak-program')
        self.call('record', '--gpu', 'soft:gfx90a', '--buffers', '3', '--buffer', '1MiB', '--on-full', 'end',
                  '--allow-empty', '-o', 'trace', '--', 'true')
        with open(self.path('trace/tool.json'), encoding='utf-8') as file:
            config = json.load(file)
        config['contexts'][0]['hub_stall'] = 400
        self.write('trace/tool.json', json.dumps(config))
        library = os.path.join(self.build, 'lib', 'libwavetap-tool.so')
        self.check(self.call('run', '--gpu', 'soft:gfx90a', '--', program, '1', '1', '1', '1', '5000', env={
            'HSA_TOOLS_LIB': library, 'WAVETAP_TOOL_CONFIG': self.path('trace/tool.json')}), 0)
        with open(glob.glob(self.path('trace/proc-*/manifest.jsonl'))[0], encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        full = [line['gpu_full'] for line in lines if line['type'] == 'chunk']
        self.assertGreater(len(full), 2)
        self.assertEqual(full.index(True), len(full) - 1)
        (error,) = [line['text'] for line in lines if line['type'] == 'note' and line['severity'] == 'error']
        self.assertIn('run 0 of context 0 is incomplete: the trace buffers were full, which ended the run', error)


class Long(SoakTest):
    LARGE = ('--buffer', '1GiB,512MiB', '--app-queues', '100')
    LIMITS = {'WAVETAP_SOFTGPU_HBM': '64GiB', 'WAVETAP_SOFTGPU_QUEUES': '128'}

    def test_four_hundred_contexts_and_three_rotations(self):
        once = self.soak('--contexts', '400', *self.LARGE, env=self.LIMITS)
        self.check_answer(once, 400, 100, GIB)
        self.check_share(once, 100)
        thrice = self.soak('--contexts', '400', *self.LARGE, '--rotations', '3', env=self.LIMITS)
        self.check_answer(thrice, 400, 100, GIB, rotations=3)
        self.check_constant(once, thrice)

    def test_four_hundred_contexts_by_completions(self):
        answer = self.soak('--contexts', '400', *self.LARGE, '--window', '1', '--turns', 'completions',
                           env=self.LIMITS)
        self.check_answer(answer, 400, 100, GIB, window=1)
        self.assertEqual(answer['turns'], 'completions')

    def test_four_hundred_contexts_on_four_agents(self):
        answer = self.soak('--agents', '4', '--contexts', '400', *self.LARGE, env=self.LIMITS)
        self.check_agents(answer, 4, 400, 100, GIB)
        answer = self.soak('--agents', '4', '--contexts', '400', *self.LARGE, '--mode', 'dispatch',
                           env=self.LIMITS)
        self.check_agents(answer, 4, 400, 100, GIB, 'dispatch')

    def test_four_hundred_contexts_and_three_rotations_in_dispatch_mode(self):
        once = self.soak('--contexts', '400', *self.LARGE, '--mode', 'dispatch', env=self.LIMITS)
        self.check_answer(once, 400, 100, GIB, mode='dispatch')
        self.check_share(once, 100)
        self.assertLess(once['record_seconds'] + once['verify_seconds'], LIMIT_SECONDS)
        thrice = self.soak('--contexts', '400', *self.LARGE, '--mode', 'dispatch', '--rotations', '3',
                           env=self.LIMITS)
        self.check_answer(thrice, 400, 100, GIB, rotations=3, mode='dispatch')
        self.check_constant(once, thrice)

    def test_streaming(self):
        answer = self.soak('--contexts', '8', '--buffers', '1,3,4,16', '--buffer', '1MiB,4MiB',
                           '--app-queues', '10')
        self.check_streaming(answer, 8, 4 * MIB)

    def test_streaming_of_two_engines_at_once(self):
        answer = self.soak('--contexts', '8', '--buffers', '1,3,4,16', '--buffer', '1MiB,2MiB',
                           '--stream-engines', '--app-queues', '10')
        self.check_streaming(answer, 8, 2 * MIB)

    def test_four_hundred_contexts_apart(self):
        answer = self.soak('--contexts', '400', *self.LARGE, '--no-sharing', env=self.LIMITS, status=1)
        apart = answer['no_sharing']
        self.assertTrue(answer['good'])
        # 128 queues, 100 of the application: the runtime's own and these are all there is.
        self.assertLess(apart['captured'], 28)
        self.assertRegex(apart['refusals'][0], 'queue')
        many_queues = dict(self.LIMITS, WAVETAP_SOFTGPU_QUEUES='1000')
        answer = self.soak('--contexts', '400', *self.LARGE, '--no-sharing', env=many_queues, status=1)
        apart = answer['no_sharing']
        self.assertTrue(answer['good'])
        # 64 GiB hold at most 85 contexts of 1 GiB and 512 MiB by turns.
        self.assertLess(apart['captured'], 90)
        self.assertRegex(apart['refusals'][0], 'memory')

    def test_two_thousand_contexts(self):
        few = self.soak('--contexts', '8', *self.LARGE, env=self.LIMITS)
        many = self.soak('--contexts', '2000', *self.LARGE, env=self.LIMITS)
        self.check_answer(many, 2000, 100, GIB)
        # 1,992 more idle contexts cost neither device memory nor queues nor threads.
        self.check_constant(few, many)

    def test_two_thousand_contexts_in_dispatch_mode(self):
        once = (*self.LARGE, '--mode', 'dispatch', '--window', '1')
        few = self.soak('--contexts', '8', *once, env=self.LIMITS)
        many = self.soak('--contexts', '2000', *once, env=self.LIMITS)
        self.check_answer(many, 2000, 100, GIB, mode='dispatch', window=1)
        self.check_constant(few, many)


if __name__ == '__main__':
    for name in ['Long'] if SIZE == 'quick' else ['Quick', 'Sweep', 'Killed', 'OnFull']:
        del globals()[name]
    support.main()
