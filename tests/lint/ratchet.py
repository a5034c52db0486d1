# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What makes the code hard to follow grows no more. Who lowers a number below lowers it here too.

- Public functions that one file calls, and no unit test: mostly the file was cut in two.
- Public functions that only unit tests call.
- Files that name a feature: a change of the feature has to look at all of them.
- Members of a run and of a job that files of more than one room write.
"""
import re

import lint

ONE_CALLER = 490
ONLY_TESTS = 23
FEATURES = {'prun': 66, 'deriv': 43, 'portion|relay|errand|lease': 74}
RECORDS = {'work/tseed_run.h': ('run', 15)}

PUBLIC = re.compile(r'(?m)^(?!static\b|typedef\b)[\w][\w\s*]*?\b(tseed_\w+)\s*\([^;{}]*\)\s*\{')
MEMBER = re.compile(r'\b(\w+)(?:\[[^\]]*\])?\s*$')


def words(text):
    """All names in a text."""
    return set(re.findall(r'\w+', text))


def callers(sources, tests):
    """(functions that one other file names and no test, functions that only tests name)"""
    named = {path: words(text) for path, text in sources.items() if path.endswith('.c')}
    tested = set().union(*map(words, tests.values())) if tests else set()
    one, none = [], []
    for path in named:
        for name in PUBLIC.findall(sources[path]):
            count = sum(name in found for other, found in named.items() if other != path)
            if count == 1 and name not in tested:
                one.append(name)
            elif count == 0:
                none.append(name)
    return one, none


def members(header, name):
    """The members of a record."""
    found = re.search(rf'struct tseed_{name}_t \{{(.*?)\n\}}', header, re.S)
    flat = re.sub(r'\{.*?\}', '', found[1], flags=re.S) if found else ''
    pieces = [piece for line in flat.split(';') for piece in line.split(',')]
    return [match[1] for piece in pieces if (match := MEMBER.search(piece.strip()))]


def written_by_rooms(sources, header, name):
    """The members of a record that files of more than one room write."""
    shared = []
    for member in members(sources.get(f'mod_tileseed/{header}', ''), name):
        write = re.compile(rf'\b(?:{name}|leader|one|other)(?:->|\.){member}(?:\[[^\]]*\])?'
                           r'(?:\.\w+)*\s*(?:=[^=]|[-+|&^]=|\+\+|--)')
        rooms = {path.split('/')[1] for path, text in sources.items() if write.search(text)}
        if len(rooms) > 1:
            shared.append(f'{member} ({" ".join(sorted(rooms))})')
    return shared


def over(found, most, what):
    """The complaint if there is more than there was."""
    return [f'{len(found)} {what}, {most} at most: {" ".join(sorted(found))}'] * (len(found) > most)


def check(tree):
    """What there is more of than there was."""
    sources = {path: lint.blank_code(text) for path, text in lint.sources(tree).items()}
    tests = lint.sources(tree, below='tests/unit/')
    one, none = callers(sources, tests)
    complaints = over(one, ONE_CALLER, 'public functions with one calling file and no unit test')
    complaints += over(none, ONLY_TESTS, 'public functions that only unit tests call')
    for feature, most in FEATURES.items():
        named = [path for path, text in lint.sources(tree).items()
                 if re.search(feature, text, re.I)]
        complaints += over(named, most, f'files that name {feature}')
    for header, (name, most) in RECORDS.items():
        complaints += over(written_by_rooms(sources, header, name), most,
                           f'members of a {name} that several rooms write')
    return complaints


def many(count, text):
    """So many sources."""
    return {f'mod_tileseed/base/tseed_{i}.c': text.replace('@', str(i)) for i in range(count)}


RECORD = {'mod_tileseed/work/tseed_run.h': 'typedef struct tseed_run_t {\n' + ''.join(
    f'    int m{i};\n' for i in range(99)) + '} tseed_run_t;\n'}
WRITES = ''.join(f'run->m{i} = 1;\n' for i in range(99))

if __name__ == '__main__':
    lint.run(check, broken=[
        ('functions with one caller', many(1500, 'void tseed_a@(void)\n{\n}\n') | {
            'mod_tileseed/work/tseed_b.c': ''.join(f'tseed_a{i}();\n' for i in range(1500))},
         'with one calling file'),
        ('functions of tests', many(1500, 'void tseed_a@(void)\n{\n}\n'), 'only unit tests call'),
        ('a feature everywhere', many(600, '/* prunes */'), 'files that name prun'),
        ('a member that rooms share', RECORD | {
            'mod_tileseed/work/tseed_a.c': WRITES, 'mod_tileseed/usage/tseed_b.c': WRITES},
         'members of a run'),
    ], intact=[
        ('a member of one room', RECORD | {'mod_tileseed/work/tseed_a.c': WRITES}),
        ('a function with callers', many(1500, 'void tseed_a@(void)\n{\n}\n') | {
            f'mod_tileseed/work/tseed_{one}.c': ''.join(f'tseed_a{i}();\n' for i in range(1500))
            for one in 'bc'}),
    ])
