# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Every example of README and of the manual is run: configuration by httpd -t, commands by a shell
against a server with the configuration that README sets up. tests/lint/pages.py says how blocks
are marked.

Commands run as they stand there: a curl of our own knows the password of `me` and where `localhost`
is. Of an answer in JSON the members are compared, of one in text the words around each `…`.
"""
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from ctl import CTL, private
import pages    # of tests/lint, see conftest.py
from tileseed_httpd import MODULES, PATIENCE, TOP, one_mpm, wait_until


PAGES = ['README.md', *sorted(str(path.relative_to(TOP)) for path in
                              (TOP / 'mod_tileseed/manual').glob('*.md'))]
BLOCKS = {page: pages.split((TOP / page).read_text(encoding='utf-8'))[1] for page in PAGES}
SNIPPETS = [(page, block) for page in PAGES for block in BLOCKS[page]
            if block.language == 'apache' and block.words != ['by-hand']]
REQUESTS = [(page, block) for page in PAGES for block in BLOCKS[page] if block.words == ['request']]
# rest.md shows a host that is alone
WITH_COMMANDS = [pytest.param(page, marks=[pytest.mark.sqlite] * page.endswith('rest.md'))
                 for page in PAGES if any(block.language == 'sh' and block.words != ['by-hand']
                                          for block in BLOCKS[page])]
FOLDERS = {'/var/cache/tiles': '@ROOT@/cache', '/var/lib/tileseed': '@ROOT@/state',
           '/etc/apache2/': '@ROOT@/etc/', '/etc/ssl/': '@ROOT@/etc/',
           'http://localhost/wms': '@WMS@'}
MORE = ''.join(f'LoadModule {name}_module {MODULES}/mod_{name}.so\n'
               for name in ('rewrite', 'setenvif') if (MODULES / f'mod_{name}.so').exists())
SSL = f'LoadModule ssl_module {MODULES}/mod_ssl.so\n' if (MODULES / 'mod_ssl.so').exists() else ''
SECTIONS = {
    'in-gridset': ('TileSeedGridSet "example"', (
        ('TileSeedSRS', '2056'), ('TileSeedExtent', '2420000 1030000 2900000 1350000'),
        ('TileSeedLevels|TileSeedResolutions|TileSeedScaleDenominators', '9'))),
    'in-layer': ('TileSeedLayer "example"', (
        ('TileSeedSource', 'wms https://maps.example.org/wms layers=example'),
        ('TileSeedStore', 'file @ROOT@/cache'))),
    'in-location': ('Location "/rest"', (('TileSeedRest', 'on'),)),
}
LAYER = '''
<TileSeedLayer "{}">
    TileSeedSource wms https://maps.example.org/wms layers=example
    TileSeedStore file @ROOT@/cache
</TileSeedLayer>
'''
CURL = '''#!/bin/sh
# curl as the documents call it: knows the password, and where localhost is
for word; do
    shift
    [ "$word" != me ] || word=me:secret
    set -- "$@" "$word"
done
exec {curl} -sS --connect-to localhost:80:127.0.0.1:{port} -w '%{{stderr}}@%{{http_code}}\\n' "$@"
'''
CLIENT = '''#!/bin/sh
TILESEED_URL=http://localhost:{port}/rest exec {client} "$@"
'''


def name_of(page, block):
    """page:line"""
    return f'{page}:{block.line}'


def moved(text):
    """Configuration whose files lie below the test's folder."""
    for place, ours in FOLDERS.items():
        text = text.replace(place, ours)
    return text


def layers_of(text):
    """Layers that a snippet names and does not describe."""
    named = {name for line in re.findall(r'(?m)^\s*TileSeedLayers (.*)$', text)
             for name in line.split()}
    return ''.join(LAYER.format(name) for name in sorted(named))


def whole(block):
    """A snippet in the section where it belongs, with what that needs besides."""
    kind = block.words[0] if block.words else ''
    if kind not in SECTIONS:
        return layers_of(block.text) + moved(block.text)
    section, needed = SECTIONS[kind]
    rest = ''.join(f'{name.split("|")[0]} {value}\n' for name, value in needed
                   if not re.search(rf'(?m)^\s*(?:{name})\b', block.text))
    return (f'{layers_of(block.text)}<{section}>\n{rest}{moved(block.text)}'
            f'</{section.split()[0]}>\n')


def lay_files(httpd):
    """The files that examples name."""
    etc = httpd.path('etc')
    etc.mkdir()
    shutil.copy(httpd.users(me='secret', anna='secret'), etc / 'tileseed.users')
    (etc / 'tileseed.groups').write_text('readers: anna\nseeders: me\nstaff: anna\n')
    (etc / 'wms.auth').write_text('somebody:secret\n')
    (etc / 'wms.pem').write_text('')
    for file in etc.iterdir():
        file.chmod(0o644)


@one_mpm
def test_configuration(httpd):
    """httpd takes every snippet of configuration."""
    assert SNIPPETS
    lay_files(httpd)
    refused = []
    for page, block in SNIPPETS:
        status, words = httpd.configtest(MORE + SSL + whole(block))
        if status != 0:
            refused.append(f'{name_of(page, block)}: {words}')
    assert not refused, '\n'.join(refused)


def start(httpd, page):
    """A server as README sets it up, with what the page adds."""
    lay_files(httpd)
    both = ['README.md'] if page == 'README.md' else ['README.md', page]
    httpd.start(MORE + 'TileSeedStateDir "@ROOT@/state"\n'
                '<Location "/rest">\nTileSeedPage "@ROOT@/page"\n</Location>\n' + moved(''.join(
        block.text for one in both for block in BLOCKS[one] if block.words == ['start'])))
    httpd.expect('requested tiles of layer|failed answers? of the upstream|does not offer')
    httpd.expect('of layer .* (aborted|terminated) after|AH01797|AH01617'
                 '|AH01259|AH01260')       # httpd's own, of CGI on a busy machine


@pytest.fixture
def shell(httpd, tmp_path):
    """Runs blocks of commands one after the other, in one shell's folder and with its variables."""
    binary = tmp_path / 'bin'
    binary.mkdir()
    private(tmp_path / '.netrc', 'machine localhost login me password secret\n')

    def run(text):
        curl = binary / 'curl'
        curl.write_text(CURL.format(curl=shutil.which('curl'), port=httpd.port))
        curl.chmod(0o755)
        client = binary / 'tileseedctl'
        client.write_text(CLIENT.format(client=CTL, port=httpd.port))
        client.chmod(0o755)
        environment = {**os.environ, 'HOME': str(tmp_path),
                       'PATH': f'{binary}:{os.environ["PATH"]}'}
        variables = tmp_path / 'variables'
        script = (f'set -e -o pipefail\n[ ! -e {variables} ] || . {variables}\n{text}\n'
                  f'declare -p id >{variables} 2>/dev/null || :\n')
        return subprocess.run(['bash', '-c', script], cwd=tmp_path, env=environment, check=False,
                              capture_output=True, text=True, timeout=PATIENCE)
    return run


def shape(value):
    """What a document's members are called; what they hold is told for those that are not empty."""
    if isinstance(value, dict):
        return {name: shape(inside) for name, inside in sorted(value.items())}
    if isinstance(value, list):
        return [shape(value[0])] if value and isinstance(value[0], dict) else []
    return None


def is_alike(expected, found):
    """Whether two shapes agree; an object may be null in either, a list empty."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(
            is_alike(inside, found[name]) for name, inside in expected.items())
    if expected and isinstance(expected, list):
        return bool(found) and is_alike(expected[0], found[0])
    return not expected or not found or isinstance(expected, type(found))


def answers(block, said):
    """What is wrong with an answer; None: nothing."""
    if block.language == 'json':
        last = re.findall(r'(?m)^\{.*\}$', said.replace('}{', '}\n{'))
        if not last or not is_alike(shape(json.loads(block.text)), shape(json.loads(last[-1]))):
            return f'looks like {said}'
        return None
    lines = [line.rstrip() for line in said.strip().splitlines()]
    pattern = '\n'.join('*' if line == '…' else re.sub(r'([*?[])', r'[\1]', line).replace('…', '*')
                        for line in block.text.strip().splitlines())
    return None if fnmatch.fnmatchcase('\n'.join(lines), pattern) else f'looks like {said}'


def judge_commands(block, done):
    """What is wrong with a shell's end; None: nothing."""
    statuses = [int(code) for code in re.findall(r'^@(\d+)$', done.stderr, re.M)]
    refused = [code for code in statuses if code >= 400 or code == 0]
    expected = [int(word) for word in block.words]
    if refused != expected or done.returncode != 0:
        return f'ended with {done.returncode}, {statuses}: {done.stdout}{done.stderr}'
    return None


@one_mpm
@pytest.mark.parametrize('page', WITH_COMMANDS)
@pytest.mark.skipif(not shutil.which('curl'), reason='curl is not installed')
def test_commands(httpd, shell, page):  # pylint: disable=redefined-outer-name
    """Every command does what its page says."""
    start(httpd, page)
    said, wrong = '', []
    for block in BLOCKS[page]:
        problem = None
        if block.language == 'sh' and block.words != ['by-hand']:
            if 'kill_all' in block.text:        # later commands show what earlier ones have seeded
                wait_until(lambda: '[]' in httpd.get('/rest/seed.json', auth=('me', 'secret')).text)
            done = shell(block.text)
            said = done.stdout
            problem = judge_commands(block, done)
        elif block.words == ['answer']:
            problem = answers(block, said)
        if problem:
            wrong.append(f'{name_of(page, block)}: {problem}')
    assert not wrong, '\n\n'.join(wrong)
    assert httpd.post('/rest/seed', 'kill_all=all', auth=('me', 'secret')).status == 200


@one_mpm
def test_requests(httpd):
    """Every seed request is one, without a warning. The test is over so soon that the seeder still
    asks the map what it offers: httpd's handler of CGI waits then for a daemon that has ended."""
    httpd.expect('AH00046')
    start(httpd, 'README.md')
    for page, block in REQUESTS:
        answer = httpd.post(f'/rest/estimate/world.{block.language}', block.text,
                            auth=('me', 'secret'))
        assert answer.status == 200 and 'TileSeed-Warning' not in answer.headers, (
            name_of(page, block), answer.body, answer.headers)


def crontabs():
    """(page, variables, command) of each line of a crontab in our documents and manual pages."""
    texts = [(page, block.text) for page in PAGES for block in BLOCKS[page]
             if block.language == 'crontab']
    texts += [(path.name, re.sub(r'(?m)^\.Dl ', '', path.read_text(encoding='utf-8')))
              for path in sorted(TOP.glob('mod_tileseed/*/*.[18]'))]
    for page, text in texts:
        variables = dict(re.findall(r'(?m)^([A-Z]+)=(.*)$', text))
        for command in re.findall(r'(?m)^(?:[\d*/,-]+ +){5}(\S.*)$', text):
            yield page, variables, command


@one_mpm
def test_crontabs(httpd, shell, tmp_path):  # pylint: disable=redefined-outer-name
    """Each command runs with the shell and the few variables that cron gives it. cron itself ends a
    command at a % and takes the \\ before one away."""
    start(httpd, 'README.md')
    shell('')                               # makes the commands
    commands = [*crontabs()]
    assert len(commands) >= 4
    for page, variables, command in commands:
        assert not re.search(r'(?<!\\)%', command), (page, command)
        environment = {'HOME': str(tmp_path), 'LOGNAME': 'me', 'SHELL': '/bin/sh',
                       'PATH': '/usr/bin:/bin', **variables}
        environment['PATH'] = environment['PATH'].replace('/usr/local/bin', f'{tmp_path}/bin')
        command = command.replace('\\%', '%').replace('/usr/local/bin', f'{tmp_path}/bin')
        # README's first layer has one format
        expected = 2 if 'image/webp' in command else 0
        done = subprocess.run(['/bin/sh', '-c', command], env=environment, cwd=tmp_path,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == expected, (page, command, done)
    assert httpd.post('/rest/seed', 'kill_all=all', auth=('me', 'secret')).status == 200


def test_answers_are_compared():
    """The comparison finds what differs."""
    def one(language, text):
        return pages.Block(1, language, ['answer'], text)
    assert not answers(one('json', '{"a":[{"b":1}],"c":null}'), '{"a":[{"b":2},{"b":3}],"c":"x"}')
    assert answers(one('json', '{"a":[{"b":1}]}'), '{"a":[{"d":1}]}')
    assert answers(one('json', '{"a":1}'), '{"a":1,"b":2}')
    assert answers(one('json', '{"a":[{"b":1}]}'), '{"a":[]}')
    assert not answers(one('text', 'a\n…\n[7] …\n'), 'a\nb\nc\n[7] d\n')
    assert answers(one('text', 'a\n…\nd\n'), 'a\nb\nc\n')
    assert pathlib.Path(TOP / PAGES[0]).exists()
