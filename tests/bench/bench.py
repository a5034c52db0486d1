# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Runs the rows that BENCH_ROWS names, all without it, and prints the tables: see README.md."""
import os
import platform
import re
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'httpd'))

# pylint: disable=wrong-import-position
import maps
import measures
import rows
from rig import Rig
from seeders import find_seeders


def chosen():
    """The names of the rows to run."""
    known = [*rows.ROWS, *maps.ROWS, *measures.MEASURES]
    wanted = os.environ.get('BENCH_ROWS', '').replace(',', ' ').split() or known
    unknown = set(wanted) - set(known)
    if unknown:
        sys.exit(f'BENCH_ROWS: no row {", ".join(sorted(unknown))}; there are {", ".join(known)}')
    return [name for name in known if name in wanted]


def machine():
    """Where and when."""
    text = Path('/proc/cpuinfo').read_text(encoding='utf-8')
    model = re.search(r'^model name\s*: (.*)', text, re.M)
    return (f'# {time.strftime("%Y-%m-%d")}, {os.cpu_count()} cores of '
            f'{model[1] if model else platform.machine()}, Linux {platform.release()}, '
            f'load {os.getloadavg()[0]:.1f}, {rows.RUNS} runs')


def lines_of(rig, seeders, name):
    """What is to say about a row in which everybody seeds the same."""
    if name in rows.ROWS:
        row = rows.ROWS[name]
        return rows.lines(name, row, rows.run(rig, seeders, row, rows.RUNS))
    word = maps.missing(name)
    return [word] if word else maps.lines(name, maps.run(rig, seeders, name, rows.RUNS))


def compare(rig, names):
    """Prints the rows in which everybody seeds the same."""
    if not names:
        return
    seeders = find_seeders(rig)
    print(rows.head())
    verdicts = []
    for name in names:
        for line in lines_of(rig, seeders, name):
            if line.startswith('|'):
                print(line, flush=True)
            else:
                verdicts.append(line)
    print('', *verdicts, sep='\n', flush=True)


def main(stub, drawn):
    """All rows in their order."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # so that everything is cleaned up
    names = chosen()
    rig = Rig(stub, Path(drawn))
    try:
        print(machine(), flush=True)
        compare(rig, [name for name in names if name not in measures.MEASURES])
        for name in names:
            if name in measures.MEASURES:
                for line in measures.MEASURES[name](rig):
                    print(line, flush=True)
    finally:
        rig.close()


if __name__ == '__main__':
    main(*sys.argv[1:])
