#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Record, read and verify a HIP program on the software GPU, by the real binaries; then every reader
on damaged copies of the trace. usage: trace_test.py WAVETAP EXAMPLES"""
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import support

SOFT = ('--gpu', 'soft:gfx90a')
READERS = ('health', 'verify', 'report', 'decode')
EXAMPLES = os.path.abspath(sys.argv.pop(2))


class TraceTest(support.WavetapTest):
    """One recording for all tests; each gets a copy of its own."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.mkdtemp(prefix='wavetap-trace-')
        cls.addClassCleanup(shutil.rmtree, cls.kept)
        cls.recorded = subprocess.run(
            [cls.wavetap, 'record', *SOFT, '--contexts', '2', '--buffer', '64MiB', '--truth', '-o',
             cls.kept + '/trace', '--', EXAMPLES + '/saxpy'],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=support.LIMIT_SECONDS)

    def setUp(self):
        super().setUp()
        self.assertEqual(self.recorded.returncode, 0, self.recorded.stdout + self.recorded.stderr)
        shutil.copytree(self.kept + '/trace', self.path('trace'))

    def manifest(self):
        return glob.glob(self.path('trace/proc-*/manifest.jsonl'))[0]

    def change_manifest(self, change):
        with open(self.manifest(), encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        with open(self.manifest(), 'w', encoding='utf-8') as file:
            file.write(''.join(json.dumps(line) + '\n' for line in change(lines)))

    def largest_att(self):
        return max(glob.glob(self.path('trace/proc-*/runs/*/*.att')), key=os.path.getsize)


class Whole(TraceTest):
    def test_record_says_what_it_did(self):
        self.assertIn('2/2 captured', self.recorded.stderr)
        self.assertIn('timing: modelled', self.recorded.stderr)
        with open(self.path('trace/summary.json'), encoding='utf-8') as file:
            summary = json.load(file)
        self.assertEqual(summary['captured'], 2)
        # Dispatch mode: the traces go through the program's own queues.
        self.assertEqual(summary['driver']['queues_by_owner']['wavetap'], 0)
        agent = summary['agents'][0]
        # Two slots: a dispatch runs while the data of the one before are on their way.
        self.assertEqual((agent['queues_created'], agent['output_slots']), (0, 2))
        self.assertEqual([context['runs'] for context in summary['contexts']], [1, 1])
        self.assertEqual(agent['refused'], 0)

    def test_verify_is_complete(self):
        result = self.call('verify', 'trace')
        self.check(result, 0)
        self.assertRegex(result.stdout.splitlines()[-1], r'^[\d,]+ passed, 0 failed$')
        answer = json.loads(self.call('verify', 'trace', '--json').stdout)
        self.assertEqual((answer['format'], answer['version']), ('wavetap-verify', 1))

    def test_health_is_good(self):
        self.check(self.call('health', 'trace', '--strict'), 0)
        answer = json.loads(self.call('health', 'trace', '--json').stdout)
        self.assertEqual((answer['format'], answer['version']), ('wavetap-health', 1))

    def test_report_shows_the_kernel_and_its_lines(self):
        for view in ('inst', 'line', 'kernel', 'wave', 'cu'):
            result = self.call('report', 'trace', '--by', view)
            self.check(result, 0)
            self.assertIn('modelled', result.stdout)
            answer = json.loads(self.call('report', 'trace', '--by', view, '--json').stdout)
            self.assertEqual((answer['format'], answer['version']), ('wavetap-report', 1))
        self.assertIn('saxpy', self.call('report', 'trace', '--by', 'kernel').stdout)
        self.assertIn('saxpy.hip', self.call('report', 'trace', '--by', 'line').stdout)

    def test_decode_shows_what_report_counts(self):
        instructions = self.call('decode', 'trace', '--insts', '--json')
        self.check(instructions, 0)
        lines = [json.loads(line) for line in instructions.stdout.splitlines()]
        shown = sum(line['type'] == 'instruction' for line in lines)
        report = json.loads(self.call('report', 'trace', '--by', 'wave', '--json').stdout)
        self.assertGreater(shown, 0)
        self.assertIn(f'"instructions":{shown}', json.dumps(report).replace(' ', ''))
        self.assertTrue(any('s_endpgm' in line.get('text', '') for line in lines))
        for view in ('--tokens', '--events', '--waves', '--golden'):
            self.check(self.call('decode', 'trace', view), 0)
            self.check(self.call('decode', self.largest_att(), view), 0)

    def test_newest_folder_is_the_default(self):
        os.rename(self.path('trace'), self.path('wavetap-saxpy-1'))
        os.mkdir(self.path('wavetap-empty'))
        os.utime(self.path('wavetap-empty'), (0, 0))
        for reader in READERS:
            result = self.call(reader)
            self.check(result, 0)
            self.assertIn('reading wavetap-saxpy-1', result.stderr)


class Damaged(TraceTest):
    def each_reader(self, status, error, hint=None, readers=READERS):
        for reader in readers:
            with self.subTest(reader=reader):
                self.check(self.call(reader, 'trace'), status, error, hint)

    def test_no_folder(self):
        for reader in READERS:
            self.check(self.call(reader), 2, 'there is no wavetap-*/ here', 'wavetap record')
            if reader != 'decode':
                self.check(self.call(reader, 'none'), 2, 'there is no such folder (none)',
                           'wavetap record')
                self.check(self.call(reader, self.largest_att()), 2, 'this is not a folder')
        self.check(self.call('decode', 'none'), 2, 'there is no such file (none)')
        os.mkdir(self.path('empty'))
        for reader in READERS:
            self.check(self.call(reader, 'empty'), 2, 'there is no trace in this folder (empty)')

    def test_corrupt_manifest(self):
        with open(self.manifest(), 'r+b') as file:
            file.readline()
            file.write(b'?')
        self.each_reader(2, 'manifest.jsonl:2)', 'record again')

    def test_manifest_of_a_newer_version(self):
        self.change_manifest(lambda lines: [{**lines[0], 'version': 2}, *lines[1:]])
        self.each_reader(2, 'trace folder version 2', 'newer')

    def test_path_that_leaves_the_folder(self):
        self.change_manifest(lambda lines: [
            {**line, 'file': '../../../etc/passwd'} if line['type'] == 'chunk' else line
            for line in lines])
        self.each_reader(2, 'does not stay below the process folder')

    def test_every_cut_of_the_manifest_is_read(self):
        with open(self.manifest(), 'rb') as file:
            text = file.read()
        for cut in range(len(text) - 1, 0, -max(1, len(text) // 7)):
            with open(self.manifest(), 'wb') as file:
                file.write(text[:cut])
            for reader in READERS:
                result = self.call(reader, 'trace')
                self.assertIn(result.returncode, (0, 1, 2), reader)
                self.assertNotIn('internal', result.stderr)

    def test_truncated_att(self):
        path = self.largest_att()
        os.truncate(path, os.path.getsize(path) // 2)
        self.check(self.call('verify', 'trace'), 1)
        self.check(self.call('health', 'trace', '--strict'), 1)
        self.check(self.call('report', 'trace'), 0)
        self.check(self.call('decode', 'trace'), 2, 'bytes, the manifest says', 'cut or altered')
        self.check(self.call('decode', path, '--insts'), 0)  # a file alone: what is there is shown
        os.truncate(path, 4)
        self.check(self.call('decode', path), 2, os.path.basename(path))

    def test_missing_att(self):
        os.remove(self.largest_att())
        self.check(self.call('verify', 'trace'), 1)
        self.check(self.call('health', 'trace', '--strict'), 1)
        self.check(self.call('decode', 'trace'), 2, 'a file that is not there')

    def test_missing_code_object(self):
        for path in glob.glob(self.path('trace/proc-*/code/*.elf')):
            os.remove(path)
        self.check(self.call('verify', 'trace'), 2)
        for reader in ('health', 'report', 'decode'):
            result = self.call(reader, 'trace')
            self.check(result, 0)
            self.assertIn('.elf', result.stdout + result.stderr)

    def test_missing_truth(self):
        for path in glob.glob(self.path('trace/truth-*')):
            os.remove(path)
        self.check(self.call('verify', 'trace'), 2, 'truth', '--truth')

    def test_wrong_use(self):
        self.check(self.call('report', 'trace', '--by', 'moon'), 2, "'moon'")
        self.check(self.call('decode', 'trace', '--tokens', '--waves'), 2, 'more than one view')
        self.check(self.call('decode', 'trace', '--base', '0'), 2, '--code and --base')
        att = self.largest_att()
        self.check(self.call('decode', att, '--base', '0'), 2, '--base without --code (--base)')
        self.check(self.call('decode', att, '--code', 'none.elf'), 2, 'none.elf')
        self.check(self.call('decode', att, '--code', att), 2, os.path.basename(att))
        os.mkfifo(self.path('pipe'))
        self.check(self.call('decode', 'pipe'), 2, 'not a regular file (pipe)')


class Streamed(support.WavetapTest):
    """A trace with several buffers, which pauses: engines have segments of several chunks."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.mkdtemp(prefix='wavetap-trace-')
        cls.addClassCleanup(shutil.rmtree, cls.kept)
        cls.recorded = subprocess.run(
            [cls.wavetap, 'record', *SOFT, '--mode', 'device', '--buffers', '3', '--buffer', '1MiB',
             '--se', '0xff', '--stream-engines', '-o', cls.kept + '/trace', '--', EXAMPLES + '/matmul'],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=support.LIMIT_SECONDS)

    def setUp(self):
        super().setUp()
        self.assertEqual(self.recorded.returncode, 0, self.recorded.stdout + self.recorded.stderr)
        os.symlink(self.kept + '/trace', self.path('trace'))

    def segments(self):
        """(engine, number of the segment) -> files, as the manifest tells them."""
        found, ended = {}, {}
        with open(glob.glob(self.path('trace/proc-*/manifest.jsonl'))[0], encoding='utf-8') as file:
            for line in map(json.loads, file):
                if line['type'] != 'chunk':
                    continue
                engine = line['se']
                found.setdefault((engine, ended.get(engine, 0)), []).append(line['file'])
                ended[engine] = ended.get(engine, 0) + (1 if line['end'] else 0)
        return found

    def blobs(self, folder):
        """What `decode --insts` says of each blob: rows without the file's name."""
        result = self.call('decode', folder, '--insts', '--json')
        self.check(result, 0)
        blobs = []
        for line in map(json.loads, result.stdout.splitlines()):
            if line['type'] == 'blob':
                blobs.append([])
                del line['file']
            blobs[-1].append(line)
        return blobs

    def test_there_are_segments_of_several_chunks(self):
        segments = self.segments()
        self.assertEqual({engine for engine, _ in segments}, set(range(8)))
        # How often the trace pauses depends on how fast the machine takes the chunks away.
        print(len(segments), 'segments of', sum(len(files) for files in segments.values()), 'chunks')
        self.assertTrue(any(len(files) > 2 for files in segments.values()))
        blobs = self.blobs('trace')
        self.assertEqual(len(blobs), len(segments))
        self.assertGreater(sum(line['type'] == 'instruction' for blob in blobs for line in blob), 1000)

    def test_att_folder_reads_back_to_the_same_records(self):
        self.check(self.call('export', 'trace', '--to', 'att', '-o', 'raw'), 0)
        process = glob.glob(self.path('trace/proc-*'))[0]
        joined = []
        for files in self.segments().values():
            joined.append(b''.join(pathlib.Path(process, name).read_bytes() for name in files))
        written = [path.read_bytes() for path in pathlib.Path(self.path('raw')).glob('*.att')]
        self.assertTrue(sorted(written) == sorted(joined), 'the bytes of the segments differ')
        want = sorted(json.dumps(blob) for blob in self.blobs('trace'))
        got = sorted(json.dumps(blob) for blob in self.blobs('raw'))
        self.assertTrue(got == want, 'the records differ')  # their difference would be megabytes

    def test_rcv_folders_hold_the_waves_of_the_source(self):
        result = self.call('export', 'trace', '--to', 'rcv', '-o', 'ui')
        self.check(result, 0)
        folders = glob.glob(self.path('ui/ui_output_*'))
        segments = self.segments()
        self.assertEqual(len(folders), 1 + max(number for _, number in segments))
        got = []
        for folder in folders:
            def read(name, at=folder):
                with open(os.path.join(at, name), encoding='utf-8') as file:
                    return json.load(file)
            lines = {row[2]: row for row in read('code.json')['code']}
            for name in (os.path.basename(path) for path in glob.glob(folder + '/se*_wv*.json')):
                wave = read(name)['wave']
                got.append([wave['begin'], wave['end'], wave['cu'], wave['simd'], wave['slot'],
                            [[time, duration, lines[line][4], lines[line][5]]
                             for time, _, _, duration, line in wave['instructions']]])
        want = []
        for blob in self.blobs('trace'):
            for line in blob:
                if line['type'] == 'wave':
                    want.append([line['start'], line['end'], line['cu'], line['simd'], line['slot'], []])
                elif line['type'] == 'instruction':
                    want[-1][5].append([line['time'], line['duration'], line['code_object'],
                                        line['elf_address']])
        self.assertGreater(len(want), 10)
        self.assertTrue(any(row[2] != 0 for wave in want for row in wave[5]), 'no known code')
        self.assertTrue(sorted(got) == sorted(want), 'waves or their instructions differ')


if __name__ == '__main__':
    support.main()
