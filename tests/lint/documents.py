# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Documents: links and anchors lead somewhere, no two chapters have one name, lines are short,
and every example either runs in tests/httpd/test_documents.py or is one that can't."""
import posixpath
import re

import lint
import pages

CHECKED = re.compile(r'^README\.md$|^mod_tileseed/.*\.md$|^tests/.*\.md$|^conf/.*\.md$')
WITH_EXAMPLES = re.compile(r'^README\.md$|^mod_tileseed/manual/')
NARROW = re.compile(r'^README\.md$|^mod_tileseed/')
INTERNALS = 'mod_tileseed/README.md'
COLUMNS = 100
TABLE_COLUMNS = 160     # a row can't be broken
KNOWN = {
    'apache': {(), ('start',), ('in-gridset',), ('in-layer',), ('in-location',), ('by-hand',)},
    'sh': {(), ('by-hand',)},
    'json': {('request',), ('answer',)},
    'xml': {('request',)},
    'text': {(), ('answer',)},
    'html': {()},
    'js': {()},
    'crontab': {()},
}
STATUS = re.compile(r'^[45]\d\d$')
# Beginnings of commands that a test can't run: they need root, other programs, or a clone.
BY_HAND = re.compile(r'^(?:sudo |apt-get |autoreconf |mkdir -p build|\.\./configure|make|'
                     r'\./quickstart|git |gdalinfo |crontab |#|$)')
LONG_WORD = re.compile(r'\S{60,}')


def check_headings(path, text):
    """Two chapters of one name."""
    names = {}
    for number, _, heading in pages.headings(text):
        name = pages.anchor(heading)
        if name in names:
            yield f"{path}:{number}: the chapter '{heading}' is there twice, see {names[name]}"
        names[name] = number


def check_links(tree, path, text):
    """Relative links to files of the tree, and anchors in them."""
    for number, target in pages.links(text):
        if re.match(r'[a-z]+:', target):
            continue
        file, _, wanted = target.partition('#')
        other = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        if other not in tree:
            yield f'{path}:{number}: {target} leads to no file'
        elif wanted and wanted not in [pages.anchor(heading) for _, _, heading
                                       in pages.headings(tree[other])]:
            yield f'{path}:{number}: {target} leads to no heading'


def check_lines(path, text):
    """Long lines; rows of tables may be longer, and what can't be broken."""
    for number, line in lint.numbered(text):
        most = TABLE_COLUMNS if line.startswith('|') and path != INTERNALS else COLUMNS
        if len(line) > most and not LONG_WORD.search(line):
            yield f'{path}:{number}: {len(line)} columns, {most} at most'


def is_known(block):
    """Whether the words behind the fence are among those of pages.py."""
    words = tuple(block.words)
    if block.language == 'sh' and len(words) == 1 and STATUS.match(words[0]):
        return True
    return words in KNOWN.get(block.language, ())


def check_blocks(path, text):
    """Blocks that nothing would run, and answers without a question."""
    before = None
    for block in pages.split(text)[1]:
        if not is_known(block):
            yield f"{path}:{block.line}: '{block.language} {' '.join(block.words)}' is unknown"
        if block.words == ['answer'] and (not before or before.language != 'sh'
                                          or before.words == ['by-hand']):
            yield f'{path}:{block.line}: an answer to no command'
        if block.language == 'sh' and block.words == ['by-hand']:
            for line in re.sub(r'\\\n', '', block.text).split('\n'):
                if not BY_HAND.match(line.strip()):
                    yield f"{path}:{block.line}: '{line.strip()}' can be run, it is not by-hand"
        before = block


def check(tree):
    """What is wrong in our documents."""
    complaints = []
    for path, text in tree.items():
        if CHECKED.match(path):
            complaints += check_headings(path, text)
            complaints += check_links(tree, path, text)
        if CHECKED.match(path) and NARROW.match(path):
            complaints += check_lines(path, text)
        if WITH_EXAMPLES.match(path):
            complaints += check_blocks(path, text)
    return complaints


def page(text, **others):
    """A tree with one page of the manual."""
    return {'mod_tileseed/manual/a.md': text, **others}


FILES = {'mod_tileseed/manual/b.md': '# B\n\n## /rest/`x`.json, b\n', 'README.md': '# M\n## Two\n'}

if __name__ == '__main__':
    lint.run(check, broken=[
        ('a link to no file', page('[x](c.md)'), 'a.md:1: c.md leads to no file'),
        ('a link to no heading', page('# A\n[x](#b)'), '#b leads to no heading'),
        ('a link over two lines', page('# A\n[x\ny](#b)'), 'a.md:3: #b leads to no heading'),
        ('a link to no heading of another file', page('[`x`](b.md#c)', **FILES),
         'b.md#c leads to no heading'),
        ('a heading that stands in a block', page('[x](#b)\n```text\n# b\n```\n'),
         'leads to no heading'),
        ('two chapters of one name', page('# Books\n## Books\n'), "a.md:2: the chapter 'Books'"),
        ('a long line', page('word ' * 21), '105 columns, 100 at most'),
        ('a long row', page('| ' + 'word ' * 32), '162 columns, 160 at most'),
        ('a long row of the internals', {INTERNALS: '| ' + 'word ' * 20}, '102 columns, 100'),
        ('a block without a language', page('```\nls\n```\n'), "' ' is unknown"),
        ('a block of an unknown kind', page('```sh never\nls\n```\n'), "'sh never' is unknown"),
        ('an answer to nothing', page('```json answer\n{}\n```\n'), 'an answer to no command'),
        ('a command that can be run', page('```sh by-hand\ncurl x\n```\n'), "'curl x' can be run"),
    ], intact=[
        ('links and anchors', page('# A\n[x](b.md) [y](#a) [`z`](b.md#restxjson-b) '
                                   '[w](../../README.md#two) [v](https://a.example/#b)', **FILES)),
        ('an address that is longer than a line', page('x' * 120)),
        ('blocks', page('```sh 409\nls\n```\n```text answer\nx\n```\n```sh by-hand\nsudo ls \\\n'
                        '    -l\n```\n')),
    ])
