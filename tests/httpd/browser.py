# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Debian's Chromium for the tests of the page, and axe-core, which Chromium carries in itself."""
import contextlib
import ctypes
import json
import pathlib
import shutil
import struct
import tempfile

from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.select import Select

from tileseed_httpd import PATIENCE, wait_until

# The program itself: the script that is called chromium adds flags that are for a graphics card.
CHROMIUM = shutil.which('/usr/lib/chromium/chromium') or shutil.which('chromium')
RESOURCES = pathlib.Path('/usr/lib/chromium/resources.pak')
AXE = '/*! axe v'
RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

# Notes the timers of a page, so that a test sees when the page will ask again.
TIMERS = '''
    window.timers = new Map();
    const set = window.setTimeout, clear = window.clearTimeout;
    window.setTimeout = (call, delay, ...more) => {
        const id = set(() => { window.timers.delete(id); call(...more); }, delay);
        window.timers.set(id, delay);
        return id;
    };
    window.clearTimeout = (id) => { window.timers.delete(id); clear(id); };
'''


def resources():
    """The files in Chromium's resources that are packed with Brotli, one after the other."""
    brotli = ctypes.CDLL('libbrotlidec.so.1')
    data = RESOURCES.read_bytes()
    number, = struct.unpack_from('<H', data, 8)
    places = [struct.unpack_from('<HI', data, 12 + 6 * entry)[1] for entry in range(number + 1)]
    for begin, end in zip(places, places[1:]):
        if data[begin:begin + 2] == b'\x1e\x9b':
            size = ctypes.c_size_t(int.from_bytes(data[begin + 2:begin + 8], 'little'))
            if size.value > 500000:
                text = ctypes.create_string_buffer(size.value)
                brotli.BrotliDecoderDecompress(ctypes.c_size_t(end - begin - 8),
                                               data[begin + 8:end], ctypes.byref(size), text)
                yield text.raw[:size.value]


def axe_literal():
    """axe-core as the literal of JavaScript that Lighthouse has it in."""
    for data in resources():
        text = data.decode(errors='replace')
        begin = text.find('`' + AXE)
        if begin >= 0:
            end = begin + 1
            while text[end] != '`':
                end += 2 if text[end] == '\\' else 1
            return text[begin:end + 1]
    raise AssertionError(f'{RESOURCES} has no axe-core')


class Browser:
    """A browser with one profile. Its waits are for what the page shows."""

    def __init__(self, folder):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage',
                         '--disable-gpu', f'--user-data-dir={folder}', '--window-size=1280,1000'):
            options.add_argument(argument)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        self.driver = webdriver.Chrome(options=options,
                                       service=Service(shutil.which('chromedriver')))
        self.driver.set_script_timeout(PATIENCE)
        self.driver.set_page_load_timeout(PATIENCE)
        self.axe = self.run(f'return {axe_literal()}')   # no page's policy forbids it here
        self.driver.execute_cdp_cmd('Page.addScriptToEvaluateOnNewDocument', {'source': TIMERS})

    def run(self, script, *values):
        """Runs a script in the page; returns what it returns."""
        return self.driver.execute_script(script, *values)

    def open(self, url):
        """A page, read anew."""
        self.driver.get('about:blank')
        self.driver.get(url)

    def go(self, words):
        """Another view of the page."""
        self.run('location.hash = arguments[0]', words)

    def text(self, selector='body'):
        """What is to be read in an element; "" without it."""
        return self.run('return document.querySelector(arguments[0])?.innerText ?? ""', selector)

    def wait_for(self, words, selector='body'):
        """Waits until an element shows some words; returns all of its words."""
        wait_until(lambda: words in self.text(selector), what=f'"{words}" in {selector}: '
                   f'{self.text(selector)!r}, {self.messages()}')
        return self.text(selector)

    def wait_gone(self, words, selector='body'):
        """Waits until an element does not show some words."""
        wait_until(lambda: words not in self.text(selector), what=f'no "{words}" in {selector}')

    def find(self, selector, words=''):
        """The visible element of a selector with some words, or None."""
        return self.run('''
            return [...document.querySelectorAll(arguments[0])].find((one) =>
                one.innerText.includes(arguments[1]) && one.checkVisibility()) ?? null''',
                        selector, words)

    def click(self, words, selector='button'):
        """Clicks on what has these words, when it is there. The page may draw it anew meanwhile."""
        wait_until(lambda: self.run('''
            const found = [...document.querySelectorAll(arguments[0])].find((one) =>
                one.innerText.includes(arguments[1]) && one.checkVisibility());
            found?.click();
            return Boolean(found)''', selector, words), what=f'{selector} with "{words}"')

    def choose(self, *choices):
        """Makes the lists of the form show these choices, one list after the other."""
        for one, choice in zip(self.driver.find_elements('css selector', 'form select'), choices):
            Select(one).select_by_visible_text(choice)

    @contextlib.contextmanager
    def tab(self):
        """A tab of its own."""
        first = self.driver.current_window_handle
        self.driver.switch_to.new_window('tab')
        try:
            yield
        finally:
            self.driver.close()
            self.driver.switch_to.window(first)

    def drag(self, canvas, *steps):
        """Presses the mouse left above the middle of an element, and moves it in steps."""
        chain = ActionChains(self.driver).move_to_element_with_offset(canvas, -60, -60)
        chain.click_and_hold()
        for across, down in steps:
            chain.move_by_offset(across, down)
        chain.release().perform()

    def touch(self, canvas, *fingers):
        """Puts fingers on an element, moves and lifts them. A finger is a list of places, measured
        from the middle of the element; all fingers have as many. A browser in which a page was
        touched before may keep two fingers to itself, and magnify any page: use another one."""
        self.run('arguments[0].scrollIntoView({block: "center"})', canvas)
        middle = self.run('const at = arguments[0].getBoundingClientRect();'
                          'return [at.x + at.width / 2, at.y + at.height / 2]', canvas)
        for kind, places in zip(['touchStart'] + ['touchMove'] * len(fingers[0]), zip(*fingers)):
            self.driver.execute_cdp_cmd('Input.dispatchTouchEvent', {
                'type': kind, 'touchPoints': [
                    {'x': middle[0] + across, 'y': middle[1] + down, 'id': number}
                    for number, (across, down) in enumerate(places)]})
        self.driver.execute_cdp_cmd('Input.dispatchTouchEvent',
                                    {'type': 'touchEnd', 'touchPoints': []})

    def press(self, *keys, shift=False):
        """Types keys into what has the focus."""
        chain = ActionChains(self.driver)
        if shift:
            chain.key_down(Keys.SHIFT)
        chain.send_keys(*(getattr(Keys, key, key) for key in keys))
        if shift:
            chain.key_up(Keys.SHIFT)
        chain.perform()

    def ask_now(self):
        """Has the page ask the server before its time, as when its tab is looked at again."""
        self.run('document.dispatchEvent(new Event("visibilitychange"))')

    def look(self, width=1280, scheme='light'):
        """The size of the window, and day or night."""
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': 1000, 'deviceScaleFactor': 1, 'mobile': width < 500})
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [
            {'name': 'prefers-color-scheme', 'value': scheme}]})

    def offline(self, is_cut):
        """Cuts the network, or mends it."""
        self.driver.execute_cdp_cmd('Network.enable', {})
        self.driver.execute_cdp_cmd('Network.emulateNetworkConditions', {
            'offline': is_cut, 'latency': 0, 'downloadThroughput': -1, 'uploadThroughput': -1})

    def violations(self):
        """What axe-core complains about."""
        self.run(self.axe)
        return self.driver.execute_async_script('''
            const done = arguments[arguments.length - 1];
            axe.run({runOnly: arguments[0]}).then(({violations}) => done(violations.map((one) =>
                [one.id, one.nodes.map((node) => node.html + ' ' + node.failureSummary)])),
                (error) => done(String(error)))''', RULES)

    def messages(self):
        """The lines of the console. Chromium writes one for each picture that is not there, and
        looking at a map asks for such."""
        return [line['message'] for line in self.driver.get_log('browser')
                if 'onmiss=404' not in line['message']]

    def requests(self):
        """The addresses that the page has asked for, in their order."""
        return json.loads(self.run('''
            const found = performance.getEntriesByType('resource');
            return JSON.stringify(found.map(({name}) => name))'''))

    def timers(self):
        """The delays after which the page will do something, those of a second and more."""
        return self.run('return [...window.timers.values()].filter((delay) => delay >= 1000)')


@contextlib.contextmanager
def chromium():
    """A browser, which ends with the block."""
    with tempfile.TemporaryDirectory(prefix='tileseed-chromium-',
                                     ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        try:
            yield browser
        finally:
            browser.driver.quit()
