# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Every cmocka test is registered, in the one group of its program, under a speaking name, and
Makefile.am builds the program and names each file of Python below tests/: what no list names would
never run, or not be shipped."""
import re

import lint

DEFINED = re.compile(r'(?m)^(?:static\s+)?void\s+(test_\w+)\s*\(\s*void\s*\*\*')
TABLE = re.compile(r'\bCMUnitTest\s+\w+\[\]\s*=\s*\{(.*?)\};', re.S)
ENTRY = re.compile(r'\(\s*(\w+)')     # of cmocka_unit_test or of a macro around it
GROUP = re.compile(r'\bcmocka_run_group_tests\w*\s*\(')


def times_registered(name, entries):
    """How often a test is in the table; a macro may put test_<noun>__ before what it is given."""
    return sum(entry in (name, name.partition('__')[2]) for entry in entries)


def check_file(path, code):
    """The complaints about one test program."""
    entries = ENTRY.findall(' '.join(TABLE.findall(code)))
    complaints = []
    for name in DEFINED.findall(code):
        times = times_registered(name, entries)
        if times != 1:
            complaints.append(f'{path}: {name} is registered {times} times, once is right')
        if not re.fullmatch(r'test_[a-z0-9_]+?__[a-z0-9_]+', name):
            complaints.append(f'{path}: {name} must be called test_<noun>__<behaviour>')
    if len(GROUP.findall(code)) != 1:
        complaints.append(f'{path}: needs exactly one cmocka_run_group_tests, TAP has one plan')
    return complaints


def check(tree):
    """Every test program below tests/unit."""
    complaints = []
    listed = set(re.findall(r'tests/unit/\w+', tree['Makefile.am']))
    for path, text in lint.sources(tree, '.c', 'tests/unit/test_').items():
        complaints += check_file(path, lint.blank_code(text))
        if path[:-2] not in listed:
            complaints.append(f'{path}: Makefile.am builds no such program')
    named = set(tree['Makefile.am'].split())
    return complaints + [f'{path}: Makefile.am does not name it' for path in tree
                         if re.fullmatch(r'tests/.*\.py', path) and path not in named]


def program(registered, groups=1, name='test_sum__adds', call=''):
    """A tree of one test program."""
    listed = ', '.join(f'cmocka_unit_test({one})' for one in registered)
    runs = 'return cmocka_run_group_tests(tests, NULL, NULL);\n' * groups
    return {'Makefile.am': 'unit_tests = tests/unit/test_sum\n',
            'tests/unit/test_sum.c': f'static void {name}(void **state)\n{{\n}}\n\n'
            f'int main(void)\n{{\nconst struct CMUnitTest tests[] = {{{listed}}};\n'
            f'{call}{runs}}}\n'}


if __name__ == '__main__':
    lint.run(check, broken=[
        ('a file of Python that no list has', {**program(['test_sum__adds']), 'tests/a/b.py': ''},
         'does not name it'),
        ('a test that is not registered', program([]), 'registered 0 times'),
        ('a test registered in a comment only', program(['/* test_sum__adds */ x']),
         'registered 0 times'),
        ('a test that is only called', program(['test_sum__other'], call='test_sum__adds(NULL);'),
         'test_sum__adds is registered 0'),
        ('a test registered twice', program(['test_sum__adds'] * 2), 'registered 2 times'),
        ('a name without a behaviour', program(['test_sum'], name='test_sum'), 'must be called'),
        ('a program that is not built', program(['test_sum__adds']) | {'Makefile.am': ''},
         'builds no such'),
        ('a second group', program(['test_sum__adds'], groups=2), 'exactly one'),
    ], intact=[
        ('a whole program', program(['test_sum__adds'])),
        ('a name completed by a macro', program(['adds'])),
    ])
