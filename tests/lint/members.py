# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Which room may write which member of a job and of a run.

Both are records that many rooms read. Each of their parts is written by the files of one room
alone; who else wants a change calls a function of that room. What is in no part is written when the
record is made, and never again. The parts of a job are records, those of a run are what stands
below the name of a room. Many rooms count in the progress of a run: one room in one of its members.

A write is an assignment, or a call that is handed the member's address first, as functions are that
write there, unless that parameter points to something const.
"""
import re

import lint

# record: (its header, the names of variables that point to one, its parts and their rooms)
RECORDS = {
    'tseed_job_t': ('mod_tileseed/work/tseed_job.h', r'(?:job|leader|one|other|list|follower)',
                    {'request': 'pipeline', 'result': 'work', 'accounts': 'books',
                     'savings': 'savings'}),
}
RUN = r'\b(?:\w+->)*(?:run|other|behind|oldest|background)->'
MAKERS = {'mod_tileseed/seeder/tseed_scheduler.c', 'mod_tileseed/books/tseed_background.c'}
# links of lists, and queues, which functions of their own change
FREE = {'next', 'sibling', 'next_run', 'wanted', 'ready'}
# by these an answer goes from job to job, and ends
ANSWERS = {f'tseed_jobs_{verb}_answer' for verb in ('copy', 'forget', 'move')}

PATH = r'(?:\[[^\]]*\]|\.\w+)*'
CHANGE = r'\s*(?:=(?!=)|(?:[-+*/|&^%]|<<|>>)=|\+\+|--)'
CALL = re.compile(r'\b(\w+)\(&?([\w>.\-\[\]]+)')
COPIES = re.compile(r'mem(?:set|cpy|move)|apr_cpystrn|apr_snprintf|strcpy|tseed_text_(?:fit|say)')
DECLARED = re.compile(r'\b(tseed_\w+)\(\s*(const\b)?')


def members(header, name):
    """The members of a record outside of its parts, with the names of all."""
    found = re.search(rf'typedef struct {name} \{{(.*?)\n\}} {name};', header, re.S)
    plain = re.sub(r'\[.*?\]|\([^()]*\)', '', found[1]) if found else ''
    return {words[-1] for piece in plain.split(';') for one in piece.split(',')
            if (words := re.findall(r'\w+', one))}


def writes(code, pattern, readers):
    """The matches of a pattern of a member in C that are written."""
    yield from re.finditer(pattern + PATH + CHANGE, code)
    yield from re.finditer(r'(?:\+\+|--)' + r'[\w>.\-]*?' + pattern, code)
    for call in CALL.finditer(code):
        name, argument = call[1], call[2]
        is_handed = COPIES.fullmatch(name) or (
            call[0].startswith(f'{name}(&') and name.startswith('tseed_') and
            name not in readers | ANSWERS)
        found = re.search(pattern + PATH + '$', argument) if is_handed else None
        if found:
            yield found


def sections(header):
    """{member of a run: the room that writes it, or None}"""
    found = re.search(r'typedef struct tseed_run_t \{(.*?)\n\} tseed_run_t;', header, re.S)
    rooms, room = {}, None
    for piece in re.split(r'(?m)^    /\* (?=what |\w+/ \*/)', found[1] if found else ''):
        name = re.match(r'(\w+)/ \*/', piece)
        room = name[1] if name else None
        plain = re.sub(r'\[.*?\]', '', lint.blank_code('/* ' + piece))
        for one in plain.replace(',', ';').split(';'):
            words = re.findall(r'\w+', one)
            if words:
                rooms[words[-1]] = room
    return rooms


def check_run(sources, header, readers):
    """The same for runs."""
    complaints, counters = [], {}
    rooms = sections(header)
    for path, code in sources.items():
        room = path.split('/')[1]
        for match in writes(code, RUN + r'(?!progress\b)(\w+)', readers):
            owner = rooms.get(match[1], room)
            if match[1] not in FREE and owner != room and not (
                    owner is None and path in MAKERS):
                complaints.append(f'{path}: writes {match[1]} of a run, '
                                  + (f'which is for {owner}/ to write' if owner
                                     else 'after it was made'))
        own = re.search(r'\*progress = &[\w>-]*run->progress;', code)
        for match in [*writes(code, RUN + r'progress\.(\w+)', readers),
                      *(writes(code, r'\bprogress->(\w+)', readers) if own else ())]:
            counters.setdefault(match[1], set()).add(room)
    return complaints + [
        f'{", ".join(sorted(found))}: write {name} of the progress of a run'
        for name, found in sorted(counters.items()) if len(found) > 1]


def check(tree):
    """A complaint for each member that a room writes that may not."""
    complaints = []
    sources = {path: lint.blank_code(text) for path, text in lint.sources(tree).items()}
    readers = {match[1] for path, code in sources.items() if path.endswith('.h')
               for match in DECLARED.finditer(code) if match[2]}
    for name, (header, variable, parts) in RECORDS.items():
        fixed = members(sources.get(header, ''), name) - set(parts) - FREE
        for path, code in sources.items():
            room = path.split('/')[1]
            for part, owner in parts.items():
                for match in writes(code, rf'(?<=[\w\])])(?:->|\.){part}\.(\w+)', readers):
                    if room != owner:
                        complaints.append(f'{path}: writes {part}.{match[1]} of a {name}, '
                                          f'which is for {owner}/ to write')
            for match in writes(code, rf'\b{variable}->(\w+)', readers):
                if match[1] in fixed:
                    complaints.append(
                        f'{path}: writes {match[1]} of a {name} after it was made')
    return complaints + check_run(sources, tree.get('mod_tileseed/work/tseed_run.h', ''), readers)


RECORD = {'mod_tileseed/work/tseed_job.h': '''typedef struct tseed_job_t {
    int position;
    tseed_job_result_t result;
    tseed_job_accounts_t accounts;
} tseed_job_t;
void tseed_range_set(tseed_range_t *range);
int tseed_range_count(const tseed_range_t *range);
'''}


RUN_RECORD = {'mod_tileseed/work/tseed_run.h': '''typedef struct tseed_run_t {
    /* what it is */
    tseed_task_t *task;

    /* pipeline/ */
    tseed_phase_t phase; /* of it */
} tseed_run_t;
'''}


def broken(name, code, words):
    """A tree in which a file of books/ has that code."""
    return name, RECORD | {'mod_tileseed/books/tseed_a.c': code}, words


if __name__ == '__main__':
    lint.run(check, broken=[
        broken('a result written', 'job->result.made += 1;', 'result.made'),
        broken('an element written', 'job->result.present[i / 64] |= 1;', 'result.present'),
        broken('a count', 'job->result.made++;', 'result.made'),
        broken('a member of a member', 'one->result.plain.colours = 1;', 'result.plain'),
        broken('a copy', 'memcpy(job->result.cause, cause, 3);', 'result.cause'),
        broken('an address handed over', 'tseed_range_set(&job->result.range);', 'result.range'),
        broken('what a job is about', 'job->position = 1;', 'after it was made'),
        ('a member of a run', RUN_RECORD | {
            'mod_tileseed/books/tseed_a.c': 'job->run->phase = 1;'}, 'phase of a run'),
        ('a run that is changed', RUN_RECORD | {
            'mod_tileseed/books/tseed_a.c': 'run->task = task;'}, 'task of a run'),
        ('a count of two rooms', {
            'mod_tileseed/books/tseed_a.c': 'run->progress.made++;',
            'mod_tileseed/work/tseed_b.c': 'progress_t *progress = &run->progress;'
                                           'progress->made += 2;'}, 'write made'),
    ], intact=[
        ('a run that is made', RUN_RECORD | {
            'mod_tileseed/books/tseed_background.c': 'run->task = task;'}),
        ('a member of a run that its room writes', RUN_RECORD | {
            'mod_tileseed/pipeline/tseed_a.c': 'run->phase = 1;'}),
        ('a count of one room', {
            'mod_tileseed/books/tseed_a.c': 'run->progress.made++; run->progress.bytes += 1;'}),
        ('a member of the own room', RECORD | {
            'mod_tileseed/books/tseed_a.c': 'job->accounts.holds = 1;'}),
        ('a member that is read', RECORD | {
            'mod_tileseed/books/tseed_a.c': 'made = job->result.made == 1 ? 0 : job->position;'}),
        ('an address that is read', RECORD | {
            'mod_tileseed/books/tseed_a.c': 'n = tseed_range_count(&job->result.range);'}),
        ('a record that is made', RECORD | {
            'mod_tileseed/books/tseed_a.c': '*job = (tseed_job_t){.result.made = 1};'}),
    ])
