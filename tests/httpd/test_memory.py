# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The children's memory stays where it is over many requests of every kind."""
import json
import pathlib

import pytest

from rest import LEAST, Client, serve
from tileseed_httpd import SANITIZED, one_mpm

QUOTA = json.dumps({'cacheQuotaConfiguration': {
    'globalQuota': {'value': 7, 'units': 'GiB'}, 'layerQuotas': [
        {'layer': 'roads', 'quota': {'value': 1, 'units': 'GiB'}}]}})
PADDED = '<seedRequest>' + ' ' * 30000 + '<type>{}</type></seedRequest>'

# Nearly all that leaves the connection open: an answer with 400 ends it.
READS = (('GET', '/rest/seed.json', None), ('GET', '/rest/seed/roads.xml', None),
         ('HEAD', '/rest/seed/topp:states.json', None), ('GET', '/rest/diskquota.xml', None),
         ('GET', '/rest/diskquota.json', None), ('GET', '/rest/tasks/1.json', None),
         ('GET', '/rest/tasks/999999.json', None), ('PUT', '/rest/seed.json', 'x' * 5000),
         ('OPTIONS', '/rest/seed', None), ('POST', '/rest/none/of/it', 'x' * 5000))
REFUSALS = (('POST', '/rest/seed/roads.json', '{"seedRequest":{"type":"x"}}'),
            ('POST', '/rest/seed/roads.xml', PADDED.format('x')),
            ('POST', '/rest/seed/roads.xml', '<a>' * 5000),
            ('POST', '/rest/seed/roads.json', '{"a":' * 5000),
            ('GET', '/rest/seed/nowhere.json', None), ('POST', '/rest/seed', 'kill_all=x'),
            ('PUT', '/rest/diskquota.xml', '<cacheQuotaConfiguration><enabled>x</enabled>'),
            ('POST', '/rest/seed/roads.xml', 'x' * 66000))
CHANGES = (('POST', '/rest/seed/roads.xml', LEAST['xml']),
           ('POST', '/rest/seed/topp:states.json', LEAST['json']),
           ('POST', '/rest/seed/roads.xml', PADDED.format('reseed')),
           ('PUT', '/rest/diskquota.json', QUOTA), ('POST', '/rest/seed', 'kill_all=all'))

ROUND = READS * 8 + REFUSALS * 2 + CHANGES
MORE_KIB = 512          # what the child may grow by: 50 bytes a request


def resident(pid):
    """A process's memory, in KiB."""
    for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('VmRSS:'):
            return int(line.split()[1])
    raise AssertionError(f'process {pid} has no memory')


def answering(httpd):
    """The processes that have answered so far."""
    return {int(line) for line in httpd.path('who.log').read_text().split()}


def run(client, requests):
    """Sends them all; returns the statuses that were seen."""
    return {client.request(*request)[0].status for request in requests}


@one_mpm
@pytest.mark.skipif(SANITIZED, reason='the sanitizers keep what was freed')
def test_ten_thousand_requests(httpd, upstream):
    """One child answers them all; after a warm-up it does not grow."""
    serve(httpd, upstream, 'StartServers 1\nServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\n'
          'MinSpareThreads 1\nMaxSpareThreads 4\nMaxKeepAliveRequests 0\nKeepAliveTimeout 30\n'
          'TileSeedHistory 50 1m\nLogFormat "%P" child\nCustomLog "@ROOT@/who.log" child\n')
    with Client(httpd) as client:
        statuses = set()
        for _ in range(10):
            statuses |= run(client, ROUND)
        assert statuses == {200, 400, 404, 405, 413}
        (child,) = answering(httpd)
        before = resident(child)
        for _ in range(10000 // len(ROUND)):
            run(client, ROUND)
    assert answering(httpd) == {child}, 'the child was replaced'
    assert resident(child) - before < MORE_KIB
