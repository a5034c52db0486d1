# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A type is defined once: a name that begins with tseed_ stands for one thing.

Names without that beginning are private to their .c, as static functions are. To say that a struct
exists is not to define it.
"""
import re

import lint

BODY = re.compile(r'\b(?:struct|union|enum)\s+(\w+)\s*\{')
FORWARD = re.compile(r'\s*(?:struct|union|enum)\s+\w+\s+\w+\s*')
POINTER = re.compile(r'[^()]*\(\s*\*\s*(\w+)')


def without(pattern, text, instead=' '):
    """A text without what matches, the innermost first."""
    shorter = re.sub(pattern, instead, text)
    return text if shorter == text else without(pattern, shorter, instead)


def alias_of(statement):
    """The name that follows a typedef, or None where it only says that a struct exists."""
    if FORWARD.fullmatch(statement):
        return None
    pointer = POINTER.match(statement)
    if pointer:
        return pointer[1]
    return re.findall(r'\w+', without(r'\([^()]*\)|\[[^\[\]]*\]', statement))[-1]


def types_of(code):
    """The types that C defines."""
    flat = without(r'\{[^{}]*\}', code, '@')
    aliases = map(alias_of, re.findall(r'\btypedef\b([^;]*);', flat))
    return {name for name in [*BODY.findall(code), *aliases] if name and name.startswith('tseed_')}


def check(tree):
    """Every type with the files that define it, if there are two."""
    places = {}
    for path, text in sorted(lint.sources(tree).items()):
        for name in types_of(lint.blank_directives(lint.blank_code(text))):
            places.setdefault(name, []).append(path)
    return [f'{name} is defined in {" and in ".join(paths)}'
            for name, paths in sorted(places.items()) if len(paths) > 1]


def two(first, second):
    """A tree of two headers."""
    return {'mod_tileseed/store/a.h': first + '\n', 'mod_tileseed/quota/b.h': second + '\n'}


if __name__ == '__main__':
    lint.run(check, broken=[
        ('two structs', two('typedef struct {\n    int a;\n} tseed_place_t;',
                            'typedef struct { struct { int a; } b; } tseed_place_t;'),
         'tseed_place_t is defined in mod_tileseed/quota/b.h and in'),
        ('a struct and an enum', two('struct tseed_place_t {\n    int a;\n};',
                                     'typedef enum { A } tseed_place_t;'), 'tseed_place_t'),
        ('two functions', two('typedef int tseed_read_t(int (*a)(int), char b[4]);',
                              'typedef int (*tseed_read_t)(void);'), 'tseed_read_t'),
        ('two arrays', two('typedef int tseed_pair_t[2];', 'typedef long tseed_pair_t;'),
         'tseed_pair_t'),
        ('an opaque struct and another', {
            **two('typedef struct tseed_book_t tseed_book_t;', 'typedef int tseed_book_t;'),
            'mod_tileseed/store/a.c': 'struct tseed_book_t {\n    int a;\n};\n'}, 'tseed_book_t'),
    ], intact=[
        ('a struct that is said to exist', two('typedef struct tseed_book_t tseed_book_t;',
                                               'struct tseed_book_t {\n    int a;\n};')),
        ('a struct with tag and alias',
         two('typedef struct tseed_run_t {\n    struct tseed_run_t *next;\n} tseed_run_t;',
             '/* typedef int tseed_run_t; */ struct tseed_run_t *tseed_run_get(void);')),
        ('private types of one name', two('typedef struct {\n} look_t;', 'typedef int look_t;')),
    ])
