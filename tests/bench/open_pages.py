# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What open pages cost: open_pages.py [PAGES [SECONDS]]

Starts a private httpd and PAGES clients (100), which ask for overview.json as the operators' page
does, each over a connection of its own and with the ETag of its last answer: every ten seconds
while nothing goes on, then as TileSeed-Pause says while a task makes tiles. Prints for each SECONDS
(60) the CPU time of httpd without the seeder, in per cent of one core, and how many answers were
304.
Then it asks for a small file as often: what that takes is httpd's own, whoever answers.
TILESEED_MODULE names the module that is measured.
"""
import heapq
import http.client
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'httpd'))

# pylint: disable=wrong-import-position
from coverage import cpu                                                            # noqa: E402
from seeding import REST, begin, seeder_of, stub, task                              # noqa: E402
from tileseed_httpd import Httpd, wait_until                                        # noqa: E402
from upstream import Upstream                                                       # noqa: E402

OVERVIEW = '/rest/overview.json'
FILE = '''
Alias /file "@ROOT@/file"
<Directory "@ROOT@/file">
    Require all granted
</Directory>
'''


class Page:
    """A browser's connection, and what it knows."""

    def __init__(self, port, path, every):
        self.connection = http.client.HTTPConnection('127.0.0.1', port)
        self.path = path
        self.every = every
        self.known = {}

    def poll(self):
        """One poll; whether nothing had changed. A connection that was closed is opened anew."""
        try:
            self.connection.request('GET', self.path, headers=self.known)
            answer = self.connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionError):
            self.connection.close()
            return self.poll()
        answer.read()
        self.known = {'If-None-Match': answer.headers['ETag']}
        if self.every < 10:
            self.every = float(answer.headers.get('TileSeed-Pause', self.every))
        return answer.status == 304


def measure(httpd, what, path, pages, seconds, every):
    """Polls for so long; returns the seconds between two polls of a page."""
    clients = [Page(httpd.port, path, every) for _ in range(pages)]
    begun = time.monotonic()
    due = [(begun + random.uniform(0, every), number) for number in range(pages)]
    heapq.heapify(due)
    children = [pid for pid in httpd.processes() if pid != seeder_of(httpd)]
    before, polls, same = cpu(children), 0, 0
    while due[0][0] < begun + seconds:
        moment, number = due[0]
        time.sleep(max(moment - time.monotonic(), 0))
        same += clients[number].poll()
        polls += 1
        heapq.heapreplace(due, (moment + clients[number].every * random.uniform(0.9, 1.1), number))
    used = cpu(children) - before
    print(f'{what}: {polls} polls in {seconds} s, {same} of them 304, '
          f'{100 * used / (time.monotonic() - begun):.2f} % of a core')
    return pages * seconds / polls


def main():
    """All of it."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    random.seed(1)
    with Upstream() as upstream:
        httpd = Httpd('event')
        try:
            folder = httpd.folder('file')
            folder.joinpath('file.json').write_text('{}\n' * 300, 'utf-8')
            httpd.start(REST + FILE + stub(upstream, polite='rate=20/s'))
            wait_until(lambda: httpd.get('/rest/overview.json').json()['seeder']['state']
                       == 'WORKING')
            measure(httpd, 'idle   ', OVERVIEW, pages, seconds, 10)
            number = begin(httpd, 'stub', zoomStop=9)
            every = measure(httpd, 'at work', OVERVIEW, pages, seconds, 2)
            measure(httpd, 'a file ', '/file/file.json', pages, seconds, every)
            assert task(httpd, number)['state'] == 'RUNNING'
        finally:
            httpd.stop()
            httpd.finish()


if __name__ == '__main__':
    main()
