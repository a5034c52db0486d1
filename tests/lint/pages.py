# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Our documents taken apart: headings with their anchors, links, and fenced blocks.

The word behind the fence is the language; the words behind it say how the block is tested:

    apache [start|in-gridset|in-layer|in-location]   httpd -t takes it, at the top or in a section;
                                    the servers of the examples are started with those of `start`
    sh [STATUS]                     a shell runs it; an answer has this status, else all are < 400
    json|xml request                a seed request that is accepted
    json|text answer                what the shell's last words look like
    crontab                         a shell runs its commands as cron does
    sh by-hand, apache by-hand      needs root or what a test does not have
    html, js, text                  nothing runs it
"""
import collections
import re

Block = collections.namedtuple('Block', 'line language words text')
FENCE = re.compile(r'^( *)```(.*)$')
HEADING = re.compile(r'^(#{1,6}) +(.*?) *$')
LINK = re.compile(r'\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)')
CODE = re.compile(r'`(?:[^`\n]|\n(?!\n))*`')


def split(text):
    """(lines outside of blocks as (number, line), blocks)."""
    prose, blocks, inside = [], [], None
    for number, line in enumerate(text.split('\n'), start=1):
        fence = FENCE.match(line)
        if fence and inside is None:
            inside = (number, fence[2].split(), len(fence[1]), [])
        elif fence:
            start, words, _, lines = inside
            blocks.append(Block(start, words[0] if words else '', words[1:],
                                '\n'.join(lines) + '\n'))
            inside = None
        elif inside is not None:
            inside[3].append(line[inside[2]:])
        else:
            prose.append((number, line))
    return prose, blocks


def anchor(heading):
    """The anchor that GitHub gives to a heading."""
    plain = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).replace('`', '')
    return re.sub(r'[^\w\- ]', '', plain.lower()).replace(' ', '-')


def headings(text):
    """[(line, depth, heading)] of a document."""
    found = [(number, HEADING.match(line)) for number, line in split(text)[0]]
    return [(number, len(match[1]), match[2]) for number, match in found if match]


def links(text):
    """[(line, target)] of a document, also of links that go over two lines; code has none, unless
    it is what a link is called."""
    lines = [''] * (text.count('\n') + 2)
    for number, line in split(text)[0]:
        lines[number] = line
    prose = CODE.sub(lambda code: re.sub('[^\n]', 'x', code[0]), '\n'.join(lines))
    return [(prose.count('\n', 0, match.end()), match[1]) for match in LINK.finditer(prose)]
