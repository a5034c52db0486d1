# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What httpd's processes were at when they crashed, or did not end: crashes.c has them write their
calls, the innermost first. Two faults of httpd 2.4 show there. Both were seen in an httpd without
the module as well, under load.

A child that is just starting destroys its pools in the handler of SIGTERM (just_die of the MPMs).
Where that comes within malloc, its heap is half changed or locked: it aborts, faults, or waits for
itself until httpd kills it.

A child of event that is to end at once closes the sockets of its workers while they work
(close_worker_sockets): a socket of a request that has just ended is read after it was freed.
"""
import atexit
import ctypes
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

CALLS_SIGNAL = signal.SIGTRAP
CRASH = re.compile(r'child pid (\d+) exit signal (?:Segmentation|Abort|Bus|Illegal)')
KILLED = re.compile(r'AH00046: child process (\d+) still did not exit')
# what the C library says before it aborts
ABORT = re.compile(r'^(?:free|malloc|realloc|munmap_chunk|malloc_consolidate|unlink_chunk)\(\)|'
                   r'^corrupted |^double free|^munmap_chunk')
SOCKETS = re.compile(r'\(apr_(?:os_sock_get|socket_\w+)\+\S*\n(?:\S*/libapr\S*\n)*'
                     r'\S*/mod_mpm_event\.so')
TITLE = re.compile(r'^signal \d+ in thread \d+\n', re.M)
OURS = 'mod_tileseed'
HANDLERS = '/crashes.so('             # frames of crashes.c itself


@functools.cache
def library():
    """crashes.c, compiled."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix='tileseed-crashes-'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = folder / 'crashes.so'
    subprocess.run(['cc', '-shared', '-fPIC', '-O1', '-D_GNU_SOURCE', '-o', str(made),
                    str(pathlib.Path(__file__).with_name('crashes.c'))], check=True)
    return made


def can_be_asked(pid):
    """Whether a process has crashes.c's handler of CALLS_SIGNAL."""
    try:
        status = pathlib.Path(f'/proc/{pid}/status').read_text()
    except OSError:
        return False
    caught = int(re.search(r'^SigCgt:\s+(\w+)', status, re.M).group(1), 16)
    return bool(caught >> (CALLS_SIGNAL - 1) & 1)


def ask(pid, folder):
    """Has each thread of a process write its calls there, the first thread first."""
    os.kill(pid, CALLS_SIGNAL)
    deadline = time.monotonic() + 1
    while not (folder / str(pid)).exists() and time.monotonic() < deadline:
        time.sleep(.01)
    for thread in pathlib.Path(f'/proc/{pid}/task').iterdir():
        if thread.name != str(pid):
            ctypes.CDLL(None).tgkill(pid, int(thread.name), CALLS_SIGNAL)


def read_calls(folder):
    """The calls of the processes that left any there: {pid: text}."""
    return {int(file.name): file.read_text(errors='replace') for file in folder.iterdir()}


def excused_lines(log, calls):
    """The indices of lines of the error log that tell of httpd's own faults. `calls` are those of
    read_calls()."""
    def is_excused(line, words):
        match = words.search(line)
        return match and is_fault_of_httpd(calls.get(int(match.group(1)), ''))

    crashes = [at for at, line in enumerate(log) if is_excused(line, CRASH)]
    kills = [at for at, line in enumerate(log) if is_excused(line, KILLED)]
    aborts = [at for at, line in enumerate(log) if ABORT.search(line)]
    return {*crashes, *kills, *aborts[:len(crashes)]}


def is_fault_of_httpd(calls):
    """Whether calls show one of httpd's two faults, and nothing of the module."""
    _, *texts = TITLE.split(calls)
    return bool(texts) and OURS not in texts[0] and (
        dies_in_handler([frame for frame in texts[0].splitlines() if HANDLERS not in frame]) or
        bool(SOCKETS.search(texts[0])))


def dies_in_handler(frames):
    """Whether the process was in a signal handler of its MPM. The first frame is the kernel's way
    into the handler of crashes.c; the same frame further down is the way into another."""
    return any('/mod_mpm_' in handler and into == frames[0]
               for handler, into in zip(frames[1:], frames[2:]))
