# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The directives of the code, of conf/tileseed.conf and of README's reference are the same."""
import re

import lint

IN_CODE = re.compile(r'\bAP_INIT_\w+\s*\(\s*"<?(TileSeed\w+)')
IN_CONF = re.compile(r'(?m)^[ #]*</?(TileSeed\w+)|^[ #]*(TileSeed[A-Z]\w*)(?= )')
IN_README = re.compile(r'\b(TileSeed[A-Z]\w*)\b(?!-)')
REFERENCE = re.compile(r'<!-- directives -->(.*)<!-- /directives -->', re.S)


def code_directives(tree):
    """What the command tables of httpd/ register."""
    found = set()
    for text in lint.sources(tree, '.c', 'mod_tileseed/httpd/').values():
        found |= set(IN_CODE.findall(lint.blank_code(text, keep_strings=True)))
    return found


def conf_directives(tree):
    """What conf/tileseed.conf shows, commented or not."""
    found = IN_CONF.findall(tree.get('conf/tileseed.conf', ''))
    return {section or plain for section, plain in found}


def readme_directives(tree):
    """What README's reference names."""
    reference = REFERENCE.search(tree.get('README.md', ''))
    return set(IN_README.findall(reference[1])) if reference else set()


def check(tree):
    """The three sets, two by two."""
    code = code_directives(tree)
    complaints = [] if code else ['mod_tileseed/httpd/: no directive found']
    for place, named in (('conf/tileseed.conf', conf_directives(tree)),
                         ('README.md', readme_directives(tree))):
        complaints += [f'{place}: {name} is missing' for name in sorted(code - named)]
        complaints += [f'{place}: {name} is no directive' for name in sorted(named - code)]
    return complaints


def house(code='TileSeedThreads', conf='TileSeedThreads', readme='TileSeedThreads'):
    """A tree with one directive in each place."""
    return {
        'mod_tileseed/httpd/a.c': f'AP_INIT_TAKE1("{code}", set, NULL, RSRC_CONF, "the number"),\n',
        'conf/tileseed.conf': f'# TileSeed does it.\n#{conf} 16\n',
        'README.md': f'TileSeedOld\n<!-- directives -->\n`{readme} N`\n<!-- /directives -->\n',
    }


if __name__ == '__main__':
    lint.run(check, broken=[
        ('a directive missing in the configuration', house(conf='Other'),
         'conf/tileseed.conf: TileSeedThreads is missing'),
        ('a directive missing in README', house(readme='x'),
         'README.md: TileSeedThreads is missing'),
        ('a directive that the code does not have', house(code='TileSeedNice'),
         'README.md: TileSeedThreads is no directive'),
        ('a command table without directives', house(code='x'), 'no directive found'),
    ], intact=[
        ('three equal places', house()),
        ('a section', house('<TileSeedLayer', '<TileSeedLayer', 'TileSeedLayer')),
    ])
