# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Lines, functions and files stay small: 100 columns, 80 lines, 4 levels, 6 parameters."""
import re

import lint

COLUMNS, LINES, LEVELS, PARAMETERS, FILE_LINES = 100, 80, 4, 6, 1200
TEXTS = ('.c', '.h', '.py', '.sh', '.conf', '.load', '.map', '.ac', '.am', 'quickstart', '.ci/run')
HEAD = re.compile(r'(\w+)\s*\(([^{};]*)\)[\s\w()]*$')


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


def outer_blocks(code):
    """The blocks at level 0 as (head before the brace, first line, last line, deepest level)."""
    level, line, after, deepest, start, head = 0, 1, 0, 0, 0, ''
    for match in re.finditer(r'[{}\n]', code):
        if match[0] == '\n':
            line += 1
        elif match[0] == '{':
            if level == 0:
                head, start, deepest = code[after:match.start()], line, 0
            level += 1
            deepest = max(deepest, level)
        elif level:
            level -= 1
            after = match.end()
            if level == 0:
                yield head, start, line, deepest


def count_parameters(text):
    """How many parameters a list declares; commas inside parentheses belong to one."""
    flat = re.sub(r'\([^()]*\)', '', text).strip()
    return 0 if flat in ('', 'void') else flat.count(',') + 1


def check_functions(path, text):
    """Length, nesting and parameters of every function."""
    code = re.sub(r'(?m)^[ \t]*#(?:.*\\\n)*.*$', lambda found: '\n' * found[0].count('\n'),
                  lint.blank_code(text))
    complaints = []
    for head, first, last, deepest in outer_blocks(code):
        found = HEAD.search(head)
        if not found or '=' in head.split(';')[-1]:
            continue
        name, length, parameters = found[1], last - first + 1, count_parameters(found[2])
        for value, most, what in ((length, LINES, 'lines'), (deepest, LEVELS, 'levels'),
                                  (parameters, PARAMETERS, 'parameters')):
            if value > most:
                complaints.append(f'{path}:{first}: {name} has {value} {what}, at most {most}')
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
        ('a long file', {'a.h': 'int a;\n' * 1201}, 'more than 1200 lines'),
    ], intact=[
        ('a function at the limits', function('    step();\n' * 78, 'int (*f)(int, int), int b')),
        ('braces in texts and comments', function('    say("{{{{{"); /* {{{{{ */\n')),
        ('a tab in a make file', {'Makefile.am': 'all:\n\ttrue\n'}),
    ])
