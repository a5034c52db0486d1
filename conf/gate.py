# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The gate through which every line passes that a program writes as httpd's configuration.

httpd runs what stands in its configuration as root. A program that writes it from what a service
says of itself must write arguments and nothing else. The words of httpd's configuration
(server/config.c, server/util.c) that make something else of an argument:

    a line break    ends the directive, whatever quotes are open
    \\ at the end    joins the next line to this one, a comment as well
    ${NAME}         becomes the value of a variable, quoted or not

A backslash and a quote inside an argument are escaped by quoted(); nothing else can be.
"""
import unicodedata

BREAKS = ('Cc', 'Cs', 'Zl', 'Zp')       # control characters, what is no character, separators


class Refused(ValueError):
    """A text that can't stand in a configuration."""


def check(text):
    """The text itself; raises Refused when it can't stand in a line of configuration."""
    for letter in text:
        if unicodedata.category(letter) in BREAKS:
            raise Refused(f'{shown(text)} has a control character')
    if '${' in text:
        raise Refused(f'{shown(text)} has ${{, which httpd takes for a variable')
    if text.endswith('\\'):
        raise Refused(f'{shown(text)} ends in a backslash')
    return text


def quoted(text):
    """An argument of a directive."""
    return '"' + check(text).replace('\\', '\\\\').replace('"', '\\"') + '"'


def shown(text):
    """What somebody else has written, for a person to read: in ASCII, at most 80 characters."""
    return ascii(text[:80]).replace('${', '$ {')


def comment(text):
    """A line of comment. What can't stand in one is left out of it."""
    letters = (' ' if unicodedata.category(letter) in BREAKS else letter for letter in text)
    return check('# ' + ' '.join(''.join(letters).replace('${', '$ {').split()).rstrip('\\ '))


def joined(lines):
    """Lines as the text of a file; each passes the gate once more, whoever made it."""
    return ''.join(check(line) + '\n' for line in lines)
