# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What the lints share: the tree they look at, and TAP.

A lint is a function from a tree (path -> text) to complaints. Each one runs twice: over the real
tree, where every complaint fails, and over small broken trees, where a missing complaint fails.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACES = ('.ci', 'conf', 'mod_tileseed', 'tests')
TOP_FILES = ('configure.ac', 'Makefile.am', 'quickstart', 'README.md', 'ChangeLog')
TEXT = re.compile(r'\.(?:ac|am|c|conf|h|load|map|md|py|sh)$|^(?:quickstart|ChangeLog|\.ci/run)$')
DATA = re.compile(r'/(?:corpus|data)/')
DIRECTIVE = re.compile(r'(?m)^[ \t]*#(?:.*\\\n)*.*$')
FUNCTION = re.compile(r'(\w+)\s*\(([^{};]*)\)[\s\w()]*$')
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def read_tree(root=ROOT):
    """The texts of the project, by path below its top; data and what was built are left out."""
    paths = [name for name in TOP_FILES if os.path.exists(os.path.join(root, name))]
    for place in PLACES:
        for folder, _, names in os.walk(os.path.join(root, place)):
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    tree = {}
    for path in sorted(paths):
        if TEXT.search(path) and not DATA.search(path):
            with open(os.path.join(root, path), encoding='utf-8') as file:
                tree[path] = file.read()
    return tree


def sources(tree, ending=('.c', '.h'), below='mod_tileseed/'):
    """The files of a tree with one of the endings below a folder."""
    return {path: text for path, text in tree.items()
            if path.endswith(ending) and path.startswith(below)}


def blank_code(text, keep_strings=False):
    """C without its comments and (unless kept) the insides of its literals, line for line."""
    def blank(match):
        token = match.group()
        if token[0] == '/':
            return ' ' + '\n' * token.count('\n')
        return token if keep_strings else token[0] * 2
    return TOKEN.sub(blank, text)


def blank_directives(code):
    """C without what the preprocessor reads, line for line."""
    return DIRECTIVE.sub(lambda found: '\n' * found[0].count('\n'), code)


def outer_blocks(code):
    """The blocks of C outside of all others: (text before it, line of its brace, the block)."""
    level, after, start = 0, 0, 0
    for match in re.finditer(r'[{}]', code):
        if match[0] == '{':
            start = match.start() if level == 0 else start
            level += 1
        elif level:
            level -= 1
            if level == 0:
                line = code.count('\n', 0, start) + 1
                yield code[after:start], line, code[start:match.end()]
                after = match.end()


def function_name(head):
    """The function whose body follows that text, or None when it is no function's."""
    last = head.split(';')[-1]
    found = FUNCTION.search(last)
    return found[1] if found and '=' not in last else None


def numbered(text):
    """The lines of a text with their numbers."""
    return enumerate(text.split('\n'), start=1)


def run(check, broken, intact=()):
    """Prints TAP: the real tree, then each broken tree, then each that looks broken and is not.

    `broken` holds (what it breaks, tree, part of the complaint), `intact` (what it shows, tree).
    """
    results = []

    def report(passed, title, details=()):
        results.append(passed)
        print(f"{'ok' if passed else 'not ok'} {len(results)} - {title}")
        for line in () if passed else details:
            print(f'# {line}')

    print(f'1..{1 + len(broken) + len(intact)}')
    complaints = check(read_tree())
    report(not complaints, 'the tree keeps the rule', complaints)
    for title, tree, expected in broken:
        found = check(tree)
        report(any(expected in one for one in found), f'finds {title}', found)
    for title, tree in intact:
        found = check(tree)
        report(not found, f'accepts {title}', found)
    sys.exit(0 if all(results) else 1)
