# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Metrics: both formats, who may read them, and counts that agree with what has happened."""
import collections
import concurrent.futures
import http.client
import itertools
import json
import os
import random
import re
import signal
import threading

import pytest
import yaml

from metrics import METRICS, OPENMETRICS, TEXT, await_metric, needs_promtool, promtool, scrape
from quota import agrees, known, put, size
from rest import BASIC, ask
from seeding import REST, begin, counts, done, ended, layer, seeder_of, stub, task, terminate
from test_tiles import TILES, fetch
from tileseed_httpd import TOP, one_mpm, wait_until
from upstream import Fault

MANUAL = TOP / 'mod_tileseed/manual/metrics.md'
PROMETHEUS = TOP / 'conf/prometheus'
LOG = ('LogFormat "%{tileseed-result}n\t%{tileseed-layer}n" results\n'
       'CustomLog "@ROOT@/results.log" results\n')
SECOND = ('TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small',
          'TileSeedMetatile 2x2')


def serve(httpd, upstream, *lines, before='', after=''):
    """A server with the layer stub, with tiles and metrics."""
    httpd.start(REST + TILES + METRICS + LOG + before + stub(upstream, *lines) + after)
    known(httpd)
    return httpd


def asks(httpd, accept, path='/metrics'):
    """(Content-Type, text) for a client that accepts something."""
    answer = httpd.get(path, headers={'Accept': accept})
    assert answer.status == 200
    return answer.headers['Content-Type'], answer.body.decode()


# Formats

@pytest.mark.main_path
@needs_promtool
@one_mpm
def test_scrape(httpd, upstream):
    """promtool finds nothing wrong with what is told after some work, on any MPM."""
    httpd.expect('failed answers? of the upstream')
    serve(httpd, upstream)
    done(httpd, 'stub', zoomStop=3)
    done(httpd, 'stub', zoomStop=2, type='truncate')
    fetch(httpd, '/tiles/stub/small/1/0/0.png')
    upstream.always = Fault('status', 500)
    fetch(httpd, '/tiles/stub/small/4/0/0.png', 502)
    told = scrape(httpd)
    promtool('check', 'metrics', input=told.text.encode())
    assert told.get('tileseed_tile_requests_total', layer='stub', result='made') == 1
    assert told.get('tileseed_tile_requests_total', layer='stub', result='failed') == 1
    assert told.sum('tileseed_build_info') == 1 and told.get('tileseed_seeder_up') == 1


@one_mpm
def test_formats(httpd, upstream):
    """The client chooses by its q-values; OpenMetrics' own parser reads the other text."""
    parser = pytest.importorskip('prometheus_client.openmetrics.parser')
    serve(httpd, upstream, before='<Location "/rest">\nTileSeedMetrics on\n</Location>\n')
    done(httpd, 'stub', zoomStop=2)
    for accept, expected in (
            ('application/openmetrics-text', OPENMETRICS), ('*/*', TEXT), ('text/plain', TEXT),
            ('application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.4', OPENMETRICS),
            ('application/openmetrics-text;version=1.0.0;q=0.3,text/plain;q=0.4', TEXT)):
        assert asks(httpd, accept)[0] == expected, accept
        assert asks(httpd, accept, '/rest/metrics')[0] == expected
    families = {family.name: family for family in
                parser.text_string_to_metric_families(asks(httpd, OPENMETRICS)[1])}
    told = scrape(httpd)
    names = {name.removesuffix('_total') if kind == 'counter' else name
             for name, kind in told.types.items()}
    assert {name + '_info' if family.type == 'info' else name
            for name, family in families.items()} == names
    made = [sample.value for sample in families['tileseed_tiles'].samples
            if sample.labels == {'type': 'seed', 'result': 'made'}]
    assert made == [21] and families['tileseed_cache_bytes'].unit == 'bytes'
    for method in ('POST', 'PUT', 'DELETE'):
        assert ask(httpd, method, '/metrics', status=405).headers['Allow'] == 'GET, HEAD'
    head = httpd.request('HEAD', '/metrics')
    assert (head.status, head.headers['Content-Type'], head.body) == (200, TEXT, b'')
    assert head.headers['Cache-Control'] == 'no-store' and head.headers['Vary'] == 'Accept'


HOSTILE = ('a"b', '<img src=x onerror=alert(1)>', '"} 1', 'Stra\u00dfe \u20ac', 'back\\slash',
           "it's", '_other')


@needs_promtool
@one_mpm
def test_hostile_names(httpd, upstream):
    """A layer may be called what it likes: it stays the value of a label."""
    parser = pytest.importorskip('prometheus_client.openmetrics.parser')
    names = [name.replace('\\', '\\\\').replace('"', '\\"') for name in HOSTILE]
    serve(httpd, upstream, after=''.join(layer(name, *SECOND) for name in names))
    told = scrape(httpd)
    promtool('check', 'metrics', input=told.text.encode())
    assert told.labels('tileseed_tile_requests_total', 'layer') == {'stub', *HOSTILE}
    families = parser.text_string_to_metric_families(asks(httpd, OPENMETRICS)[1])
    samples = next(family.samples for family in families if family.name == 'tileseed_tile_requests')
    assert {sample.labels['layer'] for sample in samples} == {'stub', *HOSTILE}


# Who may read them

@one_mpm
def test_only_where_they_are_on(httpd, upstream):
    """Off unless the directive says so; access is httpd's, and the layers are the location's."""
    httpd.users(reader='secret')
    guard = '\n'.join((*BASIC, 'Require valid-user'))
    httpd.start(REST + f'''
        <Location "/bare">
            SetHandler tileseed-metrics
            Require local
        </Location>
        <Location "/guarded">
            SetHandler tileseed-metrics
            TileSeedMetrics on
            {guard}
        </Location>
        <Location "/own">
            TileSeedRest on
            TileSeedMetrics on
            TileSeedLayers second
            Require local
        </Location>
        <Location "/own/metrics/below">
            TileSeedMetrics off
        </Location>
        ''' + stub(upstream) + layer('second', *SECOND))
    known(httpd)
    done(httpd, 'stub', zoomStop=1)
    assert 'TileSeedMetrics on' in ask(httpd, 'GET', '/rest/metrics', status=404).text
    ask(httpd, 'POST', '/rest/metrics', status=405)
    assert httpd.get('/bare').status == 404
    assert httpd.get('/guarded').status == 401
    guarded = scrape(httpd, '/guarded', auth=('reader', 'secret'))
    assert guarded.labels('tileseed_layer_tiles_total', 'layer') == {'stub', 'second'}
    assert guarded.get('tileseed_layer_tiles_total', layer='stub', result='made') == 5
    own = scrape(httpd, '/own/metrics')
    assert own.labels('tileseed_layer_tiles_total', 'layer') == {'second'}
    assert httpd.get('/own/metrics/below').status == 404


# Counts

def is_corner(asked):
    """Whether a request is for the upper left corner of the map."""
    box = [float(number) for number in asked['BBOX'].split(',')]
    return (box[0], box[3]) == (0, 1000)


def answered(httpd):
    """How often the access log has each result of the tile services, by layer. Requests of REST are
    done, and all others have no result."""
    lines = httpd.path('results.log').read_text().splitlines()
    return collections.Counter(tuple(line.split('\t')) for line in lines
                               if not line.startswith(('-', 'done\t')))


def told_of_requests(told, found):
    """What the metrics tell of the results of an access log."""
    return {(result, name): told.get('tileseed_service_requests_total', result=result)
            if name == '-' else
            told.get('tileseed_tile_requests_total', layer=name, result=result)
            for result, name in found}


def test_requests_equal_the_access_log(httpd, upstream):
    """Of every result, however many clients there are, and whatever the MPM."""
    httpd.expect('failed answers? of the upstream')
    serve(httpd, upstream, after=layer('closed', *SECOND, 'TileSeedOnMiss 404')
          + layer('empty', *SECOND, 'TileSeedOnMiss empty'))
    upstream.decide = lambda asked: Fault('status', 500) if is_corner(asked) else None
    paths = [f'/tiles/{name}/small/3/{x}/{y}.png' for name in ('stub', 'closed', 'empty')
             for x in range(4) for y in range(4)]
    paths += ['/tiles/stub/small/30/0/0.png', '/tiles/wmts?REQUEST=GetCapabilities', '/tiles/none']

    def client(seed):
        for path in random.Random(seed).sample(paths * 3, len(paths) * 3):
            httpd.get(path)

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(lambda: sum(answered(httpd).values()) >= 6 * 3 * len(paths))
    found, told = answered(httpd), scrape(httpd)
    assert {result for result, _ in found} >= {'hit', 'made', 'failed', 'miss', 'empty'}
    assert told_of_requests(told, found) == found
    for timed, results in (('hit', ('hit',)), ('made', ('made', 'unstored'))):
        count = sum(number for (result, _), number in found.items() if result in results)
        name = 'tileseed_tile_request_duration_seconds'
        assert told.get(name + '_count', result=timed) == count
        assert told.get(name + '_bucket', result=timed, le='+Inf') == count
        assert told.get(name + '_sum', result=timed) > 0
    assert told.get('tileseed_tiles_total', type='request', result='made') == told.get(
        'tileseed_layer_tiles_total', layer='stub', result='made')


def sums(httpd, numbers):
    """What the documents of tasks say together, as the metrics put it: {(type, result): tiles}."""
    found = collections.Counter()
    for number in numbers:
        document = task(httpd, number)
        made, skipped, removed, failed = counts(document)
        unchanged = document.get('tilesUnchanged', 0)
        found.update({(document['type'], result): tiles for result, tiles in (
            ('made', made), ('skipped', skipped - unchanged), ('unchanged', unchanged),
            ('removed', removed), ('failed', failed),
            ('pruned', document['tilesPruned']))})
    return found


def tiles_told(told):
    """The same of a scrape."""
    return collections.Counter({
        (dict(its)['type'], dict(its)['result']): value for (name, its), value
        in told.values.items() if name == 'tileseed_tiles_total' and dict(its)['type'] != 'request'
    })


@one_mpm
def test_tasks_usage_and_upstream(httpd, upstream):
    """The sums are those of the tasks' documents, of the usage, and of what the upstream saw."""
    httpd.expect('failed')
    serve(httpd, upstream, 'TileSeedRetries 0', after=layer('second', *SECOND))
    numbers = [begin(httpd, 'stub', zoomStop=4), begin(httpd, 'second', zoomStop=3)]
    for number in numbers:
        ended(httpd, number)
    numbers.append(begin(httpd, 'stub', zoomStop=3, type='reseed'))
    ended(httpd, numbers[-1])
    numbers.append(begin(httpd, 'stub', zoomStart=2, zoomStop=3, type='truncate'))
    ended(httpd, numbers[-1])
    upstream.decide = lambda asked: Fault('status', 404) if is_corner(asked) else None
    numbers.append(begin(httpd, 'stub', zoomStop=4, type='reseed'))
    ended(httpd, numbers[-1])
    upstream.always = Fault('hang')
    numbers.append(begin(httpd, 'second', zoomStop=7, type='reseed'))
    wait_until(lambda: rows_running(httpd))
    terminate(httpd)
    ended(httpd, numbers[-1])
    told = scrape(httpd)
    assert tiles_told(told) == sums(httpd, numbers)
    documents = [task(httpd, number) for number in numbers]
    assert told.sum('tileseed_written_bytes_total') == sum(each['bytes'] for each in documents)
    assert told.get('tileseed_tasks_finished_total', type='seed', result='done') == 2
    assert told.get('tileseed_tasks_finished_total', type='truncate', result='done') == 1
    assert told.get('tileseed_tasks_finished_total', type='reseed', result='done') == 2
    assert told.get('tileseed_tasks_finished_total', type='reseed', result='terminated') == 1
    assert told.sum('tileseed_tasks') == 0 and told.get('tileseed_tiles_remaining') == 0
    sent = told.sum('tileseed_upstream_requests_total', upstream='stub')
    wait_until(lambda: len(upstream.requests) + upstream.capabilities_requests == sent)
    assert told.get('tileseed_upstream_requests_total', upstream='stub', result='client_error') > 0
    assert told.sum('tileseed_upstream_request_duration_seconds_count') == told.sum(
        'tileseed_upstream_requests_total') - told.sum('tileseed_upstream_requests_total',
                                                       result='cancelled')
    assert {name for name in ('stub', 'second') if told.get(
        'tileseed_layer_last_success_timestamp_seconds', layer=name)} == {'stub', 'second'}
    used = agrees(httpd)
    await_metric(httpd, 'tileseed_cache_bytes', used['bytes'])
    await_metric(httpd, 'tileseed_cache_files', used['files'])
    await_metric(httpd, 'tileseed_books_complete', 1)


def rows_running(httpd):
    """How many tasks run."""
    return scrape(httpd).sum('tileseed_tasks', state='running')


def test_killed_seeders(httpd, upstream):
    """Nothing falls and nothing is lost while the seeder is killed at any time. A metatile whose
    count was not recorded yet may count twice, once a kill."""
    httpd.expect('TS0048')
    serve(httpd, upstream)
    seen, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                seen.append(scrape(httpd).counters())
            except (OSError, http.client.HTTPException):
                pass

    reader = threading.Thread(target=read)
    reader.start()
    number = begin(httpd, 'stub', zoomStop=5, threadCount=4)
    kills = 0
    for tiles in (20, 200, 700):
        wait_until(lambda: task(httpd, number)['tilesProcessed'] >= tiles)  # pylint: disable=W0640
        pid = seeder_of(httpd)
        os.kill(pid, signal.SIGKILL)
        kills += 1
        wait_until(lambda: seeder_of(httpd) not in (None, pid))     # pylint: disable=W0640
    document = ended(httpd, number)
    stop.set()
    reader.join()
    told = scrape(httpd)
    assert document['state'] == 'DONE' and counts(document) == (1365, 0, 0, 0)
    made = told.get('tileseed_tiles_total', type='seed', result='made')
    assert 1365 <= made <= 1365 + 4 * kills
    assert told.get('tileseed_seeder_starts_total') == 1 + kills
    assert told.get('tileseed_tasks_finished_total', type='seed', result='done') == 1
    seen.append(told.counters())
    for before, after in itertools.pairwise(seen):
        assert all(after[key] >= value for key, value in before.items())


def test_restarts(httpd, upstream):
    """A graceful restart keeps all counts, also of a layer that is away for a while; a stop and a
    start begin at 0."""
    serve(httpd, upstream, after=layer('second', *SECOND))
    done(httpd, 'second', zoomStop=1)
    before = scrape(httpd)
    top = REST + TILES + METRICS
    httpd.graceful(top + stub(upstream) + layer('third', *SECOND))
    wait_until(lambda: 'third' in scrape(httpd).labels('tileseed_layer_tiles_total', 'layer'))
    assert 'second' not in scrape(httpd).labels('tileseed_layer_tiles_total', 'layer')
    httpd.graceful(top + stub(upstream) + layer('second', *SECOND))
    wait_until(lambda: 'second' in scrape(httpd).labels('tileseed_layer_tiles_total', 'layer'))
    after = scrape(httpd)
    assert all(after.get(key[0], **dict(key[1])) >= value
               for key, value in before.counters().items() if dict(key[1]).get('layer') != 'stub')
    assert after.get('tileseed_layer_tiles_total', layer='second', result='made') == 5
    wait_until(lambda: scrape(httpd).get('tileseed_seeder_starts_total') > 1)
    httpd.stop()
    httpd.start()
    assert scrape(httpd).sum('tileseed_layer_tiles_total') == 0


@one_mpm
def test_quota(httpd, upstream):
    """What was removed for it, and who waits for room."""
    httpd.expect('TS0025')
    serve(httpd, upstream, before='TileSeedDiskQuotaGrace 0\n')
    done(httpd, 'stub', zoomStop=4, threadCount=4)
    used = agrees(httpd)['bytes']
    put(httpd, enabled=True, globalQuota=size(used // 2, 'B'), cacheCleanUpFrequency=1,
        cacheCleanUpUnits='SECONDS', globalExpirationPolicyName='LRU')
    await_metric(httpd, 'tileseed_quota_limit_bytes', used // 2)
    wait_until(lambda: scrape(httpd).get('tileseed_cache_bytes') <= used // 2)
    left = agrees(httpd)
    told = await_metric(httpd, 'tileseed_cache_bytes', left['bytes'])
    assert told.get('tileseed_quota_enabled') == 1
    assert told.get('tileseed_cleanups_total') == 1
    assert told.get('tileseed_evicted_pages_total') == left['lastCleanUp']['pages']
    assert told.get('tileseed_evicted_tiles_total') == left['lastCleanUp']['tiles']
    assert told.get('tileseed_evicted_bytes_total') == used - left['bytes']
    put(httpd, enabled=True, globalQuota=size(0, 'B'))
    number = begin(httpd, 'stub', zoomStart=6, zoomStop=6)
    told = await_metric(httpd, 'tileseed_tasks_waiting', 1, cause='quota')
    assert told.get('tileseed_quota_refusals_total') > 0
    terminate(httpd)
    ended(httpd, number)


@one_mpm
def test_reconcile(httpd, upstream):
    """Pages that were not as the books had them."""
    serve(httpd, upstream)
    done(httpd, 'stub', zoomStop=2)
    os.unlink(next(httpd.path('cache/stub').rglob('*.png')))
    ask(httpd, 'POST', '/rest/diskquota/reconcile')
    told = await_metric(httpd, 'tileseed_reconciles_total', 1)
    assert told.get('tileseed_reconcile_differing_pages_total') == 1
    wait_until(lambda: scrape(httpd).get('tileseed_reconcile_last_timestamp_seconds') > 1.7e9)


@one_mpm
def test_many_layers(httpd, upstream):
    """200 layers have no more than 3,000 series after seeds, hits and misses."""
    names = [f'layer{number}' for number in range(200)]
    serve(httpd, upstream, after=''.join(layer(name, *SECOND) for name in names))

    def use(name):
        for path in (f'/tiles/{name}/small/1/0/0.png', f'/tiles/{name}/small/1/0/1.png'):
            wait_until(lambda: httpd.get(path).status == 200)   # pylint: disable=W0640

    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        list(clients.map(use, names))
    for name in names[:3]:
        done(httpd, name, zoomStop=0)
    told = scrape(httpd)
    assert len(told.labels('tileseed_tile_requests_total', 'layer')) == 201
    assert told.sum('tileseed_tile_requests_total', result='made') >= 200
    assert 200 * 4 < len(told.values) <= 3000
    assert told.get('tileseed_metrics_other_layers') == 0


# What comes with them

def families(text):
    """The chapters of the manual: {name: (type, unit, labels)}."""
    found = {}
    for chapter in re.split(r'(?m)^## ', text)[1:]:
        name = chapter.split('\n', 1)[0]
        if name.startswith('tileseed_'):
            facts = dict(re.findall(r'(?m)^- \*\*(\w+):\*\* ([^\n]*)', chapter))
            assert set(facts) >= {'Type', 'Unit', 'Labels'}, name
            found[name] = (facts['Type'], facts['Unit'],
                           set(re.findall(r'`(\w+)`', facts['Labels'].split(':')[0]))
                           if facts['Labels'] != 'none' else set())
    return found


@pytest.fixture(name='busy')
def busy_server(httpd, upstream):
    """A server of which every family has a value."""
    serve(httpd, upstream, before='TileSeedMinFree 1MiB\n')
    done(httpd, 'stub', zoomStop=1)
    put(httpd, enabled=True, globalQuota=size(1, 'GiB'))
    ask(httpd, 'POST', '/rest/diskquota/reconcile')
    await_metric(httpd, 'tileseed_reconciles_total', 1)
    await_metric(httpd, 'tileseed_quota_limit_bytes', 1 << 30)
    wait_until(lambda: scrape(httpd).sum('tileseed_filesystem_free_bytes') > 0)
    wait_until(lambda: scrape(httpd).get('tileseed_reconcile_last_timestamp_seconds') > 0)
    return httpd


@one_mpm
def test_manual(busy):
    """The manual has a chapter for each family, with its type, unit and labels."""
    parser = pytest.importorskip('prometheus_client.openmetrics.parser')
    told = scrape(busy)
    units = {family.name: family.unit for family in
             parser.text_string_to_metric_families(asks(busy, OPENMETRICS)[1])}
    written = families(MANUAL.read_text())
    assert set(written) == set(told.types)
    for name, kind in told.types.items():
        series = [dict(its) for found, its in told.values
                  if found in (name, name + '_bucket' if kind == 'histogram' else name)]
        labels = set(series[0]) - {'le'}
        unit = units.get(name.removesuffix('_total'), '') or 'none'
        assert written[name] == (kind, unit, labels), name
        assert series and all(set(its) - {'le'} == labels for its in series), name


def named_metrics(expression):
    """The names of metrics in an expression."""
    return set(re.findall(r'\btileseed_\w+', expression))


def assert_known(expression, told):
    """An expression names metrics that there are, with labels that they have."""
    names = {name for name, _ in told.values}
    assert named_metrics(expression) <= names, expression
    for name, inside in re.findall(r'\b(tileseed_\w+)\{([^}]*)\}', expression):
        labels = set().union(*(dict(its) for found, its in told.values if found == name))
        used = set(re.findall(r'(\w+)\s*(?:=~|!~|!=|=)', inside))
        assert used <= labels | {'job', 'instance'}, expression


@needs_promtool
@one_mpm
def test_alerts(busy):
    """promtool reads the alerts, their tests pass, and they are about metrics that there are."""
    promtool('check', 'rules', PROMETHEUS / 'alerts.yml')
    promtool('test', 'rules', 'alerts_test.yml', cwd=PROMETHEUS)
    told = scrape(busy)
    rules = yaml.safe_load((PROMETHEUS / 'alerts.yml').read_text())['groups'][0]['rules']
    cases = yaml.safe_load((PROMETHEUS / 'alerts_test.yml').read_text())['tests']
    fired = {case['alertname'] for each in cases for case in each['alert_rule_test']
             if case.get('exp_alerts')}
    quiet = {case['alertname'] for each in cases for case in each['alert_rule_test']
             if not case.get('exp_alerts')}
    for rule in rules:
        assert_known(rule['expr'], told)
        assert rule['alert'] in fired and rule['alert'] in quiet, rule['alert']
        assert {'severity'} == set(rule['labels'])
        assert {'summary', 'description'} == set(rule['annotations'])


def expressions(dashboard):
    """Every expression of a dashboard, with its variables filled in."""
    found = [target['expr'] for panel in dashboard['panels']
             for target in panel.get('targets', ())]
    found += [each['expr'] for each in dashboard['annotations']['list']]
    found += [re.sub(r'label_values\((.*), \w+\)', r'\1', each['query'])
              for each in dashboard['templating']['list'] if each['name'] != 'datasource']
    return [re.sub(r'\$(?:job|instance|layer|upstream)\b', '.*', one.replace(
        '$__rate_interval', '5m')) for one in found]


@needs_promtool
@one_mpm
def test_dashboard(busy, tmp_path):
    """Every expression of the dashboard can be parsed and is about metrics that there are."""
    dashboard = json.loads((PROMETHEUS / 'dashboard.json').read_text())
    found = expressions(dashboard)
    assert len(found) > 30 and not any('$' in one for one in found)
    rules = [{'record': f'panel:{number}', 'expr': one} for number, one in enumerate(found)]
    path = tmp_path / 'dashboard.yml'
    path.write_text(yaml.safe_dump({'groups': [{'name': 'all', 'rules': rules}]}))
    promtool('check', 'rules', path)
    told = scrape(busy)
    for one in found:
        assert_known(one, told)
    numbers = [panel['id'] for panel in dashboard['panels']]
    assert len(set(numbers)) == len(numbers)
    shown = set().union(*map(named_metrics, found))
    assert {'tileseed_tiles_total', 'tileseed_cache_bytes', 'tileseed_seeder_up'} <= shown
