# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The map of the rooms in mod_tileseed/README.md has every module once, and none that is not there.
The files that the page names are there. The table of its chapter "Locks" names each file that has a
lock between threads, or a type of that file.

A room is a heading `### room/ ...` of the chapter "Map". A row of its table begins with the names
of one module or of several, in backticks and without `tseed_` or `mod_tileseed_`.
"""
import re

import lint

PAGE = 'mod_tileseed/README.md'
CHAPTER = re.compile(r'(?ms)^## Map$(.*?)(?=^## |\Z)')
ROOM = re.compile(r'(?m)^### (\w+)/')
ROW = re.compile(r'(?m)^\| (`[^|]*`) \|')
LOCKS = re.compile(r'(?ms)^## Locks$(.*?)(?=^## |\Z)')
LOCK = re.compile(r'(?m)^(?:static )? *(?:pthread|apr_thread)_(?:mutex|rwlock)_t \*?\w+(?: =|;)')
NAME = re.compile(r'`(\w+)`')
FILE = re.compile(r'`(?:(\w+)/)?((?:mod_)?t(?:ile)?seed_\w+\.[ch])`')
PREFIX = re.compile(r'^(?:tseed|mod_tileseed)_')


def modules(tree):
    """The modules of the tree as (room, name): header and source of one name are one module."""
    found = set()
    for path in lint.sources(tree):
        _, room, name = path.split('/')
        found.add((room, PREFIX.sub('', name.rsplit('.', 1)[0])))
    return found


def listed(page):
    """The modules of the map, as often as they are in it."""
    chapter = CHAPTER.search(page)
    parts = ROOM.split(chapter[1] if chapter else '')
    found = []
    for room, text in zip(parts[1::2], parts[2::2]):
        found += [(room, name) for row in ROW.findall(text) for name in NAME.findall(row)]
    return found


def missing(tree, page):
    """The files that the page names and the tree lacks; a file may be named without its room."""
    there = {path.split('/', 1)[1] for path in lint.sources(tree)}
    there |= {path.split('/')[1] for path in there}
    named = {'/'.join(part for part in found if part) for found in FILE.findall(page)}
    return sorted(named - there)


def unlisted_locks(tree, page):
    """The files that have a lock which the table does not name."""
    chapter = LOCKS.search(page)
    table = re.findall(r'(?m)^\| .*', chapter[1] if chapter else '')
    for path, text in sorted(lint.sources(tree).items()):
        stem = path.rsplit('/', 1)[1].rsplit('.', 1)[0]
        if LOCK.search(text) and not any(re.search(rf'\b{stem}(?:_t)?\b', row) for row in table):
            yield f'{PAGE}: the table of locks lacks {path}'


def check(tree):
    """The page against the tree."""
    there, rows = modules(tree), listed(tree.get(PAGE, ''))
    complaints = [f'{PAGE}: the map lacks {room}/{name}'
                  for room, name in sorted(there - set(rows))]
    for room, name in sorted(set(rows)):
        if (room, name) not in there:
            complaints.append(f'{PAGE}: the map has {room}/{name}, which is not there')
        elif rows.count((room, name)) > 1:
            complaints.append(f'{PAGE}: the map has {room}/{name} twice')
    complaints += unlisted_locks(tree, tree.get(PAGE, ''))
    absent = missing(tree, tree.get(PAGE, ''))
    return complaints + [f'{PAGE}: there is no {name}' for name in absent]


def sample(rows):
    """A tree of one room with two modules, and the map's rows."""
    return {'mod_tileseed/base/tseed_log.h': '', 'mod_tileseed/base/tseed_log.c': '',
            'mod_tileseed/base/tseed_text.c': '',
            PAGE: f'## Map\n\n### base/: helpers\n\n{rows}\n## Next\n\n| `none` | no row |\n'}


if __name__ == '__main__':
    lint.run(check, broken=[
        ('a module that is missing', sample('| `log` | lines |\n'), 'lacks base/text'),
        ('a module that is not there', sample('| `log`, `text`, `lock` | all |\n'),
         'has base/lock'),
        ('a module that stands twice', sample('| `log`, `text` | all |\n| `log` | lines |\n'),
         'base/log twice'),
        ('a file that is not there', sample('| `log`, `text` | see `base/tseed_lock.c` |\n'),
         'no base/tseed_lock.c'),
        ('a lock that is missing', sample('| `log`, `text` | all |\n') | {
            'mod_tileseed/base/tseed_log.c': 'static pthread_mutex_t lock;\n'},
         'the table of locks lacks mod_tileseed/base/tseed_log.c'),
        ('a map that is missing', {'mod_tileseed/base/tseed_log.c': ''}, 'lacks base/log'),
    ], intact=[
        ('a row for two modules', sample('| `log`, `text` | see `tseed_log.c` |\n')),
    ])
