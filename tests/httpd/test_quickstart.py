# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What quickstart says, and README's two commands, one after the other on a machine that has
nothing yet, in both orders. The packages and the build are there already: commands of the test's
own stand for what installs them. The tests are not run: what would run them is written down."""
import os
import shutil
import subprocess

import pytest

from tileseed_httpd import MODULE, PATIENCE, SANITIZED, TOP

PACKAGE = 'python3-pytest-xdist'    # the one that this machine lacks at first
COMMANDS = {
    'dpkg-query': f'[ "$4" = {PACKAGE} ] && [ ! -e installed ] || echo installed',
    'apt-get': f'case "$*" in *" {PACKAGE}"*) touch installed; esac',
    'sudo': 'exec "$@"',
    'promtool': '',
    'initdb': '',
    # the module is built already, and the tests need not run
    'make': f'''make={shutil.which('make')}
        case "$*" in
        "-s -j"*) mkdir -p .libs; ln -sf {MODULE} .libs;;
        *check-httpd*) exec $make -o mod_tileseed.la -o tileseedctl "$@";;
        *" check") ;;
        *) exec $make "$@"; esac''',
    'python3': '''case "$*" in
        *" pytest "*) echo "$*" >>tests-run;;
        *xdist*) [ -e installed ];;
        *) exec /usr/bin/python3 "$@"; esac''',
}


@pytest.fixture
def machine(tmp_path):
    """A checkout, and commands that stand before those of the machine."""
    checkout, binary = tmp_path / 'checkout', tmp_path / 'bin'
    checkout.mkdir()
    binary.mkdir()
    for entry in TOP.iterdir():
        if not entry.name.startswith('.') and not (entry / 'config.status').exists():
            (checkout / entry.name).symlink_to(entry)
    for name, text in COMMANDS.items():
        for word in ('installed', 'tests-run'):
            text = text.replace(f' {word}', f' {tmp_path}/{word}').replace(
                f'>{word}', f'>{tmp_path}/{word}')
        (binary / name).write_text(f'#!/bin/sh\n{text}\n')
        (binary / name).chmod(0o755)
    return tmp_path


@pytest.mark.skipif(SANITIZED, reason='the demo does not preload the sanitizers')
@pytest.mark.parametrize('orders', [('--once', 'test'), ('test', '--once')])
def test_both_commands(machine, orders):    # pylint: disable=redefined-outer-name
    """The map is seeded, and the tests run side by side."""
    environment = {**os.environ, 'PATH': f'{machine}/bin:{os.environ["PATH"]}',
                   'PYTHON': str(machine / 'bin/python3')}
    environment.pop('MAKEFLAGS', None)
    said = {word: subprocess.run([machine / 'checkout/quickstart', word], env=environment,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=PATIENCE, check=False) for word in orders}
    assert 'is DONE' in said['--once'].stdout and said['--once'].returncode == 0, said
    runs = (machine / 'tests-run').read_text(encoding='ascii').splitlines()
    assert len(runs) == 1 and ' -n ' in runs[0], (runs, said['test'])


@pytest.mark.parametrize('hosts, drained', [
    ('web1 STANDBY\nweb2 ACTIVE\nweb3 STANDBY', 'web2'),
    ('web1 STANDBY\nweb2 STANDBY\nweb3 DEAD', 'web1'),    # the role is changing hands
    ('', 'web1')], ids=['one-works', 'none-works', 'no-answer'])
def test_the_fleet_names_the_host_to_drain(tmp_path, hosts, drained):
    """The one that works; the first one if none does just now."""
    client = tmp_path / 'tileseedctl'
    client.write_text(f'#!/bin/sh\nprintf "{hosts}\\n"\n', 'ascii')
    client.chmod(0o755)
    script = (f"eval \"$(sed -n '/^show_hosts() {{/,/^}}/p; /^print_fleet() {{/,/^}}/p' "
              f"{TOP / 'quickstart'})\"\nset -eu\nbuild={tmp_path} run={tmp_path} "
              'base=http://127.0.0.1:1 password=p wms_port=2\nprint_fleet')
    said = subprocess.run(['bash', '-c', script], capture_output=True, text=True, check=True)
    assert f' drain {drained}\n' in said.stdout, said
