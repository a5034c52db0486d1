# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The manual's table of savings that go together is the code's."""
import re

import lint

CODE = 'mod_tileseed/savings/tseed_together.h'
MANUAL = 'mod_tileseed/manual/directives.md'
ROW = re.compile(r'X\((\w+), (\w+), (\w+),[\s\\]*"([^"]*)"\)')
LINE = re.compile(r'(?m)^\| (\w+), (\w+) \| (\w+(?: \w+)*) \| (.*) \|$')
WORDS = {'BOTH': 'yes', 'ONE': 'apart', 'NEVER': 'no'}


def check(tree):
    """Complaints about rows that one of the two lacks."""
    code = {(a.lower(), b.lower(), WORDS.get(how), why)
            for a, b, how, why in ROW.findall(tree.get(CODE, ''))}
    manual = set(LINE.findall(tree.get(MANUAL, '')))
    if not code:
        return [f'{CODE}: no row found']
    return [f'{MANUAL}: the table lacks {row}' for row in sorted(code - manual)] + \
           [f'{CODE}: the table lacks {row}' for row in sorted(manual - code)]


if __name__ == '__main__':
    ONE = '    X(JOINED, PRUNED, ONE,    \\\n      "why not")\n'
    lint.run(check, broken=[
        ('a code without a table', {MANUAL: '| a, b | yes | x |\n'}, 'no row'),
        ('a row that the manual lacks', {CODE: ONE, MANUAL: ''}, 'the table lacks'),
        ('another reason', {CODE: ONE, MANUAL: '| joined, pruned | apart | why |\n'},
         'the table lacks'),
        ('a row that the code lacks', {CODE: ONE, MANUAL: '| joined, shared | yes | so |\n'
                                       '| joined, pruned | apart | why not |\n'},
         f'{CODE}: the table lacks'),
    ], intact=[
        ('the same rows',
         {CODE: ONE, MANUAL: '| joined, pruned | apart | why not |\n'}),
    ])
