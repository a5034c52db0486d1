# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Children that httpd starts when the signal that ends its children wakes it.

In such a child SIGTERM has httpd destroy its pools at once (just_die of the MPMs), be it within
malloc: it crashes now and then, in httpd without a module as well. A child that was there before
the signal has no such excuse.
"""
import re

CRASH = re.compile(r'child pid (\d+) exit signal (?:Segmentation|Abort|Bus|Illegal)')
# what the C library says before it aborts
ABORT = re.compile(r'^(?:free|malloc|realloc|munmap_chunk|malloc_consolidate|unlink_chunk)\(\)|'
                   r'^corrupted |^double free|^munmap_chunk')
GOES_ON = 'resuming normal operations'


def crashes_of_newborn(log, ends):
    """The indices of lines that tell of such crashes. `log` has the lines of the error log; `ends`
    tells of each signal how many lines there were, and which children."""
    found = set()
    for begin, children in ends:
        window = []
        for at in range(begin, len(log)):
            if GOES_ON in log[at]:
                break
            window.append(at)
        crashes = [at for at in window if (match := CRASH.search(log[at])) and
                   int(match.group(1)) not in children]
        words = [at for at in window if ABORT.search(log[at])]
        found.update(crashes, words[:len(crashes)])
    return found
