# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Scrapes of the metrics, and promtool, which knows what is wrong with them."""
import re
import shutil
import subprocess

import pytest

from tileseed_httpd import wait_until

METRICS = '''
<Location "/metrics">
    SetHandler tileseed-metrics
    TileSeedMetrics on
    Require local
</Location>
'''
TEXT = 'text/plain; version=0.0.4; charset=utf-8'
OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

SAMPLE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
ESCAPED = re.compile(r'\\(.)')

needs_promtool = pytest.mark.skipif(not shutil.which('promtool'),
                                    reason='promtool is not there; quickstart unpacks it')


def promtool(*words, **more):
    """Runs promtool, which must find nothing wrong; returns its words."""
    found = subprocess.run(['promtool', *map(str, words)], check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, **more)
    assert found.returncode == 0, found.stdout.decode()
    return found.stdout.decode()


def unescaped(text):
    """The value of a label."""
    return ESCAPED.sub(lambda found: '\n' if found[1] == 'n' else found[1], text)


class Scrape:
    """What was told: values by name and labels, types by family."""

    def __init__(self, text):
        self.text = text
        self.types = dict(re.findall(r'(?m)^# TYPE (\w+) (\w+)$', text))
        self.values = {}
        for line in text.splitlines():
            if not line.startswith('#'):
                name, labels, value = SAMPLE.fullmatch(line).groups()
                key = (name, frozenset((label, unescaped(written))
                                       for label, written in LABEL.findall(labels or '')))
                assert key not in self.values, f'{line} is there twice'
                self.values[key] = float(value)

    def get(self, name, **labels):
        """One value; 0 where nothing was counted yet."""
        return self.values.get((name, frozenset(labels.items())), 0)

    def sum(self, name, **labels):
        """The sum of all values that have these labels."""
        return sum(value for (found, its), value in self.values.items()
                   if found == name and labels.items() <= dict(its).items())

    def labels(self, name, label):
        """All values of a label in a family."""
        return {dict(its)[label] for found, its in self.values if found == name}

    def counters(self):
        """All values that must never fall."""
        ends = ('_total', '_bucket', '_count', '_sum')
        return {key: value for key, value in self.values.items() if key[0].endswith(ends)}


def scrape(httpd, path='/metrics', **more):
    """A scrape as text 0.0.4."""
    answer = httpd.get(path, **more)
    assert answer.status == 200, answer.body
    assert answer.headers['Content-Type'] == TEXT
    return Scrape(answer.body.decode())


def await_metric(httpd, name, value, **labels):
    """Waits until a metric has a value; returns the scrape."""
    def found():
        told = scrape(httpd)
        return told if told.get(name, **labels) == value else None
    return wait_until(found, what=f'{name} {value} in {scrape(httpd).get(name, **labels)}')
