# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Every source and every test is listed in Makefile.am, and what is listed exists.

No Python file has the name of a standard module: a script finds its neighbours before those.
"""
import pathlib
import re
import sys

import lint

ENDINGS = ('.c', '.h', '.py', '.sh', '.md', '.map', '.conf', '.load')
PROGRAM = re.compile(r'/(?:test|fuzz)_\w+$')
WORD = re.compile(r'(?<![\w/)])(?:mod_tileseed|tests|conf)/[\w./-]+')


def listed_paths(makefile):
    """The paths that Makefile.am names outside comments; programs stand for their sources."""
    text = re.sub(r'(?m)^#.*$', '', makefile)
    return set(WORD.findall(text))


def check(tree):
    """Files that no list names, and names without a file."""
    listed = listed_paths(tree['Makefile.am'])
    present = {path for path in tree if path.endswith(ENDINGS) and '/' in path}
    named = listed | {path + '.c' for path in listed}
    complaints = [f'{path}: not listed in Makefile.am' for path in sorted(present - named)]
    for path in sorted(listed):
        source = path + '.c' if PROGRAM.search(path) else path
        if source.endswith(ENDINGS) and source not in tree:
            complaints.append(f'Makefile.am: {source} does not exist')
    complaints += [f'{path}: hides the standard module of that name' for path in sorted(present)
                   if path.endswith('.py') and pathlib.Path(path).stem in sys.stdlib_module_names]
    return complaints


LIST = 'a_SOURCES = \\\n\tmod_tileseed/base/a.c\nunit_tests = tests/unit/test_a\n'
FILES = {'Makefile.am': LIST, 'mod_tileseed/base/a.c': '', 'tests/unit/test_a.c': ''}

if __name__ == '__main__':
    lint.run(check, broken=[
        ('a source that is not listed', {**FILES, 'mod_tileseed/base/b.c': ''}, 'base/b.c: not'),
        ('a unit test that is not listed', {**FILES, 'tests/unit/test_b.c': ''}, 'test_b.c: not'),
        ('an httpd test that is not listed', {**FILES, 'tests/httpd/test_b.py': ''},
         'test_b.py: not'),
        ('a listing in a comment only', {**FILES, 'Makefile.am': LIST + '# mod_tileseed/base/b.c\n',
                                         'mod_tileseed/base/b.c': ''}, 'base/b.c: not'),
        ('a listed source that is gone', {'Makefile.am': LIST, 'tests/unit/test_a.c': ''},
         'base/a.c does not exist'),
        ('a listed test that is gone', {'Makefile.am': LIST, 'mod_tileseed/base/a.c': ''},
         'test_a.c does not exist'),
        ('a neighbour that hides a standard module',
         {**FILES, 'Makefile.am': LIST + '\ttests/httpd/types.py\n', 'tests/httpd/types.py': ''},
         'types.py: hides the standard'),
    ], intact=[('a complete list', FILES)])
