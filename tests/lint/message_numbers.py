# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Each line of the log begins with a number of its own, such as TS0001, which the page of messages
"Monitoring and trouble" has. Lines of the level debug have none.

A number is never used again: the numbers go from 1 to the highest without a gap, and those of lines
that are no more stand in RETIRED. A new line gets the next number."""
import re

import lint
import messages

RETIRED = set()
CALL = re.compile(r'\b(?:tseed_log|ap_log_[rp]?error)\s*(?=\()')
DEBUG = re.compile(r'\b(?:TSEED_LOG_DEBUG|APLOG_DEBUG)\b')
SEVERE = re.compile(r'\bTSEED_LOG_[A-Z]+\b|\bAPLOG_(?!MARK|STARTUP|DEBUG)[A-Z]+\b')
PASSED_ON = re.compile(r'^\(\s*APLOG_MARK, \(int\)level,')      # the sink of numbered lines
OF_HTTPD = re.compile(r'^\(\s*APLOG_MARK, APLOG_STARTUP \| APLOG_ERR, 0, pool,')     # its own words
PROTOTYPE = re.compile(r'\bconst char \*format\b')
NUMBER = re.compile(r'^TS(\d{4}): ')
LISTED = re.compile(r'\bTS(\d{4})\b')


def lines(tree):
    """[(path, format)] of all lines of the log but those of the level debug."""
    found = []
    for path, text in lint.sources(tree, '.c').items():
        code = lint.blank_code(text, keep_strings=True)
        for call in CALL.finditer(code):
            inside = messages.arguments(code, call.end())
            bare = messages.STRING.sub('""', inside)
            is_debug = DEBUG.search(bare) and not SEVERE.search(DEBUG.sub('', bare))
            if not (is_debug or PASSED_ON.search(inside) or OF_HTTPD.search(inside) or
                    PROTOTYPE.search(inside)):
                literal = messages.STRING.search(inside)
                found.append((path, literal[1] if literal else ''))
    return found


def check(tree, retired=None):
    """Lines without a number, numbers that are wrong, and what the page has of them."""
    retired = RETIRED if retired is None else retired
    listed = {int(number) for number in LISTED.findall(tree.get(messages.PAGE, ''))}
    complaints, used = [], {}
    for path, text in lines(tree):
        number = NUMBER.match(text)
        if not number:
            complaints.append(f"{path}: '{text}' does not begin with a number such as TS0001: ")
        elif int(number[1]) in used:
            complaints.append(f'{path}: TS{number[1]} is a number of {used[int(number[1])]}, too')
        else:
            used[int(number[1])] = path
    complaints += [f'{used[one]}: TS{one:04} is retired' for one in sorted(retired & set(used))]
    complaints += [f'TS{one:04} is no number of a line, and not in RETIRED'
                   for one in range(1, max({0, *used, *retired}))
                   if one not in used and one not in retired]
    complaints += [f'{used[one]}: {messages.PAGE} does not list TS{one:04}'
                   for one in sorted(set(used) - listed)]
    complaints += [f'{messages.PAGE}: no line has TS{one:04}' for one in sorted(listed - set(used))]
    return complaints


def house(*formats, listed=''):
    """A tree that logs lines of these formats, with a list of numbers."""
    calls = ''.join(f'tseed_log(TSEED_LOG_INFO, 0, "{text}");\n' for text in formats)
    return {'mod_tileseed/base/a.c': calls,
            messages.PAGE: f'| it says | x |\n| --- | --- |\n| {listed} `x` | x |\n'}


LEVELS = 'tseed_log(is_new ? TSEED_LOG_ERROR : TSEED_LOG_DEBUG, 0, "x");'

if __name__ == '__main__':
    lint.run(check, broken=[
        ('a line without a number', house('the disk is full'), "'the disk is full' does not begin"),
        ('a line that is now and then debug', {'mod_tileseed/base/a.c': LEVELS}, 'does not begin'),
        ('a number of two lines', house('TS0001: a', 'TS0001: b', listed='TS0001'),
         'TS0001 is a number of'),
        ('a number that is not listed', house('TS0001: a'), 'does not list TS0001'),
        ('a list of more', house('TS0001: a', listed='TS0001, TS0002'), 'no line has TS0002'),
        ('a gap', house('TS0002: a', listed='TS0002'), 'TS0001 is no number of a line'),
    ], intact=[
        ('numbers from 1', house('TS0001: a', 'TS0002: b', listed='TS0002, TS0001')),
        ('a line for debugging', {'mod_tileseed/base/a.c': 'tseed_log(TSEED_LOG_DEBUG, 0, "x");'}),
    ])
