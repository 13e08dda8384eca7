# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Reads the truth log of the software GPU (docs/formats/truth.md): what really ran."""

DISPATCH, WAVE = 2, 3


def records(path):
    """Yields (type, numbers) of each record; of a wave only the ten numbers before its instructions."""
    with open(path, 'rb') as file:
        data = file.read()
    assert data[:8] == b'WTTRUTH\x01', data[:8]
    at = 8

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        kind = number()
        size = number()
        end = at + size
        yield kind, [number() for _ in range(10)] if kind == WAVE else \
            [number() for _ in range(6)] if kind == DISPATCH else []
        at = end


def dispatch_times(path):
    """{dispatch: (queue, first start, last end)} of the dispatches of the kernel that was launched most (the
    runtime launches kernels of its own)."""
    queues, entries, times = {}, {}, {}
    for kind, body in records(path):
        if kind == DISPATCH:
            queues[body[1]] = body[3]
            entries[body[1]] = body[2]
        if kind == WAVE:
            start, end = body[8], body[8] + body[9] - 1
            before = times.get(body[1], (start, end))
            times[body[1]] = (min(before[0], start), max(before[1], end))
    launches = list(entries.values())
    entry = max(launches, key=launches.count)
    return {dispatch: (queues[dispatch], *time) for dispatch, time in times.items()
            if entries[dispatch] == entry}


def overlaps(times):
    """How many pairs of dispatches ran beside each other: of one queue, of two queues."""
    rows = sorted(times.values(), key=lambda row: row[1])
    same = other = 0
    for i, (queue, _, end) in enumerate(rows):
        for second in rows[i + 1:]:
            if second[1] >= end:
                break
            if second[0] == queue:
                same += 1
            else:
                other += 1
    return same, other
