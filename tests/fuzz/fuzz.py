#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Runs targets under libFuzzer: fuzz.py BUILD MINUTES TARGET...

BUILD is a directory of its own, configured for clang. Each target runs for some minutes, as many
targets side by side as there are processors. A run begins with the corpus of the tree and with the
inputs that earlier runs have found, which lie in BUILD/corpus.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
CORPORA = TOP / 'tests/fuzz/corpus'
SLOWEST = 60    # seconds for one input, which is never reached but by an endless loop


def build_targets(build, targets):
    """Configures the directory once and builds what has changed."""
    build.mkdir(parents=True, exist_ok=True)
    if not (build / 'Makefile').exists():
        compiler = os.environ.get('FUZZ_CC', 'clang')
        subprocess.run([TOP / 'configure', '-q', '--enable-fuzz', f'CC={compiler}',
                        'CFLAGS=-g -O2'], cwd=build, check=True)
    programs = [f'tests/fuzz/fuzz_{target}' for target in targets]
    subprocess.run(['make', '-s', f'-j{os.cpu_count()}', *programs], cwd=build, check=True)


def figure(log, name):
    """One number of libFuzzer's last words."""
    found = re.search(rf'^stat::{name}: *(\d+)', log, re.MULTILINE)
    return int(found[1]) if found else 0


def run_target(build, target, minutes):
    """Runs one target. Returns whether it found nothing, and says so."""
    found, corpus = build / 'found', build / 'corpus' / target
    for folder in found, corpus:
        folder.mkdir(parents=True, exist_ok=True)
    log = build / f'{target}.log'
    with open(log, 'w', encoding='utf-8') as output:
        status = subprocess.run(
            [build / f'tests/fuzz/fuzz_{target}', f'-max_total_time={round(60 * minutes)}',
             '-print_final_stats=1', f'-timeout={SLOWEST}', f'-artifact_prefix={found}/{target}-',
             corpus, CORPORA / target],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False).returncode
    text = log.read_text(encoding='utf-8', errors='replace')
    print(f'{target}: {figure(text, "number_of_executed_units")} runs, '
          f'{figure(text, "average_exec_per_sec")} a second', flush=True)
    if status:
        inputs = re.findall(r'Test unit written to (\S+)', text)
        print(f'{target}: failed, see {log}; the input is {" ".join(inputs) or "not known"}',
              flush=True)
    return not status


def main():
    """Ends with 1 when a target has failed."""
    build, minutes, targets = pathlib.Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    build_targets(build, targets)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(pool.map(lambda target: run_target(build, target, minutes), targets))
    sys.exit(not all(good))


if __name__ == '__main__':
    main()
