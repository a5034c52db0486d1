# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The built module exports tileseed_module and nothing else."""
import os
import subprocess

import lint

MODULE = os.environ.get('TILESEED_MODULE', 'build/.libs/mod_tileseed.so')
ALLOWED = {'tileseed_module'}


def exported(listing):
    """The names in the output of nm -D --defined-only; the linker's own marks are left out."""
    names = {line.split()[-1] for line in listing.splitlines() if line.strip()}
    return names - {'_init', '_fini', '_edata', '_end', '__bss_start'}


def check(tree):
    """The names of the listing in the tree, or of the built module."""
    if 'nm' in tree:
        names = exported(tree['nm'])
    else:
        names = exported(subprocess.run(['nm', '-D', '--defined-only', MODULE], check=True,
                                        capture_output=True, text=True).stdout)
    complaints = [f'{name} must not be exported' for name in sorted(names - ALLOWED)]
    return complaints + [f'{name} is not exported' for name in sorted(ALLOWED - names)]


if __name__ == '__main__':
    lint.run(check, broken=[
        ('a name too many', {'nm': '01 D tileseed_module\n02 T tseed_log\n'}, 'tseed_log must not'),
        ('the missing module record', {'nm': ''}, 'tileseed_module is not'),
    ], intact=[('the module record alone', {'nm': '01 D tileseed_module\n'})])
