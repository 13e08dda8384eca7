#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""tools/draw_soak.py on answers of soak made up here: lines, ends, and refusals of wrong input.
usage: draw_soak_test.py ROOT"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

SCRIPT = os.path.join(os.path.abspath(sys.argv.pop(1)), 'tools', 'draw_soak.py')
GIB = 1 << 30


def answer(contexts, captured, why='queue'):
    def driver(queues, memory):
        return {'queues_by_owner': {'wavetap': queues}, 'vram_peak_bytes': memory}
    refused = [f'context {i} did not start: no {why}' for i in range(captured, contexts)]
    return {'format': 'wavetap-soak', 'contexts': [{}] * contexts, 'captured': contexts,
            'driver': driver(1, 2 * GIB),
            'no_sharing': {'captured': captured, 'refusals': refused,
                           'driver': driver(captured, captured * GIB)}}


class DrawTest(unittest.TestCase):
    def draw(self, *answers):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, one in enumerate(answers):
                paths.append(os.path.join(folder, f'{i}.json'))
                with open(paths[-1], 'w', encoding='utf-8') as file:
                    json.dump(one, file)
            target = os.path.join(folder, 'out.svg')
            result = subprocess.run([sys.executable, SCRIPT, *paths, '-o', target],
                                    capture_output=True, text=True)
            svg = open(target, encoding='utf-8').read() if os.path.exists(target) else ''
        return result, svg

    def test_lines_and_where_they_end(self):
        result, svg = self.draw(answer(400, 26), answer(2, 2), answer(2000, 26))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, 'context 26 did not start: no queue\n')
        xml.fromstring(svg)
        self.assertEqual(svg.count('ends at 26 contexts'), 2)
        self.assertIn('2,000 run: 1 queue, 2.0 GiB', svg)
        # Ours is flat: every point of it at the same height, one for each of the three answers.
        heights = {circle.get('cy') for circle in xml.fromstring(svg).iter('{http://www.w3.org/2000/svg}circle')
                   if circle.get('fill') == '#2a6fbb'}
        self.assertEqual(len(heights), 2)  # one height a panel

    def test_each_line_ends_by_its_own_reason(self):
        result, svg = self.draw(answer(400, 26), answer(400, 85, 'memory'))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((svg.count('ends at 26 contexts'), svg.count('ends at 85 contexts')), (1, 1))

    def test_room_for_all(self):
        result, svg = self.draw(answer(2, 2), answer(4, 4))
        self.assertEqual((result.returncode, result.stdout), (0, ''))
        self.assertNotIn('ends at', svg)

    def test_wrong_input(self):
        for answers in ((), ({'format': 'wavetap-plan'},), (dict(answer(1, 1), no_sharing={}),)):
            result, svg = self.draw(*answers)
            self.assertEqual((result.returncode, svg), (2, ''))
            self.assertIn('draw_soak: error:', result.stderr)


unittest.main()
