# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What makes the code hard to follow grows no more. Who lowers a number below lowers it here too.

- Public functions that one file calls, and no unit test: mostly the file was cut in two.
- Public functions that only unit tests call.
- Files that name a feature: a change of the feature has to look at all of them.
"""
import re

import lint

ONE_CALLER = 217
ONLY_TESTS = 14
FEATURES = {'prun': 18, 'deriv': 39, 'portion|relay|errand|lease': 69}

PUBLIC = re.compile(r'(?m)^(?!static\b|typedef\b)[\w][\w\s*]*?\b(tseed_\w+)\s*\([^;{}]*\)\s*\{')


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
    return complaints


def many(count, text):
    """So many sources."""
    return {f'mod_tileseed/base/tseed_{i}.c': text.replace('@', str(i)) for i in range(count)}


if __name__ == '__main__':
    lint.run(check, broken=[
        ('functions with one caller', many(1500, 'void tseed_a@(void)\n{\n}\n') | {
            'mod_tileseed/work/tseed_b.c': ''.join(f'tseed_a{i}();\n' for i in range(1500))},
         'with one calling file'),
        ('functions of tests', many(1500, 'void tseed_a@(void)\n{\n}\n'), 'only unit tests call'),
        ('a feature everywhere', many(600, '/* prunes */'), 'files that name prun'),
    ], intact=[
        ('a function with callers', many(1500, 'void tseed_a@(void)\n{\n}\n') | {
            f'mod_tileseed/work/tseed_{one}.c': ''.join(f'tseed_a{i}();\n' for i in range(1500))
            for one in 'bc'}),
    ])
