# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""No files call each other in a circle: whoever reads one reads on downwards.

A file is a .c with its .h. It calls another one when its code names a function or a variable that
is defined there; types, prototypes and the module record do not count, nor does what comes through
a pointer or a table handed in from above.
"""
import re

import lint

NAME = re.compile(r'\b(?:mod_)?tseed_\w+')
VARIABLE = re.compile(r'^(?:const|_Atomic|unsigned|\w+_t|\w+_rec|int|char)\b[^;={}()]*?'
                      r'\b(tseed_\w+)(?:\[\w*\])?\s*(?:=|;|$)', re.M)


def bodies(code):
    """The functions of C, as (head, name, body)."""
    for head, _, block in lint.outer_blocks(code):
        name = lint.function_name(head)
        if name:
            yield head.split(';')[-1], name, block


def outside(code):
    """C without its blocks."""
    for _, _, block in lint.outer_blocks(code):
        code = code.replace(block, ';', 1)
    return code


def defined(path, code):
    """The names that a file gives to others."""
    code = lint.blank_directives(code)
    names = {name for head, name, _ in bodies(code)
             if path.endswith('.h') or not re.search(r'\bstatic\b', head)}
    if path.endswith('.c'):
        names |= set(VARIABLE.findall(outside(code)))
    return {name for name in names if NAME.fullmatch(name)}


def used(path, code):
    """The names in a file's code: of a header in its functions and macros alone."""
    if path.endswith('.h'):
        code = '\n'.join([body for _, _, body in bodies(lint.blank_directives(code))] +
                         [found[0] for found in re.finditer(r'(?m)^#\s*define(?:.*\\\n)*.*', code)])
    return set(NAME.findall(code))


def graph_of(tree):
    """File (its path without the ending) -> files that it calls -> a name by which it does."""
    codes = {path: lint.blank_code(text) for path, text in lint.sources(tree).items()}
    home = {name: path[:-2] for path, code in codes.items() for name in defined(path, code)}
    graph = {path[:-2]: {} for path in codes}
    for path, code in codes.items():
        for name in sorted(used(path, code)):
            if home.get(name, path[:-2]) != path[:-2]:
                graph[path[:-2]].setdefault(home[name], name)
    return graph


def reachable(graph, start):
    """Every file that can be come to from one, by one call or more."""
    found, waiting = set(), list(graph[start])
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += graph[file]
    return found


def circles_of(graph):
    """The largest sets of files of which each can be come to from each other."""
    reach = {file: reachable(graph, file) for file in graph}
    circles = {frozenset(other for other in reach[file] if file in reach[other])
               for file in graph if file in reach[file]}
    return sorted(map(sorted, circles))


def check(tree):
    """Each circle once, with the calls that close it."""
    graph = graph_of(tree)
    complaints = []
    for circle in circles_of(graph):
        complaints.append(f'{len(circle)} files call each other in a circle')
        complaints += [f'    {file} calls {other}: {name}' for file in circle
                       for other, name in graph[file].items() if other in circle]
    return complaints


def chain(*calls, room='store', last=''):
    """A tree in which file i defines tseed_i and has the body given for it."""
    tree = {f'mod_tileseed/{room}/f{i}.c': f'void tseed_f{i}(void)\n{{\n    {call}\n}}\n{last}'
            for i, call in enumerate(calls)}
    return tree


if __name__ == '__main__':
    lint.run(check, broken=[
        ('two files that call each other', chain('tseed_f1();', 'tseed_f0();'), '2 files'),
        ('a circle of three', chain('tseed_f1();', 'tseed_f2();', 'tseed_f0();'), '3 files'),
        ('the call that closes it', chain('tseed_f1();', 'tseed_f0();'),
         'store/f1 calls mod_tileseed/store/f0: tseed_f0'),
        ('a circle by a variable',
         {**chain('tseed_f1();', 'tseed_count++;'),
          'mod_tileseed/store/f0.c': '_Atomic unsigned tseed_count;\nvoid tseed_f0(void)\n'
                                     '{\n    tseed_f1();\n}\n'}, '2 files'),
        ('a circle by a table', {
            **chain('', 'tseed_f2(tseed_rows);'),
            'mod_tileseed/store/f2.c': 'const row_t tseed_rows[] = {\n    {1, tseed_f1},\n};\n'},
         '2 files'),
        ('a circle by an inline function of a header', {
            **chain('tseed_f1();', 'tseed_now();'),
            'mod_tileseed/store/f0.h': 'static inline int tseed_now(void)\n{\n    return 1;\n}\n'},
         '2 files'),
        ('a circle by a macro of a header', {
            **chain('', 'tseed_f0();'),
            'mod_tileseed/store/f0.h': '#define TSEED_TRY(x) \\\n    tseed_f1(x)\n'}, '2 files'),
        ('a circle between two rooms', {
            **chain('tseed_f1();', room='seeder'),
            'mod_tileseed/store/f1.c': 'void tseed_f1(void)\n{\n    tseed_f0();\n}\n'}, '2 files'),
    ], intact=[
        ('calls in one direction', chain('tseed_f1();', 'tseed_f2();', '')),
        ('two ways to one file', chain('tseed_f1(); tseed_f2();', 'tseed_f2();', '')),
        ('a prototype and a comment', {
            **chain('tseed_f1();', '/* as tseed_f0(); */'),
            'mod_tileseed/store/f1.h': 'void tseed_f1(void);\nvoid tseed_f0(void);\n'}),
        ('the module record', chain('ask(&tileseed_module);', 'ask(&tileseed_module);')),
        ('static functions of one name', {
            f'mod_tileseed/store/f{i}.c': 'static void tseed_one(void)\n{\n}\nvoid '
                                          f'tseed_f{i}(void)\n{{\n    tseed_one();\n}}\n'
            for i in range(2)}),
    ])
