# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Every file begins with the two SPDX lines and says what it is for."""
import re

import lint

ENDINGS = ('.c', '.h', '.py', '.sh', '.am', '.ac', '.conf', '.load', '.map')
MARK = re.compile(r'^(?:/\*|#|//)\s*|\s*\*/$')
COMMENT = re.compile(r'(?:/\* ?|# |""")[A-Z\'<].{7}')
LICENCE = 'SPDX-License-Identifier: Apache-2.0'
OWNER = 'SPDX-FileCopyrightText: the mod_tileseed authors'


def has_head(path):
    """Whether a file must have the head."""
    return path.endswith(ENDINGS) or path in ('quickstart', '.ci/run')


def problem_of(text):
    """What is wrong with the head of a file, or None."""
    lines = text.split('\n')[:4]
    if lines[0].startswith('#!'):
        lines.pop(0)
    lines += [''] * 3
    words = [MARK.sub('', line) for line in lines]
    if words[0] != LICENCE:
        return f'the head must begin with "{LICENCE}"'
    if words[1] != OWNER:
        return f'the second line must be "{OWNER}"'
    if not COMMENT.match(lines[2]):
        return 'the line after the SPDX lines must say what the file is for'
    return None


def check(tree):
    """Every head."""
    found = ((path, problem_of(text)) for path, text in tree.items() if has_head(path))
    return [f'{path}: {problem}' for path, problem in found if problem]


HEAD = f'/* {LICENCE} */\n/* {OWNER} */\n'

if __name__ == '__main__':
    lint.run(check, broken=[
        ('a file without a licence', {'a.c': '/* Adds numbers. */\n'}, 'must begin'),
        ('a file without an owner', {'a.c': HEAD.split('\n')[0] + '\n/* Adds numbers. */\n'},
         'second line'),
        ('a file without a purpose', {'a.c': HEAD + '#include <stdio.h>\n'}, 'what the file is'),
        ('a script without a head', {'quickstart': '#!/bin/bash\nset -e\n'}, 'must begin'),
    ], intact=[
        ('a whole head', {'a.c': HEAD + '/* Adds numbers. */\n'}),
        ('a head below #!', {'quickstart': f'#!/bin/sh\n# {LICENCE}\n# {OWNER}\n# Adds all.\n'}),
    ])
