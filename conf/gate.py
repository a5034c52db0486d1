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

BREAKS = ('Cc', 'Cf', 'Cs', 'Zl', 'Zp') # control characters, also those that change the direction
                                        # of what is read; what is no character; separators
LINE_MAX = 1 << 20                      # bytes; httpd takes lines of up to 16 MiB


class Refused(ValueError):
    """A text that can't stand in a configuration."""


def check(text):
    """The text itself; raises Refused when it can't stand in a line of configuration."""
    for letter in text:
        if unicodedata.category(letter) in BREAKS:
            raise Refused(f'{shown(text)} has a control character')
    if len(text.encode()) > LINE_MAX:
        raise Refused(f'{shown(text)} … is longer than {LINE_MAX} bytes')
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


def sentence(error):
    """What an error says, for a terminal: it may quote somebody else."""
    text = ''.join(letter if letter.isprintable() else ' ' for letter in str(error)[:400])
    return text or type(error).__name__


def comment(text):
    """A line of comment. What can't stand in one is left out of it."""
    letters = (' ' if unicodedata.category(letter) in BREAKS else letter for letter in text)
    words = ''.join(letters)[:1000].replace('${', '$ {').split()
    return check('# ' + ' '.join(words).rstrip('\\ '))


def joined(lines):
    """Lines as the text of a file; each passes the gate once more, whoever made it."""
    return ''.join(check(line) + '\n' for line in lines)
