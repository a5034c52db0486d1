# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Fixtures: an httpd of each MPM that is installed, and a stub upstream.

Tests run on SQLite; those with the mark pgsql run on PostgreSQL as well, in one MPM. The others do
when the whole run is on PostgreSQL (database.py)."""
import collections
import resource
import signal
import sys

import pytest

import database as databases
import tileseed_httpd
import upstream as stub

sys.path.append(str(tileseed_httpd.TOP / 'tests/lint'))     # pages.py


def interrupt(_number, _frame):
    """Ends a run as Ctrl-C does, so that every server is still stopped."""
    raise KeyboardInterrupt('terminated')


def pytest_configure(config):
    """A run that is terminated must not leave its servers behind."""
    config.addinivalue_line('markers', 'main_path: one of the tests of "./quickstart test quick"')
    config.addinivalue_line('markers', 'long: takes a minute or more')
    config.addinivalue_line('markers', 'pgsql: is run on PostgreSQL as well')
    config.addinivalue_line('markers', 'sqlite: is about SQLite\'s file, or a host alone')
    signal.signal(signal.SIGTERM, interrupt)


def pytest_generate_tests(metafunc):
    """Tests with the mark pgsql run on both databases."""
    if 'database' in metafunc.fixturenames and databases.DEFAULT == 'sqlite3' and \
            any(metafunc.definition.iter_markers('pgsql')):
        metafunc.parametrize('database', ['sqlite3', 'pgsql'], indirect=True)


def spread(items):
    """Puts long tests first, then spreads each file's tests, in their order, over the whole run.
    Tests of some files wait, those of others compute: side by side they leave no processor idle."""
    lengths = collections.Counter(item.path for item in items)
    seen = collections.Counter()

    def place(item):
        seen[item.path] += 1
        is_long = item.get_closest_marker('long')
        return 0 if is_long else (seen[item.path] - 0.5) / lengths[item.path]
    items.sort(key=place)


def pytest_collection_modifyitems(config, items):
    """On PostgreSQL beside SQLite one MPM is enough."""
    def is_wanted(item):
        params = item.callspec.params if hasattr(item, 'callspec') else {}
        return params.get('database') != 'pgsql' or params.get('mpm') in (
            None, *tileseed_httpd.MPMS[:1])
    config.hook.pytest_deselected(items=[item for item in items if not is_wanted(item)])
    items[:] = filter(is_wanted, items)
    if hasattr(config, 'workerinput'):
        spread(items)


def serve(server, settings=()):
    """Hands out a PostgreSQL while it runs."""
    if tileseed_httpd.ALONE:
        pytest.skip(tileseed_httpd.NO_FLEET)
    try:
        yield server.start(settings=settings)
    except databases.Missing as missing:
        pytest.skip(str(missing))
    finally:
        server.end()


@pytest.fixture(scope='session')
def shared_postgres():
    """The PostgreSQL of a run."""
    yield from serve(databases.Postgres())


@pytest.fixture
def postgres():
    """A PostgreSQL of the test's own, to be mistreated."""
    yield from serve(databases.Postgres(is_own=True))


@pytest.fixture
def large_postgres():
    """A PostgreSQL of the test's own, with room for many hosts."""
    yield from serve(databases.Postgres(is_own=True), ('max_connections=400',))


@pytest.fixture
def database(request):
    """Which database an httpd works on: None, SQLite's file, or a PostgreSQL."""
    if getattr(request, 'param', databases.DEFAULT) == 'sqlite3':
        return None
    if any(request.node.iter_markers('sqlite')):
        pytest.skip('is about SQLite\'s file, or a host alone')
    if 'postgres' in request.fixturenames:
        return request.getfixturevalue('postgres')
    return request.getfixturevalue('shared_postgres')


@pytest.fixture(params=tileseed_httpd.MPMS)
def mpm(request):
    """The MPMs of this machine, one after the other."""
    return request.param


def run(server):
    """Hands out a server and lets it report what it left behind."""
    yield server
    server.finish()


@pytest.fixture
def httpd(mpm, upstream, database):  # pylint: disable=redefined-outer-name,unused-argument
    """An httpd with the module, of every MPM; the test starts it with its own configuration. It
    ends before its upstream does, whose end would be failures in its log."""
    yield from run(tileseed_httpd.Httpd(mpm, postgres=database))


@pytest.fixture
def plain_httpd(mpm):  # pylint: disable=redefined-outer-name
    """An httpd without the module."""
    yield from run(tileseed_httpd.Httpd(mpm, with_module=False))


@pytest.fixture
def upstream():
    """A stub WMS whose faults are scripted."""
    with stub.Upstream() as server:
        yield server


@pytest.fixture
def no_core():
    """Crashes of processes that are started from now on leave no core."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)
