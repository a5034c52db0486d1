# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The client tileseedctl at a terminal: the line that is drawn again, questions, passwords;
completion in a real bash; and its manual page against its help."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest

from ctl import CTL, Handler, Stub, environment, run, task
from tileseed_httpd import TOP, wait_until

MAN = TOP / 'mod_tileseed/ctl/tileseedctl.1'


class Terminal:
    """A process in a terminal of its own."""

    def __init__(self, *words, columns=80, **more):
        self.said = ''
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            subprocess.run(['stty', 'cols', str(columns)], check=True)
            os.execve(words[0], list(map(str, words)), {'TERM': 'xterm', **environment(**more)})

    def read(self):
        """What comes next, '' at the end."""
        assert select.select([self.terminal], [], [], 60)[0], self.said
        try:
            more = os.read(self.terminal, 4096).decode()
        except OSError:
            more = ''
        self.said += more
        return more

    def expect(self, text):
        """Reads until something was said."""
        while text not in self.said:
            assert self.read(), self.said
        return self

    def listen(self, seconds):
        """Reads what comes within a time."""
        if select.select([self.terminal], [], [], seconds)[0]:
            self.read()
        return self

    def type(self, text):
        """Keys that the user presses."""
        os.write(self.terminal, text.encode())
        return self

    def end(self):
        """Everything that was said, and the exit code."""
        while self.read():
            pass
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.terminal)
        return code, self.said


def test_progress_is_redrawn():
    """One line over the other; the result below; nothing is wider than the terminal."""
    steps = [task(state='RUNNING', tilesProcessed=done, finished=None, reason='x' * 90)
             for done in range(1, 5)]
    with Stub({'GET tasks/7.json': [*steps, task()]}) as stub:
        code, said = Terminal(CTL, 'wait', '7', '--interval', '10ms', url=stub.url,
                              columns=50).end()
    drawn = said.split('\r')
    assert code == 0 and said.count('\n') == 1, said
    assert [line[:14] for line in drawn if 'task 7  ' in line] == [
        f'task 7  {share}.0 %' for share in (20, 40, 60, 80)], said
    assert all(len(line.replace('\x1b[K', '')) < 50 for line in drawn[:-2]), said
    assert drawn[-2].endswith('task 7 done: 5 of 5 tiles, 5 made'), said


def test_ctrl_c_at_a_terminal():
    """The key ends the wait, and the line stays readable."""
    with Stub({'GET tasks/7.json': task(state='RUNNING')}) as stub:
        code, said = Terminal(CTL, 'wait', '7', url=stub.url).expect('%').type('\x03').end()
    assert code == 130 and 'tileseedctl: task 7 goes on' in said, said


def test_the_watch():
    """The screen is drawn again until Ctrl-C, which is no failure."""
    with Stub({'GET tasks.json': [{'tasks': [task(state='RUNNING')]}, (503, 'away'),
                                  {'tasks': []}]}) as stub:
        code, said = Terminal(CTL, 'status', '--watch', '--interval', '10ms',
                              url=stub.url).expect('no tasks').type('\x03').end()
    assert code == 0 and said.startswith('\x1b[H\x1b[2J') and 'away' in said, said


@pytest.mark.parametrize('key,code', [('y', 0), ('n', 2), ('\n', 2)])
def test_truncates_ask(key, code):
    """Only yes is yes."""
    with Stub({'POST seed/world.xml': lambda handler: handler.say(200, b'', TileSeed_Task='7')}
              ) as stub:
        ended, said = Terminal(CTL, 'truncate', 'world', '-z', '3-5', url=stub.url).expect(
            'Remove tiles of world in the whole extent, levels 3 to 5? [y/N]').type(
                key + '\n').end()
        assert (ended, len(stub.requests)) == (code, code == 0), said


def guarded(handler):
    """Wants me:secret."""
    if handler.headers.get('Authorization') == 'Basic bWU6c2VjcmV0':
        handler.say(200, {'tasks': []})
    else:
        handler.say(401, b'', WWW_Authenticate='Basic realm="x"')


def test_passwords_are_unseen():
    """The prompt names who logs in where; Ctrl-C leaves."""
    with Stub({'GET tasks.json': guarded}) as stub:
        prompt = f'Password of me at {stub.url}: '
        code, said = Terminal(CTL, 'status', '-u', 'me', url=stub.url).expect(prompt).type(
            'secret\n').end()
        assert code == 0 and 'secret' not in said and 'no tasks under way' in said, said
        assert Terminal(CTL, 'status', '-u', 'me', url=stub.url).expect(prompt).type(
            'wrong\n').end()[0] == 5
        assert Terminal(CTL, 'status', '-u', 'me', url=stub.url).expect(prompt).type(
            'sec\x03').end()[0] == 2


def test_no_terminal_for_a_password():
    """Said, and not waited for."""
    done = subprocess.run([CTL, 'status', '-u', 'me'], env=environment(), check=False, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True)
    assert done.returncode == 2 and 'no password came' in done.stderr, done


def test_headings_are_bold():
    """On a terminal, unless NO_COLOR says otherwise."""
    with Stub({'GET tasks.json': {'tasks': [task()]}}) as stub:
        assert '\x1b[1m' in Terminal(CTL, 'tasks', url=stub.url).end()[1]
        assert '\x1b' not in Terminal(CTL, 'tasks', url=stub.url, NO_COLOR='1').end()[1]


# Completion

LAYERS = {'layers': [{'name': name} for name in ('world', 'ws:roads', 'ws:rivers', 'two words')]}


def completed(stub, line, tmp_path):
    """What bash offers for a line, by the function that Tab calls."""
    script = tmp_path / 'complete.sh'
    script.write_text(f'''
. {TOP}/mod_tileseed/ctl/bash/tileseedctl
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
COMP_LINE=$1 COMP_POINT=${{#1}}
_tileseedctl
[ ${{#COMPREPLY[@]}} -eq 0 ] || printf '%s\\n' "${{COMPREPLY[@]}}"
''')
    more = {'PATH': f'{CTL.parent}:{os.environ["PATH"]}'}
    done = subprocess.run(['bash', str(script), line], env={**environment(stub.url), **more},
                          check=True, capture_output=True, text=True)
    assert done.stderr == '', done
    return done.stdout.split('\n')[:-1]


def test_completion(tmp_path):
    """Verbs, options, layers and tasks; a colon in a name is none of bash's business."""
    with Stub({'GET layers.json': LAYERS, 'GET tasks.json': {'tasks': [task(12), task(7)]},
               'GET hosts.json': {'hosts': [{'name': 'web1'}, {'name': 'db1'}]}}) as stub:
        def offered(line):
            return completed(stub, line, tmp_path)
        assert offered('tileseedctl re') == ['reseed', 'retry', 'reconcile']
        assert offered('tileseedctl --js') == ['--json']
        assert '--dry-run' in offered('tileseedctl seed world --')
        assert '--csv' not in offered('tileseedctl seed world --')
        assert offered('tileseedctl seed -z ') == []
        for line, names in (('seed w', ['world', 'ws:roads', 'ws:rivers']),
                            ('seed ws:r', ['roads', 'rivers']), ('-q seed tw', [r'two\ words']),
                            ('show ', ['12', '7']), ('tasks --layer wo', ['world']),
                            ('drain w', ['web1'])):
            wait_until(lambda now=(line, names): offered(f'tileseedctl {now[0]}') == now[1],
                       what=f'the completion of {line}')   # a slow server is not waited for


def test_completion_in_a_real_bash(tmp_path):
    """Tab at a prompt."""
    startup = tmp_path / 'bashrc'
    startup.write_text(f'PS1=ready: PATH={CTL.parent}:$PATH\n'
                       f'. {TOP}/mod_tileseed/ctl/bash/tileseedctl\n')
    with Stub({'GET layers.json': LAYERS, 'GET tasks.json': {'tasks': []}}) as stub:
        bash = Terminal(shutil.which('bash'), '--noprofile', '--rcfile', startup, '-i',
                        url=stub.url, home=tmp_path)
        bash.expect('ready:').type('tileseedctl trun\t').expect('truncate ').type('ws:ro')
        wait_until(lambda: 'ws:roads ' in bash.type('\t').listen(1).said)
        bash.type('\x15exit\n').end()


def slow(handler):
    """Longer than anybody waits for a completion."""
    time.sleep(5)
    handler.hang_up()


@pytest.mark.parametrize('said', [slow, (401, ''), b'<html>', Handler.hang_up])
def test_completion_is_silent(said, tmp_path):
    """Whatever is wrong, nothing is said."""
    (tmp_path / '.config').mkdir()
    (tmp_path / '.config/tileseed.conf').write_text('user me\n')
    with Stub({'GET layers.json': said}) as stub:
        done = run('--complete', 'seed', '', url=stub.url, home=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', ''), done


# The manual page

def help_of(*verb):
    """The options that the help of a verb names, in their long form, and its letters."""
    said = run(*verb, '--help').stdout
    return said, dict((name, letter) for letter, name in
                      re.findall(r'(?m)^  (?:-(\w), |    )--([\w-]+)', said))


VERBS = re.findall(r'(?m)^  ([a-z-]+) .*$', help_of()[0].split('options of all verbs')[0])
COMMON = help_of()[1]


def synopsis():
    """The manual page's line of each verb."""
    text = MAN.read_text().split('.Sh SYNOPSIS')[1].split('.Sh DESCRIPTION')[0]
    lines = {re.search(r'\.Cm ([\w-]+)', part)[1]: part for part in text.split('\n.Nm\n')[1:]}
    lines['reseed'] = lines['truncate'] = ''
    return lines


def test_the_synopsis_is_the_help():
    """Each verb, with the options that its help has."""
    lines = synopsis()
    assert list(lines) == VERBS and len(VERBS) == 22
    for verb, line in lines.items():
        line = line.replace('\\-', '-').replace('| -', '| Fl -')
        flags = {flag.lstrip('-') for flag in re.findall(r'Fl ([\w-]+)', line)}
        own = {name: letter for name, letter in help_of(verb)[1].items() if name not in COMMON}
        if line:
            assert flags == {letter or name for name, letter in own.items()}, verb
    assert set(help_of('truncate')[1]) - set(help_of('seed')[1]) == {'yes'}
    assert help_of('reseed')[1] == help_of('seed')[1]


def test_the_page_explains_all():
    """Every verb, every option with its letter and its value, every exit code."""
    page = MAN.read_text().replace('\\-', '-')
    for verb in VERBS:
        assert f'\n.It Cm {verb}\n' in page, verb
        for letter, name, value in re.findall(r'(?m)^  (?:-(\w), |    )--([\w-]+)(?: (\S+))?',
                                              help_of(verb)[0]):
            item = f'\n.It Fl {letter + " , Fl " if letter else ""}-{name}'
            value = value if value and value.upper() == value else ''
            assert f'{item}{" Ar " + value if value else ""}\n' in page, (verb, name)
    header = (TOP / 'mod_tileseed/ctl/tseed_ctl.h').read_text()
    codes = re.findall(r'TSEED_CTL_\w+ = (\d+)', header)
    assert re.findall(r'(?m)^\.It (\d+)$', page) == codes


def test_no_terminal_obeys_a_server():
    """What is passed on as it is goes to a terminal without commands; elsewhere byte for byte."""
    evil = '\x1b]0;owned\x07\x1b[2J\u202e\x9b31m'
    failure = {'z': 0, 'x': 0, 'y': 0, 'cause': evil, 'httpStatus': 500, 'attempts': 1, 'time': 'x'}
    page = {'total': 1, 'failures': [failure]}
    raw = f'metric{{a="{evil}"}} 1\n'.encode()
    with Stub({'GET metrics': raw, 'GET tasks.json': raw,
               'GET tasks/7/failures.json': page}) as stub:
        for words in (['metrics'], ['tasks', '--json'], ['failures', '7', '--csv']):
            code, said = Terminal(CTL, *words, url=stub.url).end()
            assert code == 0 and 'owned' in said, said
            assert not re.search('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]', said), said
            piped = run(*words, url=stub.url)
            assert evil in piped.stdout, piped


@pytest.mark.skipif(not shutil.which('mandoc'), reason='mandoc is not installed')
def test_the_page_is_mdoc():
    """mandoc has nothing to say."""
    subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', str(MAN)], check=True)


def test_interrupt_is_not_inherited():
    """A wait that was begun in the background with SIGINT ignored ends by SIGTERM."""
    with Stub({'GET tasks/7.json': task(state='RUNNING')}) as stub:
        terminal = Terminal(CTL, 'wait', '7', url=stub.url).expect('%')
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.end()[0] == -signal.SIGTERM
