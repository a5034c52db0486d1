# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The files that mod_tileseed/README.md names are there. The table of its chapter "Locks" names
each file that has a lock between threads, or a type of that file.

It looks at each file by itself and for the name of a lock alone. It cannot see which lock a thread
holds while it calls into another file. So neither the order of the table nor what must not be done
under a lock is checked here; ThreadSanitizer sees an order that is turned round, when both ways are
gone in a test."""
import re

import lint

PAGE = 'mod_tileseed/README.md'
LOCKS = re.compile(r'(?ms)^## Locks$(.*?)(?=^## |\Z)')
LOCK = re.compile(r'(?m)^(?:static )? *(?:pthread|apr_thread)_(?:mutex|rwlock)_t \*?\w+(?: =|;)')
FILE = re.compile(r'`(?:(\w+)/)?((?:mod_)?t(?:ile)?seed_\w+\.[ch])`')


def missing(tree, page):
    """The files that the page names and the tree lacks; a file may be named without its room."""
    there = {path.split('/', 1)[1] for path in lint.sources(tree)}
    there |= {path.split('/')[1] for path in there}
    named = {'/'.join(part for part in found if part) for found in FILE.findall(page)}
    return sorted(named - there)


def check(tree):
    """The page against the tree."""
    page = tree.get(PAGE, '')
    chapter = LOCKS.search(page)
    table = re.findall(r'(?m)^\| .*', chapter[1] if chapter else '')
    complaints = [f'{PAGE}: there is no {name}' for name in missing(tree, page)]
    for path, text in sorted(lint.sources(tree).items()):
        stem = path.rsplit('/', 1)[1].rsplit('.', 1)[0]
        if LOCK.search(text) and not any(re.search(rf'\b{stem}(?:_t)?\b', row) for row in table):
            complaints.append(f'{PAGE}: the table of locks lacks {path}')
    return complaints


LOG = 'mod_tileseed/base/tseed_log.c'
LOCKED = 'static pthread_mutex_t lock;\n'

if __name__ == '__main__':
    lint.run(check, broken=[
        ('a file that is not there', {LOG: '', PAGE: 'see `base/tseed_lock.c`\n'},
         'no base/tseed_lock.c'),
        ('a lock that is missing', {LOG: LOCKED, PAGE: '## Locks\n\n| `tseed_text` | all |\n'},
         'the table of locks lacks mod_tileseed/base/tseed_log.c'),
        ('a table that is missing', {LOG: LOCKED}, 'the table of locks lacks'),
    ], intact=[
        ('a lock in the table', {LOG: LOCKED, PAGE: '## Locks\n\n| `tseed_log` | lines |\n'}),
        ('a file without its room', {LOG: '', PAGE: 'see `tseed_log.c`\n'}),
    ])
