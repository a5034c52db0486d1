# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The addresses of the REST interface and their methods are the same in the code and in rest.md."""
import re

import lint
import pages

ROUTES = 'mod_tileseed/protocol/tseed_route.c'
MANUAL = 'mod_tileseed/manual/rest.md'
ROW = re.compile(r'\{\s*"(/[\w/]*)"\s*,\s*(\w+)\s*,\s*'
                 r'(?:"([^"]*)"|(either_format)|open_format)\s*,([^}]*)\}')
METHOD = re.compile(r'\.(get|post|put|delete)\s*=')
VARIABLES = {'NOTHING': '', 'LAYER': 'LAYER', 'NUMBER': 'ID',
             'NUMBER_AND_LEVEL': 'ID/Z', 'FILENAME': 'FILE', 'HOST': 'HOST'}


def code_addresses(tree):
    """What the table of routes has: {address: methods}. An address with a slash at its end is the
    one without."""
    found = {}
    for prefix, variable, suffix, either, methods in ROW.findall(tree.get(ROUTES, '')):
        for end in ('.xml', '.json') if either else (suffix,):
            address = ('/rest' + prefix + VARIABLES[variable] + end).rstrip('/')
            found.setdefault(address, set()).update(
                method.upper() for method in METHOD.findall(methods))
    return found


def manual_addresses(tree):
    """What the chapters of the manual are about: {address: methods in bold type}."""
    text = tree.get(MANUAL, '')
    lines = text.split('\n')
    starts = pages.headings(text)
    ends = [number for number, _, _ in starts[1:]] + [len(lines) + 1]
    found = {}
    for (number, _, heading), end in zip(starts, ends):
        chapter = '\n'.join(lines[number:end - 1])
        for address in heading.split(', ') if heading.startswith('/rest') else ():
            found[address] = set(re.findall(r'\*\*([A-Z]+)\*\*', chapter))
    return found


def check(tree):
    """Addresses and methods that one of the two lacks."""
    code, manual = code_addresses(tree), manual_addresses(tree)
    complaints = [] if code else [f'{ROUTES}: no route found']
    for address in sorted(set(code) | set(manual)):
        if address not in manual:
            complaints.append(f'{MANUAL}: {address} is missing')
        elif address not in code:
            complaints.append(f'{MANUAL}: {address} is no address')
        elif code[address] != manual[address]:
            complaints.append(f'{MANUAL}: {address} has {", ".join(sorted(code[address]))}')
    return complaints


def sample(heading='/rest/seed/LAYER.xml, /rest/seed/LAYER.json', methods='**GET** and **POST**'):
    """A tree with one route."""
    return {ROUTES: '{"/seed/", LAYER, either_format, .get = A,\n .post = B},',
            MANUAL: f'# REST\n\n## {heading}\n\n{methods} do it.\n\n## More\n'}


if __name__ == '__main__':
    lint.run(check, broken=[
        ('an address that the manual lacks', sample('/rest/seed/LAYER.xml'),
         '/rest/seed/LAYER.json is missing'),
        ('an address that the code lacks', sample('/rest/old, /rest/seed/LAYER.xml'),
         '/rest/old is no address'),
        ('a method that the manual lacks', sample(methods='**GET**'), 'LAYER.xml has GET, POST'),
        ('a method that the code lacks', sample(methods='**GET** **POST** **PUT**'),
         'LAYER.xml has GET, POST'),
        ('a table without routes', {MANUAL: sample()[MANUAL]}, 'no route found'),
    ], intact=[('the same in both', sample())])
