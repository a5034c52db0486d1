# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Fixtures: an httpd of each MPM that is installed, and a stub upstream."""
import resource
import signal
import sys

import pytest

import tileseed_httpd
import upstream as stub

sys.path.append(str(tileseed_httpd.TOP / 'tests/lint'))     # pages.py


def interrupt(_number, _frame):
    """Ends a run as Ctrl-C does, so that every server is still stopped."""
    raise KeyboardInterrupt('terminated')


def pytest_configure(config):
    """A run that is terminated must not leave its servers behind."""
    config.addinivalue_line('markers', 'main_path: one of the tests of "./quickstart test quick"')
    signal.signal(signal.SIGTERM, interrupt)


@pytest.fixture(params=tileseed_httpd.MPMS)
def mpm(request):
    """The MPMs of this machine, one after the other."""
    return request.param


def run(server):
    """Hands out a server and lets it report what it left behind."""
    yield server
    server.finish()


@pytest.fixture
def httpd(mpm, upstream):  # pylint: disable=redefined-outer-name,unused-argument
    """An httpd with the module, of every MPM; the test starts it with its own configuration. It
    ends before its upstream does, whose end would be failures in its log."""
    yield from run(tileseed_httpd.Httpd(mpm))


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
