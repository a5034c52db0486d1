# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A header says of its functions what they do, who may call them and whose the results are.

A comment stands right above a prototype, or above the first of a group without a blank line. There
or in the head of the header stand the threads, processes or hooks that may call it, what it puts
into a pool that it takes, and what a status tells its caller. An inline function counts as well.
"""
import re

import lint

PROTOTYPE = re.compile(r'[\w\s*]*\b(\w+)\s*\((?!\s*\*).*\)\s*', re.S)
NO_PROTOTYPE = re.compile(r'\s*(?:typedef|static_assert)\b')
HEADING = re.compile(r'/\*\s*----')
DIRECTIVE = re.compile(r'(?m)^[ \t]*#(?:.*\\\n)*.*\n')      # and its line
COMMENT = re.compile(r'/\*.*?\*/', re.S)

CALLER = re.compile(r'(?i)\b(?:threads?|process(?:es)?|parent|child(?:ren)?|seeder|workers?|hooks?|'
                    r'post_config|configuration phase|pure)\b')
POOL = re.compile(r'(?i)\b(?:pools?|scratch|pconf|heap|memory)\b')
STATUS = re.compile(
    r'\b(?:(?:TSEED|APR)_E?\w+|E[A-Z]{3,}|(?i:fail\w*|status\w*|errors?|success))\b')


def split_header(text):
    """The parts of a header between blank lines: (comment it begins with, its statements)."""
    comments = []

    def keep(found):
        comments.append(found[0])
        return f'\0{len(comments) - 1}\0'
    code = DIRECTIVE.sub('', COMMENT.sub(keep, text))
    for _, _, block in list(lint.outer_blocks(code)):
        code = code.replace(block, ';', 1)
    for part in re.split(r'\n[ \t]*\n', code):
        first = re.match(r'\s*\0(\d+)\0', part)
        comment = comments[int(first[1])] if first else ''
        yield '' if HEADING.match(comment) else comment, re.sub(r'\0\d+\0', ' ', part).split(';')


def prototypes(statements):
    """The functions that statements declare, as (name, statement)."""
    for one in statements:
        found = PROTOTYPE.fullmatch(one)
        if found and not NO_PROTOTYPE.match(one):
            yield found[1], one


def head_of(text):
    """The comments before the first line of code: what holds for all of the header."""
    return ' '.join(COMMENT.findall(text.split('\n#', 1)[0]))


def problem_of(statement, comment, head):
    """What the words above a prototype do not say, or None."""
    if not comment:
        return 'has no comment above it'
    words = comment + head
    if not CALLER.search(words):
        return 'which thread or process may call it?'
    if re.search(r'\bapr_pool_t \*', statement) and not POOL.search(words):
        return 'what does the pool get?'
    if re.match(r'\s*apr_status_t\b', statement) and not STATUS.search(words):
        return 'what does its status tell?'
    return None


def check_header(path, text):
    """The complaints about one header."""
    head = head_of(text)
    for comment, statements in split_header(text):
        for name, statement in prototypes(statements):
            problem = problem_of(statement, comment, head)
            if problem:
                yield f'{path}: {name}: {problem}'


def check(tree):
    """Every header."""
    return [one for path, text in lint.sources(tree, '.h').items()
            for one in check_header(path, text)]


def header(text, head='Adds. Any thread.'):
    """A tree of one header."""
    return {'mod_tileseed/base/a.h': f'/* SPDX */\n/* {head} */\n#define A\n\n{text}\n#endif\n'}


if __name__ == '__main__':
    lint.run(check, broken=[
        ('a prototype without a comment', header('int tseed_add(int a);'), 'tseed_add: has no'),
        ('a comment that stands apart', header('/* Adds. */\n\nint tseed_add(int a);'), 'has no'),
        ('a second group', header('/* Adds. */\nint tseed_add(int a);\n\nint tseed_sub(int a);'),
         'tseed_sub: has no'),
        ('the heading of a chapter', header('/* ---- sums ---- */\nint tseed_add(int a);'),
         'has no'),
        ('an inline function', header('static inline int tseed_add(int a)\n{\n\n    f();\n}'),
         'tseed_add: has no'),
        ('a comment behind it', header('int tseed_add(int a); /* adds */'), 'has no'),
        ('nobody who may call it', header('/* Adds. */\nint tseed_add(int a);', 'Sums.'),
         'which thread'),
        ('a pool of which nothing is said', header('/* Adds. */\nint *tseed_a(apr_pool_t *pool);'),
         'what does the pool'),
        ('a status of which nothing is said', header('/* Adds. */\napr_status_t tseed_add(int a);'),
         'what does its status'),
    ], intact=[
        ('a group below one comment',
         header('/* Both add. */\nint tseed_add(int a);\nint tseed_sub(int (*a)(int),\n int b);')),
        ('a caller named at the prototype',
         header('/* Adds. Worker. */\nint tseed_add(int a);', 'Sums.')),
        ('a pool and a status', header('/* In `pool`. APR_ENOENT: none. */\n'
                                       'apr_status_t tseed_add(int *a, apr_pool_t *pool);')),
        ('structs, types and numbers',
         header('typedef struct {\n    int a;\n\n    int (*f)(int b);\n} tseed_a_t;\n\n'
                'typedef int tseed_f_t(int a);\n\nstatic_assert(sizeof(int) == 4, "");\n\n'
                'extern int tseed_a;\n\nenum { A = (1) };')),
    ])
