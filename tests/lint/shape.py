# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Lines, functions and files stay small: 100 columns, 80 lines, 4 levels, 6 parameters."""
import re

import lint

COLUMNS, LINES, LEVELS, PARAMETERS, FILE_LINES = 100, 80, 4, 6, 1200
TEXTS = ('.c', '.h', '.py', '.sh', '.conf', '.load', '.map', '.ac', '.am', 'quickstart', '.ci/run')


def check_lines(path, text):
    """Width, tabs and blanks at line ends."""
    complaints = []
    for number, line in lint.numbered(text):
        if len(line) > COLUMNS:
            complaints.append(f'{path}:{number}: {len(line)} columns, at most {COLUMNS}')
        if '\t' in line and not path.endswith('.am'):
            complaints.append(f'{path}:{number}: a tab')
        if line != line.rstrip():
            complaints.append(f'{path}:{number}: blanks at the end of the line')
    if not text.endswith('\n') or text.endswith('\n\n'):
        complaints.append(f'{path}: must end with one line break')
    return complaints


def depth_of(block):
    """How deep the braces of a block are nested."""
    level = deepest = 0
    for brace in re.findall(r'[{}]', block):
        level += 1 if brace == '{' else -1
        deepest = max(deepest, level)
    return deepest


def count_parameters(text):
    """How many parameters a list declares; commas inside parentheses belong to one."""
    flat = re.sub(r'\([^()]*\)', '', text).strip()
    return 0 if flat in ('', 'void') else flat.count(',') + 1


def check_functions(path, text):
    """Length, nesting and parameters of every function."""
    code = lint.blank_directives(lint.blank_code(text))
    complaints = []
    for head, line, block in lint.outer_blocks(code):
        name = lint.function_name(head)
        if not name:
            continue
        if name.startswith('tseed_') and re.search(r'\bstatic\b', head.split(';')[-1]):
            complaints.append(f'{path}:{line}: {name} is static, so its name has no prefix')
        length, deepest = block.count('\n') + 1, depth_of(block)
        parameters = count_parameters(lint.FUNCTION.search(head)[2])
        for value, most, what in ((length, LINES, 'lines'), (deepest, LEVELS, 'levels'),
                                  (parameters, PARAMETERS, 'parameters')):
            if value > most:
                complaints.append(f'{path}:{line}: {name} has {value} {what}, at most {most}')
    return complaints


def check(tree):
    """All texts; the functions of C only."""
    complaints = []
    for path, text in tree.items():
        if path.endswith(TEXTS):
            complaints += check_lines(path, text)
        if path.endswith('.c'):
            complaints += check_functions(path, text)
        if path.endswith(('.c', '.h')) and text.count('\n') > FILE_LINES:
            complaints.append(f'{path}: more than {FILE_LINES} lines')
    return complaints


def function(body, parameters='void'):
    """A tree of one function."""
    return {'a.c': f'static int add({parameters})\n{{\n{body}}}\n'}


if __name__ == '__main__':
    lint.run(check, broken=[
        ('a wide line', {'a.c': '/* ' + 'x' * 99 + ' */\n'}, 'columns'),
        ('a tab', {'a.py': 'def f():\n\tpass\n'}, 'a tab'),
        ('a blank at the end', {'a.c': 'int a; \n'}, 'blanks at the end'),
        ('a missing line break', {'a.c': 'int a;'}, 'one line break'),
        ('a long function', function('    step();\n' * 79), 'has 81 lines'),
        ('deep nesting', function('if (a) { if (b) { while (c) { if (d) { e(); } } } }\n'),
         'has 5 levels'),
        ('many parameters', function('', 'int a, int b, int c, int d, int e, int f, int g'),
         'has 7 parameters'),
        ('a prefix', {'a.c': 'static int tseed_add(void)\n{\n}\n'}, 'has no prefix'),
        ('a long file', {'a.h': 'int a;\n' * 1201}, 'more than 1200 lines'),
    ], intact=[
        ('a function at the limits', function('    step();\n' * 78, 'int (*f)(int, int), int b')),
        ('braces in texts and comments', function('    say("{{{{{"); /* {{{{{ */\n')),
        ('a tab in a make file', {'Makefile.am': 'all:\n\ttrue\n'}),
    ])
