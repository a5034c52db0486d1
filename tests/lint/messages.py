# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The page of messages has each warning and error that the code logs, and each reason that it
writes into a task; and what the page and README's chapter "Trouble" quote is in the code.

The first column of their tables quotes messages: `…` and words in capitals stand for what
changes."""
import functools
import re

import lint

PAGE = 'mod_tileseed/manual/messages.md'
CHAPTER = re.compile(r'(?m)^## Trouble$(.*?)^## ', re.S)
ROW = re.compile(r'(?m)^\| (.*?) \| ')
QUOTED = re.compile(r'`([^`]+)`')
CALL = re.compile(r'\b(?:tseed_log|ap_log_[rp]?error|tseed_progress_(?:say|tell))\s*(?=\()')
SEVERE = re.compile(r'\bTSEED_LOG_(?:WARNING|ERROR)\b|\bAPLOG_(?:WARNING|ERR|CRIT|ALERT|EMERG)\b'
                    r'|\bTSEED_REASON_\w+,')
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
GLUE = re.compile(r'\s*(APR_(?:INT64|SIZE|OFF|TIME)_T_FMT|I64|PRI[du]64)?\s*')
CONVERSION = re.compile(r'%-?[\d.*]*(?:ll|l|z)?[a-zA-Z]?')
CHANGING = re.compile(r'…|\b[A-Z]+\b')
KEPT = {'HTTP', 'REST', 'MPM', 'TLS', 'XML', 'HTML', 'APR', 'EPSG', 'PUT', 'POST', 'DELETE'}
NUMBER = re.compile(r'^TS\d{4}: ')       # see message_numbers.py
LEAST = 10      # letters that a quotation has in common with a message


def arguments(code, start):
    """The text between a call's parentheses."""
    depth, at = 0, start
    for at in range(start, len(code)):
        depth += {'(': 1, ')': -1}.get(code[at], 0)
        if depth == 0:
            break
    return code[start:at]


def texts(code):
    """Literals of a stretch of code, those beside each other as one; conversions are `…`."""
    found, end = [], -1
    for match in STRING.finditer(code):
        glue = GLUE.fullmatch(code, end, match.start()) if found else None
        if glue:
            found[-1] += ('d' if glue[1] else '') + match[1]
        else:
            found.append(match[1])
        end = match.end()
    plain = (re.sub(r'\\(.)', r'\1', NUMBER.sub('', text)).replace('%%', '\0') for text in found)
    return [CONVERSION.sub('…', text).replace('\0', '%') for text in plain]


def logged(tree):
    """[(path, message)] of warnings, errors and reasons."""
    found = []
    for path, text in lint.sources(tree, '.c').items():
        code = lint.blank_code(text, keep_strings=True)
        for call in CALL.finditer(code):
            inside = arguments(code, call.end())
            if SEVERE.search(STRING.sub('""', inside)):
                longest = max(texts(inside), key=len, default='')
                if len(re.sub(r'[…\W]', '', longest)) >= LEAST:
                    found.append((path, longest))
    return found


def pattern(quotation):
    """A quotation as an expression that the message it quotes matches."""
    return re.compile(''.join('.*' if CHANGING.fullmatch(part) and part not in KEPT
                              else re.escape(part)
                              for part in re.split(r'(…|\b[A-Z]+\b)', quotation)), re.S)


@functools.cache
def forms(text):
    """A text of the code in the plural, and an expression that the text matches with any words in
    place of what changes; None where too little stays the same."""
    whole = re.compile('.*'.join(map(re.escape, text.split('…'))), re.S)
    is_long = len(re.sub(r'[…\W]', '', text)) >= LEAST // 2
    return re.sub('(?<=[a-z])…', 's', text), whole if is_long else None


def says(text, quotation, one):
    """Whether a text of the code can be what is quoted: a part of it, with a plural or without, or
    as a whole with words in place of what changes."""
    plural, whole = forms(text)
    return bool(one.search(text) or one.search(plural) or whole and whole.fullmatch(quotation))


def quotations(text):
    """What tables quote."""
    return [quoted for row in ROW.findall(text) for quoted in QUOTED.findall(row)]


def check(tree):
    """Messages that nobody explains, and quotations of nothing."""
    quoted = [(PAGE, one, pattern(one)) for one in quotations(tree.get(PAGE, ''))]
    complaints = [] if quoted else [f'{PAGE}: no message is explained']
    trouble = CHAPTER.search(tree.get('README.md', ''))
    messages = logged(tree)
    for path, message in messages:
        if not any(says(message, text, one) for _, text, one in quoted):
            complaints.append(f"{PAGE} does not explain '{message}' of {path}")
    if trouble:
        quoted += [('README.md', one, pattern(one)) for one in quotations(trouble[1])]
    all_texts = [text for source in lint.sources(tree, ('.c', '.h')).values()
                 for text in texts(lint.blank_code(source, keep_strings=True))]
    for page, quotation, one in quoted:
        if not any(says(text, quotation, one) for text in all_texts):
            complaints.append(f"{page}: nothing in the code says '{quotation}'")
    return complaints


def sample(quoted='the disk NAME is full', code='tseed_log(TSEED_LOG_ERROR, rv, "the disk %s is '
           '"\n "full");'):
    """A tree with a message and its explanation."""
    return {'mod_tileseed/base/a.c': code,
            PAGE: f'| it says | do this |\n| --- | --- |\n| `{quoted}` | x |\n'}


MOON = 'tseed_log(TSEED_LOG_WARNING, 0, "full moon is %d"); "the disk x is full"'
NIGHTS = ('ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "after %" APR_INT64_T_FMT\n '
          '" long nights", n); "the disk x is full"')

if __name__ == '__main__':
    lint.run(check, broken=[
        ('a message that is not explained', sample(code=MOON),
         "does not explain 'full moon is …'"),
        ('a message with a number', sample(code=NIGHTS), "does not explain 'after … long nights'"),
        ('a reason', sample(code='tseed_progress_say(progress, TSEED_REASON_AWAY, '
                                 '"paused by the %s", x);'),
         "does not explain 'paused by the …'"),
        ('a quotation of nothing', sample(quoted='the disk NAME is empty'), 'nothing in the code'),
        ('a page without a table', {**sample(), PAGE: ''}, 'no message is explained'),
        ('trouble with nothing',
         {**sample(), 'README.md': '## Trouble\n\n| `full sun` | x |\n## A\n'},
         "README.md: nothing in the code says 'full sun'"),
    ], intact=[
        ('a message that is explained', sample()),
        ('a part of a message', sample(quoted='disk NAME is')),
        ('a line for information', sample(code='tseed_log(TSEED_LOG_INFO, 0, "nothing is wrong");'
                                          '"the disk x is full"')),
    ])
