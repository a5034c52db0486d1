# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Nothing depends on the process's locale, which a neighbour in httpd may set.

What the C library does by the locale is done in base/tseed_ascii.c alone. apr_psprintf and its kin
have their own way with numbers and are allowed. The client in ctl/ is a process of its own that
never sets a locale: it may print numbers with printf.
"""
import re

import lint

PLACE = re.compile(r'mod_tileseed/base/tseed_ascii\.[ch]$')
KINDS = 'alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit'
CALL = re.compile(
    rf'\b(?:(?:apr_)?(?:is(?:{KINDS})|to(?:lower|upper))(?:_l)?|strto(?:d|f|ld)(?:_l)?|atof|'
    r'v\w*scanf|v(?:sn|as?|s|d)printf|str(?:n?case(?:cmp|str)|coll|xfrm|ftime|ptime|fmon)(?:_l)?|'
    r'fnmatch|apr_fnmatch|localeconv|nl_langinfo|(?:set|use|new|dup)locale|apr_strnat\w*|'
    r'mbs\w*to\w+|wcs\w+|is?towctrans)\s*\(')
FORMATTED = re.compile(r'\b(?:(?:sn|as|s|f|d)?printf|[fs]?scanf)\s*\(')
DECIMAL = re.compile(r'%[-+ #0\'\d.*]*[lL]?[aefgAEFG]')
# What sets the process's locale for good: in the seeder's process, which is ours.
OWN_PROCESS = {('mod_tileseed/httpd/mod_tileseed_supervise.c', 'setlocale')}


def literals_of(code, start):
    """The literals up to the parenthesis that closes the one before `start`."""
    literals, depth, at = [], 1, start
    while at < len(code) and depth:
        literal = lint.TOKEN.match(code, at)
        if literal:
            literals.append(literal[0])
        depth += {'(': 1, ')': -1}.get(code[at], 0)
        at = literal.end() if literal else at + 1
    return ' '.join(literals)


def check(tree):
    """Calls that ask the locale, and numbers with a decimal point in formats of the C library."""
    complaints = []
    for path, text in sorted(lint.sources(tree).items()):
        if PLACE.match(path):
            continue
        code, whole = lint.blank_code(text), lint.blank_code(text, keep_strings=True)
        for found in CALL.finditer(code):
            name = found[0].rstrip('( \t\n')
            if (path, name) not in OWN_PROCESS:
                line = code.count('\n', 0, found.start()) + 1
                complaints.append(f'{path}:{line}: {name} asks the locale, see base/tseed_ascii.h')
        for found in FORMATTED.finditer(whole):
            reads = 'scanf' in found[0]
            if (reads or '/ctl/' not in path) and \
                    DECIMAL.search(literals_of(whole, found.end())):
                line = whole.count('\n', 0, found.start()) + 1
                complaints.append(f'{path}:{line}: a number with a decimal point by the locale, '
                                  'see base/tseed_ascii.h')
    return complaints


def one(line, path='mod_tileseed/store/tseed_a.c'):
    """A tree of one file with a line of C."""
    return {path: f'{line}\n'}


if __name__ == '__main__':
    ASKS, DECIMALS = 'asks the locale', 'by the locale'
    lint.run(check, broken=[
        ('a letter of the locale', one('c = toupper(c);'), ASKS),
        ('a letter of the locale by APR', one('if (apr_isalpha(*at)) {'), ASKS),
        ('a comparison', one('return strcasecmp(a, b);'), ASKS),
        ('a comparison of a part', one('return !strncasecmp (a, b, 3);'), ASKS),
        ('a search', one('return strcasestr(a, b) != NULL;'), ASKS),
        ('a number that is read', one('x = strtod(text, &end);'), ASKS),
        ('a simple number', one('x = atof(text);'), ASKS),
        ('a date', one('strftime(a, sizeof(a), "%d", &t);'), ASKS),
        ('another locale', one('setlocale(LC_ALL, "");'), ASKS),
        ('a format from elsewhere', one('vsnprintf(to, size, format, arguments);'), ASKS),
        ('a number that is written', one('snprintf(a, sizeof(a), "%.17g", f(x));'), DECIMALS),
        ('one behind another', one('fprintf(file, "%s %d\\n%*.*f", a,\n b, c);'), DECIMALS),
        ('a number that is scanned', one('sscanf(text, "%d:%lf%n", &a, &b, &c);'), DECIMALS),
        ('the same in the client', one('sscanf(text, "%lg", &a);', 'mod_tileseed/ctl/tseed_b.c'),
         DECIMALS),
    ], intact=[
        ('APR', one('apr_psprintf(pool, "%.1f", x); apr_cstr_casecmp(a, b);')),
        ('whole numbers', one('snprintf(a, 9, "%d %% %s", b); sscanf(a, "%d %16[0-9a-f]", &b);')),
        ('a remainder', one('snprintf(a, 9, "%" PRIu64, b % APART);')),
        ('words', one('/* strtod( */ error = "never toupper( of %g";')),
        ('the place', one('return strtod(text, end);', 'mod_tileseed/base/tseed_ascii.c')),
        ('what the client prints', one('printf("%.1f\\n", x);', 'mod_tileseed/ctl/tseed_b.c')),
    ])
