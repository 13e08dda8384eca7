#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Draws what contexts cost: device memory and queues, shared and of each context's own.

usage: draw_soak.py SOAK.json... -o PICTURE.svg
Each SOAK.json is what `wavetap soak --contexts N --no-sharing --json=SOAK.json` wrote, for a few N.
Everything drawn is the software driver's count, which knows nothing of capture: wavetap's queues, and
device memory at most. The lines of each context's own resources end where the driver refused more: that
of queues by recordings that ran out of queues, that of memory by those that ran out of memory (set
WAVETAP_SOFTGPU_QUEUES and WAVETAP_SOFTGPU_HBM for either).
"""
import json
import sys

WIDTH, HEIGHT = 980, 330
PANELS = ((70, 'device memory', 'GiB'), (560, 'queues of the profiler', ''))
PANEL_WIDTH, TOP, BOTTOM = 360, 64, 268
SHARED, APART = '#2a6fbb', '#c0392b'


def read(paths):
    """(contexts, memory, queues, captured) of every file: shared, and apart; by rising contexts."""
    shared, apart, refusals = [], [], []
    for path in paths:
        with open(path, encoding='utf-8') as file:
            soak = json.load(file)
        if soak.get('format') != 'wavetap-soak' or 'no_sharing' not in soak:
            raise ValueError(f'{path} is not the answer of soak --no-sharing')
        number = len(soak['contexts'])
        for rows, answer in ((shared, soak), (apart, soak['no_sharing'])):
            driver = answer['driver']
            words = (answer.get('refusals') or [''])[0]
            rows.append((number, driver['vram_peak_bytes'] / 2**30,
                         driver['queues_by_owner']['wavetap'], answer['captured'], words))
        refusals += soak['no_sharing']['refusals'][:1]
    return sorted(shared), sorted(apart), refusals


def reached(rows, word):
    """Points (contexts that have their resources, memory, queues), up to the first refusal: one whose
    words have `word` in them, if there is any."""
    own = [row for row in rows if row[3] == row[0] or word in row[4]]
    if all(row[3] == row[0] for row in own):
        own = rows
    points = [(0, 0.0, 0)]
    for number, memory, queues, captured, _ in own:
        points.append((captured, memory, queues))
        if captured < number:
            break
    return points


def nice(value):
    """A round number that is at least `value`."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if step * factor >= value:
                return step * factor
        step *= 10


class Panel:
    def __init__(self, left, most_x, most_y):
        self.left, self.most_x, self.most_y = left, most_x, most_y

    def x(self, value):
        return self.left + PANEL_WIDTH * value / self.most_x

    def y(self, value):
        return BOTTOM - (BOTTOM - TOP) * value / self.most_y

    def frame(self, title, unit):
        out = [f'<text x="{self.left}" y="{TOP - 14}" font-weight="bold">{title}'
               f'{" (" + unit + ")" if unit else ""}</text>']
        for i in range(5):
            value = self.most_y * i / 4
            out.append(f'<path class="grid" d="M{self.left} {self.y(value):.1f} h{PANEL_WIDTH}"/>'
                       f'<text class="small" x="{self.left - 8}" y="{self.y(value) + 4:.1f}" '
                       f'text-anchor="end">{value:g}</text>')
            across = self.most_x * i / 4
            out.append(f'<text class="small" x="{self.x(across):.1f}" y="{BOTTOM + 18}" '
                       f'text-anchor="middle">{across:,.0f}</text>')
        out.append(f'<text class="small" x="{self.left + PANEL_WIDTH}" y="{BOTTOM + 36}" '
                   f'text-anchor="end">contexts</text>')
        return out

    def line(self, points, colour):
        path = ' '.join(f'{"L" if i else "M"}{self.x(x):.1f} {self.y(y):.1f}'
                        for i, (x, y) in enumerate(points))
        dots = ''.join(f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="2.6" fill="{colour}"/>'
                       for x, y in points[1:])
        return [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.2"/>', dots]

    def end(self, point, words):
        x, y = self.x(point[0]), self.y(point[1])
        return [f'<path d="M{x - 5:.1f} {y - 5:.1f} l10 10 m0 -10 l-10 10" stroke="{APART}" '
                f'stroke-width="2.4"/>',
                f'<text class="small" x="{x + 12:.1f}" y="{y + 4:.1f}">{words}</text>']


def draw(shared, apart):
    most_x = nice(shared[-1][0])
    failed = [row for row in apart if row[3] < row[0]]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
           '<style>text { fill: #1a2433 } .small { font-size: 11.5px; fill: #4a5668 } '
           '.grid { stroke: #dde3ec; stroke-width: 1 }</style>',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    for column, (left, title, unit) in enumerate(PANELS, 1):
        ends = reached(apart, ('', 'memory', 'queue')[column])
        most_y = nice(max([row[column] for row in shared] + [p[column] for p in ends]) * 1.15)
        panel = Panel(left, most_x, most_y)
        out += panel.frame(title, unit)
        out += panel.line([(row[0], row[column]) for row in shared], SHARED)
        out += panel.line([(p[0], p[column]) for p in ends], APART)
        if failed:
            out += panel.end((ends[-1][0], ends[-1][column]),
                             f'ends at {ends[-1][0]} contexts')
    out += [f'<path d="M70 24 h26" stroke="{SHARED}" stroke-width="2.6"/>'
            f'<text x="102" y="28">wavetap: shared by all contexts ({shared[-1][0]:,} run: '
            f'{shared[-1][2]} queue{"s" if shared[-1][2] != 1 else ""}, {shared[-1][1]:.1f} GiB)</text>',
            f'<path d="M560 24 h26" stroke="{APART}" stroke-width="2.6"/>'
            '<text x="592" y="28">a queue and a buffer for each context</text>',
            f'<text class="small" x="70" y="{HEIGHT - 12}">counted by the software driver; buffers of '
            'the contexts by turns as large as soak was told (tools/draw_soak.py)</text>', '</svg>']
    return '\n'.join(out) + '\n'


def main(arguments):
    if '-o' not in arguments or arguments.index('-o') + 1 >= len(arguments):
        print(__doc__.strip().split('\n')[2], file=sys.stderr)
        return 2
    at = arguments.index('-o')
    target = arguments[at + 1]
    paths = arguments[:at] + arguments[at + 2:]
    try:
        shared, apart, refusals = read(paths)
        if not shared:
            raise ValueError('no answer of soak was named')
    except (OSError, ValueError, KeyError) as error:
        print(f'draw_soak: error: {error}', file=sys.stderr)
        return 2
    with open(target, 'w', encoding='utf-8') as file:
        file.write(draw(shared, apart))
    for text in dict.fromkeys(refusals):
        print(text)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
