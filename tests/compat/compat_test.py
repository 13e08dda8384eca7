#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""The drop-in decoder, loaded by a plain C program, gives the records of the golden files.
usage: compat_test.py CLIENT LIBRARY DATA

Twice for each blob: with instruction text from llvm-objdump through the caller's callback, and with
the code object handed over. Synthetic streams are held against what AMD's decoder made of them."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

client, library, data = sys.argv[1:4]
data = pathlib.Path(os.environ.get('WAVETAP_DATA') or data) / 'traces'
OBJDUMP = shutil.which('llvm-objdump-19') or '/usr/lib/llvm-19/bin/llvm-objdump'
CATEGORY = ['NONE', 'SMEM', 'SALU', 'VMEM', 'FLAT', 'LDS', 'VALU', 'JUMP', 'NEXT', 'IMMED', 'TRAP',
            'MSG', 'BVH']
STATE = ['EMPTY', 'IDLE', 'EXEC', 'WAIT', 'STALL']
CPU = {'gfx950': 'gfx942', 'gfx1100': 'gfx1100', 'gfx1200': 'gfx1201'}  # LLVM 19 has no gfx950
# What AMD's decoder made of all blobs of an example set: events, blobs.
EVENTS = {'gfx950': (960, 192), 'gfx1100': (6160, 60), 'gfx1200': (4224, 48)}
failures = []


def run(*arguments):
    result = subprocess.run([client, library, *map(str, arguments)], capture_output=True, text=True,
                            timeout=60)
    if result.returncode != 0:
        raise SystemExit(f'{arguments}: status {result.returncode}: {result.stderr}')
    return result.stdout


def listing_of(elf, cpu, path):
    text = subprocess.run([OBJDUMP, '-d', f'--mcpu={cpu}', elf], capture_output=True, text=True,
                          check=True).stdout
    rows = []
    for line in text.split('\n'):
        found = re.match(r'\s+(\S.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)', line)
        if found:
            rows.append(f'{found[2].lower()} {4 * len(found[3].split())} {found[1]}')
    path.write_text('\n'.join(rows) + '\n')
    return len(rows)


def parse(text):
    out = {}
    wave = None
    for row in text.split('\n'):
        kind, *words = row.split(' ')
        numbers = [int(word) for word in words]
        if kind == 'wave':
            wave = {'head': numbers, 'states': [], 'insts': []}
            out.setdefault('wave', []).append(wave)
        elif kind in ('state', 'inst'):
            wave[kind + 's'].append(numbers)
        elif kind:
            out.setdefault(kind, []).append(numbers)
    return out


def check(where, what, got, want):
    if got == want:
        return
    for a, b in zip(got, want):
        if a != b:
            failures.append(f'{where}: {what}: {a} is not {b}')
            return
    failures.append(f'{where}: {what}: {len(got)} records, not {len(want)}')


def elf_address(pc, base):
    return pc[0] if pc[1] else (pc[0] - base if pc[0] else 0)


def take_barrier_waits(where, wave, golden, base):
    """The ABI puts an instruction where the golden file only notes that one was passed."""
    for number, (index, pc) in enumerate((w['before_inst'], w['pc']) for w in
                                         golden.get('excluded_barrier_waits', [])):
        row = wave['insts'].pop(index) if index < len(wave['insts']) else None
        if row is None or row[0] != CATEGORY.index('IMMED') or \
                elf_address(row[4:6], base) != int(pc, 16):
            failures.append(f'{where}: barrier wait {number}: {row}, not at {pc}')


def compare(where, got, golden, base, mode):
    gfx9 = golden['generation'] == 'gfx9'
    check(where, 'gfxip', got['gfxip'], [[int(re.sub(r'\D', '', golden['generation'])[:2]), 0]])
    entry = (lambda w: int(w['entry_pc'], 16))
    occupancy = []
    for w in golden['waves']:
        cu = w['cu'] if gfx9 else w['sa'] << 7 | w['cu']
        occupancy.append([w['start'], 1, cu, w['simd'], w['slot'], entry(w), w['me'], w['pipe']])
        occupancy.append([w['end'], 0, cu, w['simd'], w['slot'], entry(w), w['me'], w['pipe']])
    full = [[r[0], r[1], r[2], r[3], r[4], r[5] + base if r[6] else r[5], r[7], r[8]]
            for r in got.get('occupancy', [])]
    check(where, 'occupancy', sorted(full), sorted(occupancy))
    target = [golden['header'].get(key) for key in ('DSA', 'DWGP', 'DSIMD')]
    waves = {(w['simd'], w['slot'], w['start']): w for w in golden['waves']
             if ('wave_record_end' in w if gfx9 else
                 [w['sa'], w['cu'], w['simd']] == target)}
    found = got.get('wave', [])
    check(where, 'waves', sorted((w['head'][1], w['head'][2], w['head'][7]) for w in found),
          sorted(waves))
    instructions = 0
    for wave in found:
        want = waves.get((wave['head'][1], wave['head'][2], wave['head'][7]))
        if want is None:
            continue
        check(where, 'end', [wave['head'][8]], [want['wave_record_end'] if gfx9 else want['end']])
        split = 'excluded_barrier_waits' in want
        states = [[STATE[s], clocks] for s, clocks in wave['states']]
        if split:
            check(where, 'clocks', [sum(s[1] for s in states)],
                  [sum(s[1] for s in want['timeline'])])
        elif 'timeline' in want:
            check(where, 'timeline', states, want['timeline'])
        else:  # a wave without instruction tokens
            check(where, 'clocks', [sum(s[1] for s in states)],
                  [0 if gfx9 else want['end'] - want['start']])
            check(where, 'instructions', wave['insts'], [])
        take_barrier_waits(where, wave, want, base)
        rows = [[CATEGORY[i[0]], i[1], i[2], i[3], elf_address(i[4:6], base)]
                for i in wave['insts']]
        check(where, 'instructions', rows,
              [[i['cat'], i['time'], i['dur'], i['stall'], int(i['pc'], 16) if i['pc'] else 0]
               for i in want.get('instructions', [])])
        if mode == 'handle' and any(i[5] != 7 for i in wave['insts'] if i[4]):
            failures.append(f'{where}: an instruction without its code object')
        instructions += len(rows)
    check(where, 'dispatches',
          [[r[0], r[1], r[2], r[3] + base if r[4] else r[3], r[5:8]] for r in
           got.get('dispatch', [])],
          [[d['time'], d['me'], d['pipe'], int(d['pc'], 16), d['threads']] for d in
           golden['dispatches']])
    check(where, 'realtime', got.get('realtime', []), golden['realtime'])
    check(where, 'other SIMD', [[r[0], CATEGORY[r[1]], r[2]] for r in got.get('other', [])],
          golden['other_simd'])
    return instructions


def chunk_by_chunk(where, blob, whole):
    """The quick scan of any chunks finds the dispatches and events of the full parse; times are 0.
    A token that began in the chunk before is told with the start of its own."""
    for size, *order in ((40,), (333, 'threads'), (4096,)):
        got = parse(run('chunks', blob, size, *order))
        for kind, offset in (('dispatch', 13), ('event', 5)):
            rows = [[*r[1:offset], *r[offset + 1:]] for r in got.get(kind, [])]
            want = [[*r[1:offset], *r[offset + 1:]] for r in whole.get(kind, [])]
            if kind == 'dispatch':  # no code was given
                rows = [[*r[:2], *r[4:]] for r in rows]
                want = [[*r[:2], *r[4:]] for r in want]
            check(f'{where} chunks of {size}', kind, rows, want)
            for mine, theirs in zip(got.get(kind, []), whole.get(kind, [])):
                at = mine[offset]
                if mine[0] != 0 or (at != theirs[offset] and
                                    (at % size or not 0 < at - theirs[offset] < 16)):
                    failures.append(f'{where}: {kind} {mine} is not at {theirs[offset]}')
        if set(got) - {'dispatch', 'event'}:
            failures.append(f'{where}: a quick scan with {sorted(got)}')


def standalone(where, blob, listing, base, whole):
    """A piece from the dispatch on has the waves of the whole, at other times."""
    start = whole['dispatch'][0]
    got = parse(run('standalone', blob, listing, hex(base), start[13], 0))
    first = got['dispatch'][0]
    check(where, 'dispatch of the piece', first[1:13], start[1:13])
    shift = start[0] - first[0]
    gfx9 = whole['gfxip'] == [[9, 0]]  # there the first time reset of a stream moves its times by 4
    moved = (lambda t: 0 if gfx9 else t + shift)
    kept = (lambda t: 0 if gfx9 else t)
    rows = [[w['head'][:7], moved(w['head'][7]), moved(w['head'][8]),
             [[i[0], moved(i[1]), kept(i[2]), kept(i[3]), *i[4:]] for i in w['insts']]]
            for w in got.get('wave', [])]
    want = [[w['head'][:7], kept(w['head'][7]), kept(w['head'][8]),
             [[i[0], kept(i[1]), kept(i[2]), kept(i[3]), *i[4:]] for i in w['insts']]]
            for w in whole.get('wave', []) if w['head'][7] >= start[0]]
    check(where, 'waves of the piece', rows, want)
    return sum(len(w[3]) for w in rows)


class Busy:
    """Cycles in which a pipe is busy, by brute force."""

    def __init__(self, spans):
        self.spans = [s for s in spans if s[1] > s[0]]

    @staticmethod
    def one_after_the_other(uses):
        spans = []
        for begin, cycles in sorted(uses):
            if spans and begin <= spans[-1][1]:
                spans[-1][1] += cycles
            else:
                spans.append([begin, begin + cycles])
        return Busy(spans)

    def __or__(self, other):
        out = []
        for begin, end in sorted(self.spans + other.spans):
            if out and begin <= out[-1][1]:
                out[-1][1] = max(out[-1][1], end)
            else:
                out.append([begin, end])
        return Busy(out)

    def inside(self, begin, end):
        return sum(max(0, min(end, e) - max(begin, b)) for b, e in self.spans)


def hidden_latency(got, text_at):
    """What the analysis should say, from the records themselves."""
    pipes = {'SALU': 'scalar', 'SMEM': 'scalar', 'LDS': 'memory', 'VMEM': 'memory',
             'FLAT': 'memory', 'VALU': 'valu'}
    sums = {}
    for simd in {w['head'][1] for w in got.get('wave', [])}:
        waves = [w for w in got['wave'] if w['head'][1] == simd]
        uses = {name: [] for name in ('matrix', 'valu', 'memory', 'scalar')}
        uses['memory'] = [(r[0], r[2]) for r in got.get('other', []) if r[2]]

        def pipe_of(inst):
            if text_at.get(inst[4], '').startswith(('v_mfma', 'v_smfma', 'v_wmma', 'v_swmma')):
                return 'matrix'
            return pipes.get(CATEGORY[inst[0]])
        for inst in (i for w in waves for i in w['insts']):
            pipe = pipe_of(inst)
            issue, cycles = inst[1] + inst[3], max(inst[2], inst[3]) - inst[3]
            if pipe:
                uses[pipe].append((issue, cycles))
            if pipe == 'matrix':
                uses['valu'].append((issue, cycles * 3 // 4))
        busy = {name: Busy.one_after_the_other(each) for name, each in uses.items()}
        math = busy['valu'] | busy['matrix']
        vector = math | busy['memory']
        tries = {'matrix': ((busy['valu'], 0), (busy['matrix'], 0)),
                 'valu': ((busy['valu'], 0), (busy['matrix'], 1)),
                 'memory': ((math, 1), (busy['memory'], 0)),
                 'scalar': ((vector, 1), (busy['scalar'], 0)),
                 None: ((vector | busy['scalar'], 1),)}
        for wave in waves:
            last = wave['head'][7]
            for inst in wave['insts']:
                time, cycles, stall = inst[1], max(inst[2], inst[3]), inst[3]
                rows = [(b.inside(last, time) if time > last else 0,
                         b.inside(time, time + stall) if stall else 0,
                         b.inside(time + stall, time + cycles) if with_issue else 0)
                        for b, with_issue in tries[pipe_of(inst)]]
                best = max(rows, key=sum)
                last = time + cycles
                if inst[4] == 0 and inst[5] == 0:
                    continue
                key = (simd, inst[4], inst[5])
                sums[key] = [a + b for a, b in zip(sums.get(key, [0, 0, 0]), best)]
    return sorted([*key[:2], key[2], *value] for key, value in sums.items())


def latency(where, blob, elf, base, listing):
    got = parse(run('latency', blob, elf, hex(base)))
    rows = [row.split(' ', 2) for row in listing.read_text().splitlines()]
    text_at = {int(row[0], 16): row[2] for row in rows}
    want = hidden_latency(got, text_at)
    found = sorted(got.get('hidden', []))
    # Two ways may hide equally many cycles in sum: which one counts is told by the sum only.
    check(where, 'hidden latency', [[*r[:3], sum(r[3:])] for r in found],
          [[*r[:3], sum(r[3:])] for r in want])
    return sum(sum(r[3:]) for r in found)


def real(scratch):
    blobs = instructions = pieces = hidden = 0
    for arch in CPU:
        first, events = blobs, 0
        for folder in sorted(path.parent for path in (data / arch).rglob('meta.json')):
            base = int(json.loads((folder / 'meta.json').read_text())['load_base'], 16)
            listing = scratch / 'code.txt'
            if listing_of(folder / 'code.elf', CPU[arch], listing) == 0:
                raise SystemExit(f'{folder}: no instructions')
            for blob in sorted(folder.glob('se*.att')):
                golden = json.loads(blob.with_suffix('.golden.json').read_text())
                for mode, code in (('callback', listing), ('handle', folder / 'code.elf')):
                    text = run(mode, blob, code, hex(base))
                    got = parse(text)
                    instructions += compare(f'{arch}/{folder.name}/{blob.stem} {mode}', got,
                                            golden, base, mode)
                    if mode == 'callback':
                        whole = parse(text)  # compare() takes rows out of its own
                events += len(whole.get('event', []))
                chunk_by_chunk(f'{arch}/{folder.name}/{blob.stem}', blob, whole)
                pieces += standalone(f'{arch}/{folder.name}/{blob.stem}', blob, listing, base, whole)
                hidden += latency(f'{arch}/{folder.name}/{blob.stem}', blob, folder / 'code.elf',
                                  base, listing)
                blobs += 1
            if folder.name.startswith('gemm'):
                run('hazards', folder / 'se0.att')
        check(arch, 'events for each blob', [events * EVENTS[arch][1]],
              [EVENTS[arch][0] * (blobs - first)])
    return blobs, instructions, pieces, hidden


def synthetic(scratch):
    """Records that the real traces lack."""
    empty = scratch / 'empty.txt'
    empty.write_text('')
    count = 0
    for path in sorted((data / 'synthetic').glob('*.expected.json')):
        name = path.name.split('.')[0]
        want = json.loads(path.read_text())
        got = parse(run('callback', path.with_name(name + '.att'), empty, '0'))
        where = 'synthetic/' + name
        check(where, 'gfxip', got['gfxip'], [[want['gfxip'], 0]])
        check(where, 'shader data', got.get('shader', []), want['shaderdata'])
        check(where, 'realtime', got.get('realtime', []), want['realtime'])
        check(where, 'perf', got.get('perf', []), want['perf'])
        check(where, 'frequency', got.get('frequency', []),
              [[want['rt_frequency']]] if want['rt_frequency'] else [])
        lost_time = name == 'gfx12_ext'  # AMD's gives a loss the time of the token after it
        time = (lambda r: None if lost_time and r[1] == 6 else r[0])
        check(where, 'events', [[time(r), *r[1:5]] for r in got.get('event', [])],
              [[time(r), *r[1:4], r[5]] for r in want['events']])
        check(where, 'occupancy', [r[:5] for r in got.get('occupancy', [])],
              [r[:5] for r in want['occupancy']])
        check(where, 'dispatches',
              [[r[0], r[1], r[2], r[5:8], *r[8:13]] for r in
               got.get('dispatch', [])],
              [[d['time'], d['me'], d['pipe'], d['dim'], d['user_sgprs'], d['vgprs'], d['sgprs'],
                d['lds'], d['flags']] for d in want['dispatches']])
        infos = {i[0] for i in got.get('info', [])} - {2}  # no code was given here
        check(where, 'infos', sorted(infos), sorted(want['info']))
        count += 1
    return count


# gfx12: the wave of slot 3 is restored at 770 (count 68), returns from its trap and goes on.
RESTORED = '''
    11 02 70 68 08 10 13 09 01 80 25 00 00 00 00 00 09 82 0c 00 96 00 01 00 19 82 0d 00 20 00 00 00
    d1 31 00 71 00 59 04 08 00 00 00 51 23 00 0c 80 41 88 51 d7 00 82 51 07 9d 01 a3 01 b4 08 00 a2
    41 02 51 8f 00 15 80 01'''
# gfx9: the first token of the wave is an INST.
RUNNING = '''
    11 c0 0f 00 00 00 00 00 f0 2f 01 00 40 42 0f 00 00 00 8f 18 96 00 02 00 8f 1a 20 00 00 00
    8f 00 25 08 00 00 a0 00 0a 00 40 06 0d 02 00 00 1a 00 1d 03 00 00 40 01 0d 02 00 00 1a 78 e0 01
    06 00 00 00 00 00 00 00'''


def running_before(scratch):
    """Waves that ran before the trace began are told with the instructions seen of them."""
    empty = scratch / 'none.txt'
    empty.write_text('')
    for name, text, head, insts in (
            ('restored', RESTORED, [0, 0, 3, 1, 16, 0, 0, 770, 1500],
             [['IMMED', 1201, 1, 0], ['VALU', 1205, 1, 0], ['VMEM', 1210, 6, 4],
              ['MSG', 1216, 284, 0]]),
            ('running', RUNNING, [0, 0, 0, 0, 0, 0, 0, 1056, 1672],
             [['SMEM', 1456, 4, 0], ['IMMED', 1460, 8, 8], ['MSG', 1544, 4, 0]])):
        blob = scratch / f'{name}.att'
        blob.write_bytes(bytes.fromhex(text))
        waves = parse(run('callback', blob, empty, '0')).get('wave', [])
        check(name, 'wave', [w['head'] for w in waves], [head])
        check(name, 'instructions', [[CATEGORY[i[0]], *i[1:4]] for w in waves for i in w['insts']],
              insts)


def differences(scratch):
    """Where docs/formats/decoder-abi.md says that we tell more than AMD's decoder: a packet's
    address, an id above 32 bits, and the work-group of a gfx9 wave."""
    def reg(address, value):
        return (2 | 1 << 7 | 1 << 15 | address << 16 | value << 32).to_bytes(8, 'little')

    def reg_cs(address, value):
        return (15 | 1 << 7 | address << 9 | value << 16).to_bytes(6, 'little')
    words = [0x434F5200]
    for kind, value in ((1, 0x1000), (2, 0x5000), (3, 0x7F00), (5, 0x3456789A), (6, 0x12), (0, 0)):
        words += [4 | kind << 8, value]
    whole = bytes.fromhex(RUNNING)
    at = whole.index(bytes.fromhex('a0 00 0a 00'))
    start = (3 | 64 << 22 | 5 << 29).to_bytes(4, 'little')
    blob = scratch / 'more.att'
    blob.write_bytes(whole[:at - 6] + b''.join(reg(0xC342, word) for word in words) +
                     reg_cs(0xE, 0x55667700) + reg_cs(0xF, 0x1122) + whole[at - 6:at] +
                     b'\xa0\x00' + start + whole[at + 4:])
    got = parse(run('callback', blob, scratch / 'none.txt', '0'))
    check('differences', 'packet', [r[14] for r in got.get('dispatch', [])], [0x112255667700])
    check('differences', 'id', [r[1:5] for r in got.get('event', [])], [[7, 0, 0, 0x123456789A]])
    check('differences', 'work-group', [w['head'][5] for w in got.get('wave', [])], [5])


if not data.is_dir():
    print(f'REAL TRACES MISSING: set WAVETAP_DATA (looked in {data})')
    sys.exit(1 if os.environ.get('CI') else 77)
with tempfile.TemporaryDirectory() as scratch_name:
    scratch_path = pathlib.Path(scratch_name)
    decoded, placed, in_pieces, hidden_cycles = real(scratch_path)
    streams = synthetic(scratch_path)
    running_before(scratch_path)
    differences(scratch_path)
for line in failures[:20]:
    print(line)
print(f'{decoded} real blobs (each decoded twice), {placed} instructions, {streams} streams, '
      f'{in_pieces} instructions in pieces, {hidden_cycles} hidden cycles, {len(failures)} differences')
sys.exit(1 if failures or 0 in (decoded, placed, streams, in_pieces, hidden_cycles) else 0)
