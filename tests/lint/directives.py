# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The directives of the code, of conf/tileseed.conf and of the manual are the same, and the manual
has of each: syntax, default, the contexts that the code allows, description and an example."""
import re

import lint
import pages

MANUAL = 'mod_tileseed/manual/directives.md'
IN_CODE = re.compile(r'\bTSEED_DIRECTIVE\s*\(\s*"<?(TileSeed\w+)"\s*,\s*(\w+)\s*\(\s*([\w |]+)')
IN_CONF = re.compile(r'(?m)^[ #]*</?(TileSeed\w+)|^[ #]*(TileSeed[A-Z]\w*)(?= )')
NAMED = re.compile(r'TileSeed[A-Z]\w*')
FIELD = re.compile(r'(?m)^- \*\*(\w+):\*\* ')
FIELDS = ['Syntax', 'Default', 'Context', 'Description']
ROOM = 'mod_tileseed/httpd/'
PLACED = {'TSEED_RULE', 'TSEED_SHOWN'}     # the places are in these rules; others are of one place
DUMPED_OTHERWISE = {'TileSeedLevels', 'TileSeedScaleDenominators'}     # as TileSeedResolutions
STATUS = 'mod_tileseed/httpd/mod_tileseed_status.c'
CONTEXTS = {'GRIDSET': {'grid set'}, 'LAYERS': {'server', 'layer'}, 'SERVER': {'server'},
            'LOCATION': {'location'}, 'DIRECTORY': {'directory'}}


def contexts_of(macro, places):
    """What the manual calls the places of a rule. TSEED_IN_LAYER is the block of a layer alone,
    TSEED_IN_LAYERS that and the defaults before it, as of all rules that describe a layer."""
    if macro not in PLACED:
        places = 'IN_SERVER' if macro == 'SETTING' else 'IN_LAYERS'
    found = set()
    for place in re.findall(r'\w+', places):
        kind = place.rpartition('IN_')[2]
        found |= {'layer'} if kind == 'LAYER' else CONTEXTS.get(kind, {place})
    return found


def rows(tree):
    """The rows of the tables of httpd/: [(name, macro of the rule, its contexts)]."""
    return [(name, macro, contexts_of(macro, first))
            for text in lint.sources(tree, '.c', ROOM).values()
            for name, macro, first in IN_CODE.findall(lint.blank_code(text, keep_strings=True))]


def code_directives(tree):
    """What the command tables of httpd/ register: {name: contexts}."""
    return {name: contexts for name, _, contexts in rows(tree)}


def not_dumped(tree):
    """Directives that the dump of the configuration leaves out. Rules show themselves but for
    TSEED_RULE, whose directive another one shows; sections of httpd are written as they are."""
    texts = ''.join(lint.sources(tree, '.c', ROOM).values())
    return sorted(name for name, macro, contexts in rows(tree)
                  if macro == 'TSEED_RULE' and contexts - {'location', 'directory'} and
                  name not in DUMPED_OTHERWISE and not re.search(rf'"<?{name} [^"]*%', texts))


def conf_directives(tree):
    """What conf/tileseed.conf shows, commented or not."""
    found = IN_CONF.findall(tree.get('conf/tileseed.conf', ''))
    return {section or plain for section, plain in found}


def chapters(tree):
    """The chapters of the manual that a directive is the heading of: [(name, text)]."""
    lines = tree.get(MANUAL, '').split('\n')
    starts = pages.headings(tree.get(MANUAL, ''))
    ends = [number for number, _, _ in starts[1:]] + [len(lines) + 1]
    return [(heading, '\n'.join(lines[number:end - 1]))
            for (number, _, heading), end in zip(starts, ends) if NAMED.fullmatch(heading)]


def fields_of(text):
    """The fields at the head of a chapter, in their order: [(name, value)]."""
    parts = FIELD.split(text.strip().split('\n\n')[0])
    return [(name, ' '.join(value.split())) for name, value in zip(parts[1::2], parts[2::2])]


def check_chapter(name, text, contexts):
    """What a chapter lacks."""
    fields = fields_of(text)
    values = dict(fields)
    if [field for field, _ in fields] != FIELDS:
        return [f'{MANUAL}: {name} needs {", ".join(FIELDS)} in this order']
    complaints = []
    if not re.match(rf'`<?{name}\b', values['Syntax']):
        complaints.append(f'{MANUAL}: {name}: the syntax is that of another directive')
    if set(values['Context'].split(', ')) != contexts:
        complaints.append(f"{MANUAL}: {name}: the context is {', '.join(sorted(contexts))}")
    if not any(block.language == 'apache' and re.search(rf'(?m)^\s*<?{name}\b', block.text)
               for block in pages.split(text)[1]):
        complaints.append(f'{MANUAL}: {name} has no example')
    return complaints


def check(tree):
    """The three sets, two by two, and the chapters."""
    code = code_directives(tree)
    complaints = [] if code else ['mod_tileseed/httpd/: no directive found']
    manual = chapters(tree)
    names = [name for name, _ in manual]
    complaints += [f'{MANUAL}: {name} is there twice' for name in set(names)
                   if names.count(name) > 1]
    for place, named in (('conf/tileseed.conf', conf_directives(tree)), (MANUAL, set(names))):
        complaints += [f'{place}: {name} is missing' for name in sorted(set(code) - named)]
        complaints += [f'{place}: {name} is no directive' for name in sorted(named - set(code))]
    complaints += [f'{ROOM}: {name} is missing in the dump' for name in not_dumped(tree)]
    shown = set(NAMED.findall(tree.get(STATUS, '')))
    for path, text in tree.items():
        if path == 'README.md' or path.startswith('mod_tileseed/manual/'):
            complaints += [f'{path}: {name} is no directive'
                           for name in sorted(set(re.findall(r'`<?(TileSeed[A-Z]\w*)', text))
                                              - set(code) - shown)]
    for name, text in manual:
        complaints += check_chapter(name, text, code.get(name, set()))
    return complaints


def sample(code='TileSeedThreads', conf='TileSeedThreads', manual='TileSeedThreads',
           places='IN_SERVER', example='', **fields):
    """A tree with one directive in each place."""
    values = {'Syntax': f'`{manual} N`', 'Default': '`16`', 'Context': 'server',
              'Description': 'The\n  number.', **fields}
    head = ''.join(f'- **{name}:** {value}\n' for name, value in values.items() if value)
    return {
        ROOM + 'a.c': f'TSEED_DIRECTIVE("{code}",\n TSEED_RULE({places}, 1, 1, x), Y),',
        ROOM + 'b.c': f'"{code.strip("<")} %s"',
        'conf/tileseed.conf': f'# TileSeed does it.\n#{conf} 16\n',
        MANUAL: f'# Directives\n\n## {manual.strip("<")}\n\n{head}\nText.\n\n'
                f'```apache\n{example or manual} 3\n```\n',
    }


if __name__ == '__main__':
    lint.run(check, broken=[
        ('a directive missing in the configuration', sample(conf='Other'),
         'conf/tileseed.conf: TileSeedThreads is missing'),
        ('a directive missing in the dump', {**sample(), ROOM + 'b.c': '"TileSeedThreads is 3"'},
         'TileSeedThreads is missing in the dump'),
        ('a directive missing in the manual', sample(manual='x'),
         'directives.md: TileSeedThreads is missing'),
        ('a directive that the code does not have', sample(code='TileSeedNice'),
         'directives.md: TileSeedThreads is no directive'),
        ('a command table without directives', sample(code='x'), 'no directive found'),
        ('a directive that README makes up', {**sample(), 'README.md': '`TileSeedOld`\n'},
         'README.md: TileSeedOld is no directive'),
        ('a chapter without a default', sample(Default=''), 'needs Syntax, Default'),
        ('the syntax of another directive', sample(Syntax='`TileSeedNice N`'), 'of another'),
        ('a context that the code does not allow', sample(Context='server, layer'),
         'the context is server'),
        ('a context that the manual leaves out', sample(places='TSEED_IN_LAYERS'),
         'the context is layer, server'),
        ('a chapter without an example', sample(example='#'), 'has no example'),
    ], intact=[
        ('three equal places', sample()),
        ('a section', sample('<TileSeedLayer', '<TileSeedLayer', '<TileSeedLayer')),
        ('several contexts', sample(places='IN_LOCATION | TSEED_IN_DIRECTORY',
                                    Context='location, directory')),
    ])
