# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Rooms include only what lies below them, and each foreign library is seen by one room."""
import re

import lint

LEVELS = (('base',), ('tiling',), ('layer',), ('protocol',),
          ('board', 'image', 'quota', 'source', 'state', 'store'),
          ('work',), ('books',), ('fleet', 'savings'), ('pipeline',), ('seeder',), ('httpd',))
LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
CLIENT = {'ctl': ('base', 'tiling', 'protocol')}    # a program of its own; no room sees it
OWNED = (
    (re.compile(r'xxh'), ('base',)),
    (re.compile(r'libxml/'), ('protocol',)),
    (re.compile(r'json'), ('protocol', 'ctl')),
    (re.compile(r'proj\.h|proj_|geodesic\.h'), ('tiling',)),
    (re.compile(r'curl/'), ('source', 'ctl')),
    (re.compile(r'png|jpeglib|turbojpeg|libdeflate|zlib|webp/'), ('image',)),
    (re.compile(r'apr_dbd|sqlite3'), ('state',)),
    (re.compile(r'httpd|http_\w+|ap_\w+|util_\w+|mod_\w+|unixd|scoreboard|mpm_common'),
     ('httpd',)),
)
SQL = re.compile(r'"\s*(?:SELECT .* FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)\b')
INCLUDE = re.compile(r'\s*#\s*include\s+([<"])([^>"]+)[>"]')


def may_include(room, other):
    """Whether a room may include headers of another one."""
    if room in CLIENT:
        return other in CLIENT[room]
    return LEVEL_OF.get(other, 99) < LEVEL_OF[room]


def judge_own(room, name, tree):
    """A complaint about an include of one of the project's headers, or None."""
    if room == 'httpd' and name.startswith('mod_tileseed'):
        name = f'httpd/{name}'      # the glue speaks of its own headers without the room
    if 'mod_tileseed/' + name not in tree:
        return f'"{name}" is no header of the project; write "room/tseed_noun.h"'
    other = name.split('/')[0]
    if other != room and not may_include(room, other):
        return f'{room}/ must not include "{name}": only rooms below it'
    return None


def judge_foreign(room, name):
    """A complaint about an include of a library's header, or None."""
    for pattern, owners in OWNED:
        if pattern.match(name) and room not in owners:
            return f'only {"/ and ".join(owners)}/ may include <{name}>'
    return None


def check_file(path, text, tree):
    """The complaints about one source."""
    room = path.split('/')[1]
    if room not in LEVEL_OF and room not in CLIENT:
        return [f'{path}: {room}/ is no room of this house']
    complaints = []
    for number, line in lint.numbered(lint.blank_code(text, keep_strings=True)):
        found = INCLUDE.match(line)
        problem = None
        if found and found[1] == '"':
            problem = judge_own(room, found[2], tree)
        elif found:
            problem = judge_foreign(room, found[2])
        elif SQL.search(line) and room not in ('state', 'fleet'):
            problem = 'SQL stands in state/ and fleet/ only'
        if problem:
            complaints.append(f'{path}:{number}: {problem}')
    return complaints


def check(tree):
    """Every include and every statement of the rooms."""
    complaints = []
    for path, text in lint.sources(tree).items():
        complaints += check_file(path, text, tree)
    return complaints


def one(path, line, header='mod_tileseed/board/tseed_board.h'):
    """A tree of one header and one source with one line."""
    return {header: '', path: line + '\n'}


if __name__ == '__main__':
    lint.run(check, broken=[
        ('an include of a room above',
         one('mod_tileseed/tiling/a.c', '#include "board/tseed_board.h"'), 'only rooms below'),
        ('an include between neighbours',
         one('mod_tileseed/state/a.c', '#include "board/tseed_board.h"'), 'only rooms below'),
        ('a header without its room', one('mod_tileseed/board/a.c', '#include "tseed_board.h"'),
         'write "room/tseed_noun.h"'),
        ('a header that is not there',
         one('mod_tileseed/seeder/a.c', '#include "board/tseed_bord.h"'), 'no header of the'),
        ('httpd outside its room', one('mod_tileseed/seeder/a.c', '#include <http_log.h>'),
         'only httpd/'),
        ('json-c outside protocol', one('mod_tileseed/httpd/a.c', '# include <json-c/json.h>'),
         'only protocol/ and ctl/'),
        ('libxml2 in the client', one('mod_tileseed/ctl/a.c', '#include <libxml/tree.h>'),
         'only protocol/'),
        ('curl outside source', one('mod_tileseed/seeder/a.c', '#include <curl/curl.h>'),
         'only source/ and ctl/'),
        ('a room of the seeder in the client',
         one('mod_tileseed/ctl/a.c', '#include "board/tseed_board.h"'), 'only rooms below'),
        ('the client in a room',
         one('mod_tileseed/httpd/a.c', '#include "ctl/tseed_ctl.h"',
             'mod_tileseed/ctl/tseed_ctl.h'),
         'only rooms below'),
        ('xxHash outside base', one('mod_tileseed/state/a.c', '#include <xxhash.h>'),
         'only base/'),
        ('PROJ outside tiling', one('mod_tileseed/protocol/a.c', '#include <proj.h>'),
         'only tiling/'),
        ('an image library in source', one('mod_tileseed/source/a.c', '#include <png.h>'),
         'only image/'),
        ('apr_dbd outside state', one('mod_tileseed/seeder/a.c', '#include <apr_dbd.h>'),
         'only state/'),
        ('SQL outside state', one('mod_tileseed/seeder/a.c', 'q("SELECT id FROM task");'),
         'SQL stands in'),
        ('an unknown room', one('mod_tileseed/util/a.c', ''), 'no room of this house'),
    ], intact=[
        ('an include of a room below',
         one('mod_tileseed/seeder/a.c', '#include "board/tseed_board.h"')),
        ('the client', one('mod_tileseed/ctl/a.c', '#include "base/tseed_log.h"\n'
                           '#include <curl/curl.h>\n#include <json-c/json.h>',
                           'mod_tileseed/base/tseed_log.h')),
        ('the glue among itself', one('mod_tileseed/httpd/a.c', '#include "mod_tileseed_rest.h"',
                                      'mod_tileseed/httpd/mod_tileseed_rest.h')),
        ('an include in a comment', one('mod_tileseed/base/a.c', '/*\n#include <png.h>\n*/')),
    ])
