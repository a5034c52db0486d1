# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The operators' page in Debian's Chromium, over a real httpd with MapServer and running tasks."""
import json
import urllib.parse

import pytest

from database import opened
import tileseed_httpd
from fleet import Fleet
from quota import put, size, usage
from rest import BASIC, ask, location
from seeding import SMALL_GRID, begin, done, ended, layer, stub, task, world
from test_hosts import put_state
from test_prune import LAND
from tileseed_httpd import wait_until
from upstream import Fault

one_mpm = pytest.mark.parametrize('mpm', tileseed_httpd.MPMS[:1], indirect=True)
chrome = pytest.importorskip('browser', reason='python3-selenium is not installed')
pytestmark = [pytest.mark.skipif(not chrome.CHROMIUM, reason='chromium is not installed'),
              pytest.mark.xdist_group('browser')]     # one browser for all tests

EVIL = '<img src=x onerror=alert(1)>'
PAGE = 'TileSeedPage "@ROOT@/page"'
TILES = '<Location "/tiles">\n    TileSeedTiles on\n    Require local\n</Location>\n'


@pytest.fixture(scope='module', name='browser')
def browser_fixture():
    """One browser for all tests; each opens a page of its own."""
    with chrome.chromium() as browser:
        yield browser


def serve(httpd, upstream, *lines):
    """A server with a map of the world, and two layers over the stub; one has a hostile name."""
    small = [layer(name, 'TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small',
                   'TileSeedMetatile 1x1', 'TileSeedRetries 0') for name in ('stub', EVIL)]
    httpd.expect('TS0018')
    httpd.start('TileSeedStateDir "@ROOT@/state"\n' +
                location('/rest', *(lines or ('Require local',)), PAGE) + TILES + SMALL_GRID +
                f'TileSeedUpstream stub {upstream.url} connections=8 timeout=600\n' + world() +
                ''.join(small))


def open_page(browser, httpd, words=''):
    """The page, when it shows data."""
    browser.look()
    browser.open(httpd.url(f'/rest/{words}'))
    browser.wait_for('seeder working', '#strip')


def is_clean(browser, httpd):
    """No message, and no request to another server. A tab of the test before may ask its own, which
    has ended, until it is told to show another page."""
    base = httpd.url('/')
    assert not [line for line in browser.messages()
                if line.startswith(base) or not line.startswith('http://127.0.0.1:')]
    assert all(address.startswith(base) for address in browser.requests()), browser.requests()


VIEWS = {'#/': 'Tasks under way', '#/tasks': 'Tasks, the newest first', '#/task/1': 'Created',
         '#/map/world': 'Seed request', '#/quota': 'Change the quota',
         '#/upstreams': 'Usual latency'}


@one_mpm
def test_every_view(httpd, upstream, browser):
    """By day, by night and on a telephone: nothing that axe-core complains about, nothing wider
    than the window. Names are text, whatever they look like."""
    serve(httpd, upstream)
    done(httpd, 'world', zoomStop=2)
    upstream.always = Fault('held')
    begin(httpd, EVIL, zoomStop=3)
    begin(httpd, 'stub', type='reseed', zoomStop=1)
    open_page(browser, httpd)
    for width, scheme in ((1280, 'light'), (1280, 'dark'), (360, 'light')):
        browser.look(width, scheme)
        for words, seen in VIEWS.items():
            browser.go(words)
            browser.wait_for(seen, 'main')
            assert browser.violations() == [], (words, width, scheme)
            assert browser.run('return document.documentElement.scrollWidth') <= width, words
            # a table is not cut either: the reason and the button are seen
            assert not browser.run('''
                return [...document.querySelectorAll('td')].filter((cell) =>
                    cell.getBoundingClientRect().right > innerWidth).length'''), (words, width)
    browser.look()
    browser.go('#/')
    browser.wait_for(EVIL, 'main')
    assert not browser.run('return document.querySelectorAll("img").length')
    is_clean(browser, httpd)
    upstream.released.set()
    ended(httpd, 2)


@one_mpm
def test_hosts(mpm, postgres, upstream, browser):
    """The overview shows who works and who stands by, whichever host it is asked of."""
    page = f'<Location "/rest">\n    {PAGE}\n</Location>\n'
    fleet = Fleet(mpm, postgres, upstream)
    try:
        first, other = [fleet.add(more=page) for _ in range(2)]
        browser.look()
        browser.open(other.url('/rest/'))
        for words in ('web1: active', 'web2: standby'):
            browser.wait_for(words, 'main')
        assert browser.violations() == []
        assert put_state(other, 'web1', 'draining').status == 200
        fleet.works(other)
        for words in ('web1: draining', 'web2: active'):
            browser.wait_for(words, 'main')
        first.stop()
        browser.ask_now()
        browser.wait_for('Host web1 is dead or was stopped', 'main [aria-label^=What]')
        is_clean(browser, other)
    finally:
        fleet.finish()


@one_mpm
def test_requests_of_the_page(httpd, upstream, browser):
    """One script and one document until there is data. Then the page asks each two seconds while
    a task runs, else each ten, and not at all while nobody looks. What has not changed is not
    sent."""
    serve(httpd, upstream)
    open_page(browser, httpd)
    names = [urllib.parse.urlsplit(address).path for address in browser.requests()]
    first = [name for name in names if not name.endswith(('.css', '.svg'))]
    assert first[:first.index('/rest/overview.json') + 1] in (
        ['/rest/page/page.js', '/rest/overview.json'],
        ['/rest/page/page.js', '/rest/page/views.js', '/rest/overview.json'])
    wait_until(lambda: len(browser.timers()) == 1 and 9000 <= browser.timers()[0] <= 11000)
    log = httpd.path('access.log')
    browser.ask_now()
    wait_until(lambda: '/rest/overview.json HTTP/1.1" 304' in log.read_text())
    upstream.always = Fault('held')
    begin(httpd, 'stub', zoomStop=1)
    browser.ask_now()
    browser.wait_for('1 running', '#strip')
    wait_until(lambda: len(browser.timers()) == 1 and 1800 <= browser.timers()[0] <= 2200)
    browser.run('''
        Object.defineProperty(document, 'hidden', {configurable: true, get: () => true});
        document.dispatchEvent(new Event('visibilitychange'))''')
    wait_until(lambda: browser.timers() == [])
    browser.run('delete document.hidden; document.dispatchEvent(new Event("visibilitychange"))')
    wait_until(lambda: len(browser.timers()) == 1)
    upstream.released.set()
    browser.wait_for('Task 1 of stub: done', '#said')
    is_clean(browser, httpd)


def draw_by_mouse(browser):
    """Drags a rectangle in the middle of the map."""
    browser.click('Draw a rectangle')
    browser.drag(browser.find('canvas'), (50, 40), (50, 40))


def draw_by_touch(browser):
    """The same with a finger."""
    browser.click('Draw a rectangle')
    browser.touch(browser.find('canvas'), [(-60, -60), (-10, -20), (40, 20)])


def draw_by_keyboard(browser):
    """The same, with nothing but keys."""
    browser.run('document.querySelector("canvas").focus()')
    browser.press('r', 'ARROW_RIGHT', 'ARROW_UP')
    browser.press('ARROW_LEFT', 'ARROW_DOWN', shift=True)
    browser.press('ENTER')


@one_mpm
@pytest.mark.parametrize('draw', [draw_by_mouse, draw_by_touch, draw_by_keyboard])
def test_seed_that_is_drawn(httpd, upstream, browser, draw):
    """A rectangle fills the form, the form says what the seed will take, and then it is sent."""
    serve(httpd, upstream)
    open_page(browser, httpd, '#/map/stub')
    browser.wait_for('Seed request', 'main')
    browser.wait_for('are there', '.estimate')
    level_seen(browser)     # the map has a size: without one no key draws anything
    draw(browser)
    box = wait_until(lambda: browser.run(
        'return document.querySelector("[aria-describedby=box-help]").value'))
    bounds = [float(number) for number in box.split(',')]
    assert 0 <= bounds[0] < bounds[2] <= 1000 and 0 <= bounds[1] < bounds[3] <= 1000
    assert httpd.get('/rest/tasks.json').json() == {'tasks': []}
    assert browser.driver.switch_to.active_element.text == 'Seed'
    browser.press('ENTER')
    browser.wait_for('Accepted as task 1', '#said')
    document = ended(httpd, 1)
    assert document['bounds'] == pytest.approx(bounds)
    assert document['tilesMade'] > 0
    wait_until(lambda: asks_for_no_picture(browser, httpd))
    is_clean(browser, httpd)


def asks_for_no_picture(browser, httpd):
    """Whether the map is drawn: the page asks the server once more, and for no picture. The map has
    far more tiles of the level that fits its scale than the page keeps pictures."""
    def count(words):
        return httpd.path('access.log').read_text().count(words)
    pictures, overviews = count('onmiss=404'), count('/overview.json')
    browser.ask_now()
    wait_until(lambda: count('/overview.json') > overviews)
    return count('onmiss=404') == pictures


@one_mpm
def test_too_many_tiles_for_the_map(httpd, upstream, browser):
    """Where even the coarsest level has more tiles than the page shows, it asks for none and says
    what to do; closer they are shown."""
    httpd.start('TileSeedStateDir "@ROOT@/state"\n' + location('/rest', 'Require local', PAGE) +
                TILES + SMALL_GRID + f'TileSeedUpstream stub {upstream.url}\n' +
                layer('deep', 'TileSeedSource wms upstream:stub layers=any',
                      'TileSeedGrid small zoom=6-7'))
    done(httpd, 'deep', zoomStart=6, zoomStop=6)
    open_page(browser, httpd, '#/map/deep')
    browser.wait_for('zoom in to see pictures', 'main')
    assert asks_for_no_picture(browser, httpd)
    assert 'onmiss=404' not in httpd.path('access.log').read_text()
    for _ in range(3):
        browser.click('+')
    browser.wait_gone('zoom in to see pictures', 'main')
    wait_until(lambda: 'onmiss=404' in httpd.path('access.log').read_text())
    wait_until(lambda: asks_for_no_picture(browser, httpd))
    is_clean(browser, httpd)


def level_seen(browser):
    """The level of the tiles that the map shows; the choice of levels names it once the map has a
    size."""
    words = wait_until(lambda: browser.run("""
        return [...document.querySelectorAll('option')].map((one) => one.textContent)
            .find((text) => text.startsWith('as seen: '))"""))
    return int(words.removeprefix('as seen: '))


@one_mpm
@pytest.mark.parametrize('width', [1280, 360])
def test_two_fingers_zoom(httpd, upstream, width):
    """Fingers four times as far apart show two levels more. The way back shows them no longer. A
    finger alone moves the map and zooms nothing."""
    serve(httpd, upstream)
    near, between, far = ([(-side, -side), (side, side)] for side in (20, 40, 80))
    with chrome.chromium() as browser:
        open_page(browser, httpd, '#/map/stub')
        browser.look(width)
        browser.wait_for('are there', '.estimate')
        canvas = browser.find('canvas')
        before = level_seen(browser)
        browser.touch(canvas, *zip(near, between, far))
        wait_until(lambda: level_seen(browser) == before + 2)
        browser.touch(canvas, [(0, 0), (40, 10), (80, 20)])
        browser.touch(canvas, *zip(far, between, near))
        wait_until(lambda: level_seen(browser) == before)
        assert browser.run('return visualViewport.scale') == 1
        is_clean(browser, httpd)


@one_mpm
def test_focus_on_the_map(httpd, upstream, browser):
    """What is drawn while somebody types or moves the map takes the focus from nothing."""
    serve(httpd, upstream)
    upstream.always = Fault('held')
    open_page(browser, httpd, '#/map/stub')
    browser.wait_for('are there', '.estimate')
    for number, selector in enumerate(('form input', 'form select', 'canvas'), 1):
        browser.run('document.querySelector(arguments[0]).focus()', selector)
        begin(httpd, 'stub', type='reseed', zoomStop=1)
        browser.ask_now()
        browser.wait_for(f'reseed {number}', 'main .events')
        assert browser.run('return document.activeElement.matches(arguments[0])', selector)
    upstream.released.set()
    ended(httpd, 3)
    is_clean(browser, httpd)


def set_quota(httpd, browser, value, *choices):
    """Opens the form, fills it as a reader does, and saves it: a number, and the choices of the
    lists: whose limit, its unit, what goes first."""
    open_page(browser, httpd, '#/quota')
    browser.wait_for('Change the quota')
    browser.choose(*choices)
    number = browser.find('form input[type=number]')
    number.clear()
    number.send_keys(value)
    browser.click('Save')
    browser.wait_for('The quota is saved', '#said')
    return ask(httpd, 'GET', '/rest/diskquota.json').json()['cacheQuotaConfiguration']


@one_mpm
def test_quota_of_a_layer(httpd, upstream, browser):
    """The limit of a layer is set, changed and taken away; what others have stays."""
    serve(httpd, upstream)
    other = {'layer': 'world', 'expirationPolicyName': 'LFU', 'quota': size('1', 'MiB')}
    put(httpd, layerQuotas=[other])
    found = set_quota(httpd, browser, '5', 'All layers', 'MiB', 'LRU')
    assert found['globalQuota'] == size('5', 'MiB') and found['layerQuotas'] == [other]
    assert found['globalExpirationPolicyName'] == 'LRU'
    for value in ('300', '40.5'):
        found = set_quota(httpd, browser, value, 'stub', 'KiB', 'LFU')
        own = {'layer': 'stub', 'expirationPolicyName': 'LFU', 'quota': size(value)}
        assert found['layerQuotas'] == [other, own]
    wait_until(lambda: str(int(40.5 * 1024)) in json.dumps(usage(httpd)), what='the new limit')
    browser.ask_now()
    browser.wait_for('40.5 KiB', 'main table')
    assert set_quota(httpd, browser, '', EVIL, 'GiB', 'LRU')['layerQuotas'] == [other, own]
    assert set_quota(httpd, browser, '', 'stub')['layerQuotas'] == [other]
    assert found['globalQuota'] == size('5', 'MiB')
    is_clean(browser, httpd)


@one_mpm
def test_removing_what_is_configured_no_more(httpd, upstream, browser):
    """A tile set that has lapsed is listed, and goes when the reader has said so twice."""
    serve(httpd, upstream)
    done(httpd, 'stub', zoomStop=1)
    wait_until(lambda: usage(httpd)['tiles'] == 5)
    httpd.stop()
    before = (httpd.path('test.conf')).read_text()
    httpd.start(before.replace('"stub"', '"other"'))
    open_page(browser, httpd, '#/quota')
    browser.wait_for('Not configured', 'main')
    browser.click('Remove')
    browser.click('Remove', 'dialog button')
    browser.wait_for('are being removed', '#said')
    wait_until(lambda: all(one['layer'] != 'stub' for one in usage(httpd)['layers']))
    is_clean(browser, httpd)


@one_mpm
def test_address_with_a_password(httpd, upstream, browser):
    """Such an address is one that people keep. The page goes to the one without it, in which
    scripts may ask."""
    httpd.users(me='secret')
    serve(httpd, upstream, *BASIC, 'Require valid-user')
    browser.open(httpd.url('/rest/#/quota').replace('//', '//me:secret@', 1))
    browser.wait_for('Change the quota')
    is_clean(browser, httpd)


@one_mpm
def test_failures_on_the_map(httpd, upstream, browser):
    """What an upstream has failed to give is shown with its cause, and retried from there."""
    serve(httpd, upstream)
    httpd.expect('TS00')
    upstream.always = Fault('status', 404)
    number = begin(httpd, 'stub', zoomStart=1, zoomStop=1)
    assert ended(httpd, number)['tilesFailed'] == 4
    open_page(browser, httpd, f'#/map/stub?task={number}')
    browser.wait_for('Task 1 failed at 4 tiles', 'main')
    assert '404' in browser.text('main')
    browser.go(f'#/task/{number}')
    browser.wait_for('Failures by cause', 'main')
    browser.go(f'#/map/stub?task={number}')
    browser.wait_for('Task 1 failed at 4 tiles', 'main')
    upstream.always = None
    browser.click('Retry the failures')
    browser.wait_for('Task 2', '#said')
    assert ended(httpd, 2)['tilesMade'] == 4
    assert task(httpd, 2)['retryOf'] == 1
    browser.wait_gone('Task 1 failed', 'main')
    browser.go('#/')
    browser.wait_for('Nothing needs you', 'main')
    is_clean(browser, httpd)


@one_mpm
def test_links_of_others(httpd, upstream, browser):
    """Whatever stands behind the #, the page asks the REST interface alone, and goes on."""
    serve(httpd, upstream)
    done(httpd, 'stub', zoomStop=0)
    open_page(browser, httpd)
    for words, seen in (('#/task/..%2F..%2Fuploads%2Fx', 'A task has a number'),
                        ('#/task/1%2Fretry', 'A task has a number'), ('#/constructor', 'Overview'),
                        ('#/__proto__', 'Overview'), ('#/%', 'Overview'),
                        ('#/task/1', 'Created'),
                        ('#/map/..?task=..%2Fx&again=1%2F..', 'Map of stub'),
                        ('#/tasks?limit=..%2Fx&state=done', 'The newest'.lower())):
        browser.go(words)
        browser.wait_for(seen, 'main')
    for address in browser.requests():
        assert 'uploads' not in address and '..' not in address, address
    is_clean(browser, httpd)


def problems(browser):
    """What the overview says needs somebody."""
    browser.ask_now()
    return browser.text('main [aria-label^=What]')


@one_mpm
def test_failures_stay(httpd, upstream, browser):
    """Until they are dismissed, retried or seeded again, however many tasks end after them. What
    somebody has terminated is no problem. A bar is not full of what failed."""
    serve(httpd, upstream)
    httpd.expect('TS00')
    upstream.always = Fault('status', 404)
    for level in (1, 2):
        assert ended(httpd, begin(httpd, 'stub', zoomStart=level, zoomStop=level))['tilesFailed']
    upstream.always = Fault('held')
    for _ in range(6):
        number = begin(httpd, 'stub', type='reseed', zoomStop=0)
        ask(httpd, 'DELETE', f'/rest/tasks/{number}.json')
    open_page(browser, httpd)
    browser.wait_for('Task 2 of stub was aborted', 'main')
    browser.wait_for('Task 1 of stub was aborted', 'main')
    assert 'Task 3' not in problems(browser)
    assert '✗' not in browser.text('main tr:has(a[href="#/task/3"])')
    browser.go('#/task/2')
    browser.wait_for('0 %', 'main')
    assert browser.run('return [...document.querySelectorAll("main progress")]'
                       '.every(({value}) => value === 0)')
    browser.go('#/')
    browser.wait_for('Task 2 of stub', 'main')
    browser.run('document.querySelector("[aria-label$=\'of task 1\']").click()')
    browser.open(httpd.url('/rest/'))
    browser.wait_for('Task 2 of stub', 'main')
    assert 'Task 1 of' not in problems(browser)
    upstream.always = None
    upstream.released.set()
    done(httpd, 'stub', zoomStop=3)
    browser.open(httpd.url('/rest/'))
    browser.wait_for('Nothing needs you', 'main')
    is_clean(browser, httpd)


@one_mpm
def test_pictures_of_the_map(httpd, upstream, browser):
    """The map begins with a layer that has tiles. A level that is too fine for the scale has a
    coarser picture below its coverage."""
    serve(httpd, upstream)
    done(httpd, 'stub', zoomStop=2)
    open_page(browser, httpd, '#/map')
    browser.wait_for('Map of stub', 'main')
    browser.go('#/map/world')
    browser.wait_for('are there', '.estimate')
    level = browser.find('main label', 'Level').find_element('css selector', 'select')
    chrome.Select(level).select_by_visible_text('level 10')
    browser.wait_for('the picture is of level', 'main')
    assert not any('3857/10/' in address for address in browser.requests()), browser.requests()
    is_clean(browser, httpd)


@one_mpm
def test_pruned_tiles(httpd, upstream, browser):
    """The view of a task and the form of the next tell of them; metatiles are named as such."""
    upstream.lands = [LAND]
    httpd.start('TileSeedStateDir "@ROOT@/state"\n' + location('/rest', 'Require local', PAGE) +
                TILES + stub(upstream, 'TileSeedPrune uniform=1 check=0'))
    document = done(httpd, 'stub', zoomStop=4)
    open_page(browser, httpd, '#/task/1')
    browser.wait_for(f'{document["prunedMetatiles"]} not asked for, 0 checked, 0 wrong, '
                     '0 forgotten', 'main .facts')
    assert f'0 failed, {document["tilesPruned"]} pruned' in browser.text('main .facts')
    browser.go('#/map/stub')
    browser.wait_for('Pruned', '.estimate')
    is_clean(browser, httpd)


@one_mpm
def test_two_tabs(httpd, upstream, browser):
    """What is terminated in one is gone in the other."""
    serve(httpd, upstream)
    upstream.always = Fault('held')
    begin(httpd, 'stub', zoomStop=2)
    open_page(browser, httpd)
    browser.wait_for('1 running', '#strip')
    with browser.tab():
        open_page(browser, httpd, '#/task/1')
        browser.click('Terminate', 'main button')
        browser.click('Terminate', 'dialog button')
        browser.wait_for('terminated', 'main')
    browser.wait_for('0 running', '#strip')
    browser.wait_for('Task 1 of stub: terminated', '#said')
    browser.wait_for('Nothing needs you', 'main')
    is_clean(browser, httpd)
    upstream.released.set()


@one_mpm
def test_server_that_is_away(httpd, upstream, browser):
    """What is seen is called old while httpd is stopped or the network is cut; the page goes on
    when they are back."""
    serve(httpd, upstream)
    open_page(browser, httpd)
    httpd.stop()
    browser.ask_now()
    browser.wait_for('old', '#stale')
    strip = browser.text('#strip')
    assert 'seeder working' in strip and ' works' not in strip, strip
    httpd.start()
    browser.ask_now()
    wait_until(lambda: not browser.find('#stale'))
    browser.offline(True)
    browser.ask_now()
    browser.wait_for('the server does not answer', '#stale')
    browser.click('Ask now', '#stale button')
    browser.offline(False)
    browser.ask_now()
    wait_until(lambda: not browser.find('#stale'))
    assert all('net::ERR_' in line for line in browser.messages())


def multiply(httpd, number):
    """Gives the history so many copies of its only task."""
    with opened(httpd) as state:
        rest = [name for name in state.columns('task') if name != 'id']
        state.execute(f'''
            WITH RECURSIVE ids(id) AS (VALUES(2) UNION ALL SELECT id + 1 FROM ids WHERE id < ?)
            INSERT INTO task(id, {", ".join(rest)})
            SELECT ids.id, {", ".join("task." + name for name in rest)}
            FROM ids, task''', (number,))
        state.commit()


@one_mpm
def test_long_history(httpd, upstream, browser):
    """A thousand tasks are seen page by page."""
    serve(httpd, upstream)
    done(httpd, 'stub', zoomStop=0)
    httpd.stop()
    multiply(httpd, 1000)
    httpd.start()
    open_page(browser, httpd, '#/tasks')
    browser.wait_for('1000', 'main tbody')
    assert browser.run('return document.querySelectorAll("tbody tr").length') == 50
    browser.click('Older tasks', 'a')
    browser.wait_for('950', 'main tbody')
    browser.wait_gone('1000', 'main tbody')
    is_clean(browser, httpd)


@one_mpm
def test_reader(httpd, upstream, browser):
    """Who may only look sees nothing to press that would fail."""
    httpd.users(me='secret')
    serve(httpd, upstream, *BASIC, '<RequireAny>', 'Require method GET HEAD', 'Require valid-user',
          '</RequireAny>')
    upstream.always = Fault('held')
    answer = httpd.post('/rest/seed/stub.json', '{"seedRequest":{"zoomStop":2}}',
                        auth=('me', 'secret'))
    assert answer.status == 200
    open_page(browser, httpd)
    browser.wait_for('1 running', '#strip')
    for words, seen in (('#/', 'Tasks under way'), ('#/task/1', 'Created'), ('#/map/stub', 'All'),
                        ('#/quota', 'By layer')):
        browser.go(words)
        browser.wait_for(seen, 'main')
        for change in ('Terminate', 'Retry', 'Seed', 'Reconcile', 'Save', 'Draw'):
            assert not browser.find('main button', change), (words, change)
        assert not browser.find('form')
    is_clean(browser, httpd)
    upstream.released.set()
