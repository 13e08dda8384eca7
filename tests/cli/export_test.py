#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Folders of other tools in, files of other tools out, pieces of traces; by the real binary on real
hardware traces. usage: export_test.py WAVETAP DATA"""
import collections
import csv
import io
import json
import os
import pathlib
import re
import shutil
import sys

import support

GIVEN = sys.argv.pop(2)
DATA = pathlib.Path(os.environ.get('WAVETAP_DATA') or GIVEN) / 'traces'
ARCHES = ('gfx950', 'gfx1100', 'gfx1200')
CATEGORY = ['NONE', 'SMEM', 'SALU', 'VMEM', 'FLAT', 'LDS', 'VALU', 'JUMP', 'NEXT', 'IMMED', 'TRAP',
            'MSG', 'BVH']


class RealTest(support.WavetapTest):
    def lines(self, *arguments):
        result = self.call(*arguments, '--json')
        self.check(result, 0)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def rocprof_folder(self, arch, name):
        """A launch, as rocprofv3 would have left it."""
        launch = DATA / arch / 'gemm_0'
        host = pathlib.Path(self.path(name)) / 'host'
        host.mkdir(parents=True)
        for se in (0, 1):
            shutil.copy(launch / f'se{se}.att', host / f'9_4_shader_engine_{se}_12.att')
        shutil.copy(launch / 'code.elf', host / f'9_{arch}_code_object_id_2.out')
        base = int(json.loads((launch / 'meta.json').read_text())['load_base'], 16)
        (host / '9_results.json').write_text(json.dumps({'rocprofiler-sdk-tool': [{
            'agents': [{'id': {'handle': 4}, 'name': arch}], 'strings': {},
            'code_objects': [{'code_object_id': 2, 'load_base': base, 'load_size': 1 << 14}]}]}))
        return name


class Golden(RealTest):
    # What the golden files' maker knew from elsewhere, or counted in a way of its own.
    OTHER = {'blob', 'stitch', 'tokens_starting_at_least_8_bytes_before_end', 'unmapped_inst_codes',
             'first_payload_time'}

    def test_the_command_prints_what_the_golden_files_say(self):
        for arch in ARCHES:
            launch = DATA / arch / 'gemm_0'
            base = json.loads((launch / 'meta.json').read_text())['load_base']
            result = self.call('decode', str(launch / 'se0.att'), '--golden', '--code',
                               str(launch / 'code.elf'), '--base', base)
            self.check(result, 0)
            got = json.loads(result.stdout)
            want = json.loads((launch / 'se0.golden.json').read_text())
            self.assertGreater(sum(len(w.get('instructions', [])) for w in want['waves']), 100)
            for key in want.keys() - self.OTHER:
                self.assertEqual(got.get(key), want[key], f'{arch} {key}')


class Foreign(RealTest):
    def test_rocprofv3_folder_reads_like_the_file(self):
        for arch in ARCHES:
            folder = self.rocprof_folder(arch, arch)
            launch = DATA / arch / 'gemm_0'
            base = json.loads((launch / 'meta.json').read_text())['load_base']
            alone = self.lines('decode', str(launch / 'se0.att'), '--code',
                               str(launch / 'code.elf'), '--base', base, '--insts')
            inside = self.lines('decode', folder, '--insts')
            keep = (lambda rows: [[r['time'], r['category'], r['elf_address'], r['text']]
                                  for r in rows if r['type'] == 'instruction'])
            mine = keep(alone)
            self.assertGreater(len(mine), 100)
            self.assertEqual(keep(inside)[:len(mine)], mine)
            report = json.loads(self.call('report', folder, '--json').stdout)
            self.assertEqual(report['timing'], 'hardware')
            self.check(self.call('health', folder), 0)
            self.check(self.call('report', str(launch)), 0)  # a plain folder
            self.check(self.call('decode', str(launch), '--waves'), 0)

    def test_text_tells_places_apart(self):
        """At one time a place has one wave: two shader arrays have CUs of one number."""
        for arch in ARCHES:
            unit = 'cu' if arch == 'gfx950' else 'sa [01] wgp'
            for view in ('--waves', '--insts'):
                text = self.call('decode', str(DATA / arch / 'gemm_0/se0.att'), view).stdout
                row = (rf' *(\d+) +(\d+) ({unit} +\d+ simd \d slot +\d+) ' if view == '--waves' else
                       rf'wave \d+: ({unit} +\d+ simd \d slot +\d+), (\d+) to (\d+),')
                until = {}
                for fields in re.findall(row, text):
                    start, end, place = fields if view == '--waves' else (*fields[1:], fields[0])
                    self.assertGreater(int(start), until.get(place, 0), f'{arch} {place}')
                    until[place] = int(end)
                self.assertGreater(len(until), 2, text[:300])

    def test_errors_are_worded(self):
        os.mkdir(self.path('empty'))
        for command in ('decode', 'report', 'health'):
            self.check(self.call(command, 'empty'), 2, 'there is no trace in this folder', 'seN.att')
        folder = self.rocprof_folder('gfx1100', 'cut')
        results = pathlib.Path(self.path(folder)) / 'host/9_results.json'
        results.write_text(results.read_text()[:-9])
        for command in ('decode', 'report', 'health'):
            self.check(self.call(command, folder), 2, 'seems to be cut off', 'copy the folder whole')


class Pieces(RealTest):
    def test_scan_lists_dispatches(self):
        for arch in ARCHES:
            path = str(DATA / arch / 'gemm_0/se0.att')
            rows = self.lines('decode', path, '--scan')
            events = self.lines('decode', path, '--events')
            found = [r for r in rows if r['type'] == 'dispatch']
            want = [r for r in events if r.get('name') == 'dispatch']
            self.assertEqual([r['time'] for r in found], [r['time'] for r in want])
            for key in ('entry_pc', 'offset_bytes'):
                self.assertEqual([r[key] for r in found], [r[key] for r in want])
            waves = [r for r in self.lines('decode', path, '--waves') if r['type'] == 'wave']
            self.assertEqual(sum(r['waves'] for r in found), len(waves))
            self.assertIn('dispatch:0', self.call('decode', path, '--scan').stdout)

    def test_cut_has_the_instructions_of_the_whole(self):
        for arch in ARCHES:
            launch = DATA / arch / 'gemm_0'
            base = json.loads((launch / 'meta.json').read_text())['load_base']
            code = ('--code', str(launch / 'code.elf'), '--base', base, '--insts')
            path = str(launch / 'se0.att')
            whole = [r for r in self.lines('decode', path, *code) if r['type'] == 'instruction']
            out = arch + '.att'
            self.check(self.call('decode', path, '--cut', 'dispatch:0', '-o', out), 0)
            piece = [r for r in self.lines('decode', out, *code) if r['type'] == 'instruction']
            for row in whole + piece:
                del row['wave']
            self.assertGreater(len(whole), 100)
            self.assertEqual(piece, whole)
            self.check(self.call('decode', path, '--cut', 'dispatch:0', '-o', out), 2, 'exists')
            scan = [r for r in self.lines('decode', path, '--scan') if r['type'] == 'dispatch'][0]
            window = f'time:{scan["time"]}-{scan["end_time"] + 1}'
            self.check(self.call('decode', path, '--cut', window, '-o', 'w' + out), 0)
            piece = [r for r in self.lines('decode', 'w' + out, *code) if r['type'] == 'instruction']
            self.assertEqual(len(piece), len(whole))

    def test_wrong_use(self):
        path = str(DATA / 'gfx1100/gemm_0/se0.att')
        for wish in ('dispatch', 'dispatch:x', 'time:5', 'time:9-5', 'wave:1'):
            self.check(self.call('decode', path, '--cut', wish, '-o', 'x'), 2, wish, 'dispatch:N')
        self.check(self.call('decode', path, '--cut', 'dispatch:9', '-o', 'x'), 2, 'no dispatch 9')
        self.check(self.call('decode', path, '--cut', 'dispatch:0'), 2, 'go together')
        self.check(self.call('decode', path, '-o', 'x'), 2, 'go together')
        self.check(self.call('decode', path, '--scan', '--waves'), 2, 'more than one view')
        self.check(self.call('decode', str(DATA / 'gfx1100/gemm_0'), '--cut', 'dispatch:0', '-o',
                             'x'), 2, 'for one file')
        self.assertFalse(os.path.exists(self.path('x')))


class Export(RealTest):
    def setUp(self):
        super().setUp()
        self.instructions, self.waves = {}, {}
        for arch in ARCHES:
            folder = self.rocprof_folder(arch, arch)
            rows = self.lines('decode', folder, '--insts')
            self.instructions[arch] = [r for r in rows if r['type'] == 'instruction']
            rows = self.lines('decode', folder, '--waves')
            self.waves[arch] = [r for r in rows if r['type'] == 'wave']

    def text(self, arch, to, *more):
        result = self.call('export', arch, '--to', to, '-o', '-', *more)
        self.check(result, 0)
        return result.stdout

    def test_csv_adds_up_to_the_instructions(self):
        for arch in ARCHES:
            rows = list(csv.DictReader(io.StringIO(self.text(arch, 'csv'))))
            sums = collections.Counter()
            hits = collections.Counter()
            for row in self.instructions[arch]:
                sums[row['elf_address']] += row['duration']
                hits[row['elf_address']] += 1
            found = {int(r['Vaddr']): r for r in rows if not r['Instruction'].startswith('; ')}
            self.assertEqual({a: int(r['Latency']) for a, r in found.items()}, dict(sums))
            self.assertEqual({a: int(r['Hitcount']) for a, r in found.items()}, dict(hits))
            self.assertEqual(rows[0]['Instruction'][:2], '; ')

    def test_perfetto_has_every_wave_and_instruction(self):
        for arch in ARCHES:
            trace = json.loads(self.text(arch, 'perfetto'))
            self.assertEqual(trace['otherData']['timing'], 'hardware')
            slices = [e for e in trace['traceEvents'] if e['ph'] == 'X']
            inner = [e for e in slices if 'stall' in e['args']]
            self.assertEqual(len(slices) - len(inner), len(self.waves[arch]))
            self.assertEqual(len(inner), len(self.instructions[arch]))
            small = json.loads(self.text(arch, 'perfetto', '--no-instructions'))
            self.assertEqual(sum(e['ph'] == 'X' for e in small['traceEvents']),
                             len(self.waves[arch]))

    def test_speedscope_adds_up(self):
        for arch in ARCHES:
            file = json.loads(self.text(arch, 'speedscope'))
            frames = file['shared']['frames']
            for profile, key in zip(file['profiles'], ('duration', 'stall')):
                self.assertEqual(len(profile['samples']), len(profile['weights']))
                self.assertEqual(sum(profile['weights']), profile['endValue'])
                self.assertEqual(profile['endValue'], sum(r[key] for r in self.instructions[arch]))
                self.assertIn('hardware', profile['name'])
                for stack in profile['samples']:
                    self.assertGreaterEqual(len(stack), 2)
                    self.assertTrue(all(0 <= i < len(frames) and frames[i]['name'] for i in stack))

    def test_att_folder_reads_back(self):
        for arch in ARCHES:
            self.check(self.call('export', arch, '--to', 'att', '-o', 'raw-' + arch), 0)
            names = sorted(os.listdir(self.path('raw-' + arch)))
            self.assertEqual(sorted(n for n in names if n.endswith('.att')),
                             ['9_1_shader_engine_0_12.att', '9_1_shader_engine_1_12.att'])
            rows = self.lines('decode', 'raw-' + arch, '--insts')
            self.assertEqual([r for r in rows if r['type'] == 'instruction'],
                             self.instructions[arch])
            self.check(self.call('export', arch, '--to', 'att', '-o', 'raw-' + arch), 2, 'exists')

    def test_rcv_folder_holds_what_the_viewer_needs(self):
        for arch in ARCHES:
            result = self.call('export', arch, '--to', 'rcv', '-o', 'ui-' + arch)
            self.check(result, 0)
            folder = pathlib.Path(self.path(result.stdout.split()[0]))
            self.assertEqual(folder.name, 'ui_output_agent_0_dispatch_12')
            read = (lambda name, at=folder: json.loads((at / name).read_text('utf-8')))
            names = read('filenames.json')
            self.assertEqual(names['gfxip'], {'gfx950': 9, 'gfx1100': 11, 'gfx1200': 12}[arch])
            self.assertEqual(names['gfxv'], 'vega' if arch == 'gfx950' else 'navi')
            code = read('code.json')['code']
            lines = {}
            for row in code:
                self.assertEqual(len(row), 10)
                self.assertNotIn(row[2], lines)
                lines[row[2]] = row
            got = []
            for se, simds in names['wave_filenames'].items():
                for simd, slots in simds.items():
                    for slot, waves in slots.items():
                        for number, (name, begin, end) in waves.items():
                            self.assertEqual(name, f'se{se}_sm{simd}_sl{slot}_wv{number}.json')
                            wave = read(name)['wave']
                            self.assertEqual([wave['begin'], wave['end']], [begin, end])
                            times = [i[0] for i in wave['instructions']]
                            self.assertEqual(times, sorted(times))
                            self.assertLessEqual(sum(s[1] for s in wave['timeline']),
                                                 end - begin + 4)
                            for time, category, stall, duration, line in wave['instructions']:
                                self.assertLessEqual(stall, 65535)
                                got.append([time, CATEGORY[category], duration, lines[line][5],
                                            lines[line][0]])
            self.assertEqual(sorted(got), sorted(
                [r['time'], r['category'], r['duration'], r['elf_address'], r['text']]
                for r in self.instructions[arch]))
            self.assertEqual(sum(r[7] for r in code), sum(r['duration'] for r in
                                                          self.instructions[arch]))
            occupancy = read('occupancy.json')
            events = [e for se in '01' for e in occupancy[se]]
            self.assertEqual(sum(e[4] for e in events), len(self.waves[arch]))
            self.assertEqual(sum(1 - e[4] for e in events), len(self.waves[arch]))
            for event in events:
                self.assertTrue(event[5] == 0 or str(event[5]) in occupancy['dispatches'])
            clocks = read('realtime.json')
            self.assertEqual(clocks['metadata']['frequency'], 100000000)
            self.assertEqual('SE0' in clocks, arch != 'gfx950')
            for entries in names.get('other_simd_filenames', {}).values():
                for name, begin, end in entries:
                    self.assertEqual(len(read(name)['instructions']), read(name)['instructions_count'])
            self.assertEqual('other_simd_filenames' in names, arch != 'gfx950')
            read('snapshots.json')
            self.assertEqual(read('wavetap.json')['timing'], 'hardware')
            self.check(self.call('export', arch, '--to', 'rcv', '-o', 'ui-' + arch), 2, 'exists')

    def test_wrong_use(self):
        self.check(self.call('export', 'gfx950', '--to', 'pdf', '-o', 'x'), 2, "no format 'pdf'",
                   'csv, perfetto, speedscope, rcv or att')
        self.check(self.call('export', 'gfx950', '--to', 'csv'), 2, '-o')
        self.check(self.call('export', 'gfx950', '--to', 'rcv', '-o', '-'), 2, 'makes a folder')
        self.write('there', 'x')
        self.check(self.call('export', 'gfx950', '--to', 'csv', '-o', 'there'), 2, 'cannot make')
        with open(self.path('there'), encoding='utf-8') as file:
            self.assertEqual(file.read(), 'x')


if not DATA.is_dir():
    print(f'REAL TRACES MISSING: set WAVETAP_DATA (looked in {DATA})')
    sys.exit(1 if os.environ.get('CI') else 77)
support.main()
