# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Every cmocka test is registered, in the one group of its program, under a speaking name."""
import re

import lint

DEFINED = re.compile(r'(?m)^(?:static\s+)?void\s+(test_\w+)\s*\(\s*void\s*\*\*')
REGISTERED = re.compile(r'\bcmocka_unit_test\w*\s*\(\s*(test_\w+)')
GROUP = re.compile(r'\bcmocka_run_group_tests\w*\s*\(')


def check_file(path, code):
    """The complaints about one test program."""
    defined, registered = DEFINED.findall(code), REGISTERED.findall(code)
    complaints = [f'{path}: {name} is not registered' for name in defined if name not in registered]
    complaints += [f'{path}: {name} is registered twice'
                   for name in sorted(set(registered)) if registered.count(name) > 1]
    complaints += [f'{path}: {name} must be called test_<noun>__<behaviour>'
                   for name in defined if not re.fullmatch(r'test_[a-z0-9_]+?__[a-z0-9_]+', name)]
    if len(GROUP.findall(code)) != 1:
        complaints.append(f'{path}: needs exactly one cmocka_run_group_tests, TAP has one plan')
    return complaints


def check(tree):
    """Every test program below tests/unit."""
    complaints = []
    for path, text in lint.sources(tree, '.c', 'tests/unit/test_').items():
        complaints += check_file(path, lint.blank_code(text))
    return complaints


def program(registered, groups=1, name='test_sum__adds'):
    """A tree of one test program."""
    listed = ', '.join(f'cmocka_unit_test({one})' for one in registered)
    runs = 'return cmocka_run_group_tests(tests, NULL, NULL);\n' * groups
    return {'tests/unit/test_sum.c': f'static void {name}(void **state)\n{{\n}}\n\n'
            f'int main(void)\n{{\nconst struct CMUnitTest tests[] = {{{listed}}};\n{runs}}}\n'}


if __name__ == '__main__':
    lint.run(check, broken=[
        ('a test that is not registered', program([]), 'not registered'),
        ('a test registered in a comment only', program(['/* test_sum__adds */ x']),
         'not registered'),
        ('a test registered twice', program(['test_sum__adds'] * 2), 'twice'),
        ('a name without a behaviour', program(['test_sum'], name='test_sum'), 'must be called'),
        ('a second group', program(['test_sum__adds'], groups=2), 'exactly one'),
    ], intact=[('a whole program', program(['test_sum__adds']))])
