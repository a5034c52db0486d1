#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Compares the share of lines and branches that ran with their floors: coverage.py BUILD

BUILD was made with --enable-coverage, and its tests have run. The floors stand in coverage.floors.
Unit tests do not reach the room httpd/, and little of ctl/, so both are not counted.
TSEED_COVERAGE_FILES=1 lists files.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOMS = HERE.parent / 'mod_tileseed'
LEFT_OUT = (ROOMS / 'httpd', ROOMS / 'ctl')


def gcov(build):
    """What gcov says of each object: files with their lines."""
    counts = sorted(build.glob('mod_tileseed/**/*.gcda'))
    done = subprocess.run(['gcov', '--json-format', '--branch-probabilities', '--stdout', *counts],
                          cwd=build, check=True, text=True, stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        yield from json.loads(line)['files'] if line.strip() else []


def source_of(build, name):
    """The file of the rooms that gcov names, or None."""
    path = (build / name).resolve()
    is_left_out = any(room in path.parents for room in LEFT_OUT)
    return path if ROOMS in path.parents and not is_left_out else None


def read_counts(build):
    """How often each line and each branch ran: file -> {line: n}, file -> {(line, branch): n}.
    A header is met once for each source that includes it."""
    lines = collections.defaultdict(collections.Counter)
    branches = collections.defaultdict(collections.Counter)
    for file in gcov(build):
        path = source_of(build, file['file'])
        for line in file['lines'] if path else []:
            lines[path][line['line_number']] += line['count']
            for number, branch in enumerate(line['branches']):
                branches[path][line['line_number'], number] += branch['count']
    return lines, branches


def share(counts):
    """Per cent of the counts that are not 0."""
    return 100 * sum(count > 0 for count in counts) / max(1, len(counts))


def list_files(lines, branches):
    """One line for each file, the least covered first."""
    for path in sorted(lines, key=lambda path: share(lines[path].values())):
        print(f'# {share(lines[path].values()):5.1f} {share(branches[path].values()):5.1f} '
              f'{path.relative_to(ROOMS)}')


def read_floors():
    """coverage.floors as {name: per cent}."""
    rows = [row.split() for row in (HERE / 'coverage.floors').read_text('utf-8').splitlines()
            if row and not row.startswith('#')]
    return {name: float(value) for name, value in rows}


def main():
    """Says one line of TAP for each floor. Ends with 1 when one is not reached."""
    counted = dict(zip(('lines', 'branches'), read_counts(pathlib.Path(sys.argv[1]).resolve())))
    if os.environ.get('TSEED_COVERAGE_FILES'):
        list_files(**counted)
    bad = 0
    for name, floor in read_floors().items():
        reached = share([count for file in counted[name].values() for count in file.values()])
        bad += reached < floor
        print(f'{"not " if reached < floor else ""}ok - {reached:.2f} % of the {name} ran, '
              f'the floor is {floor:.1f} %')
    sys.exit(bad > 0)


if __name__ == '__main__':
    main()
