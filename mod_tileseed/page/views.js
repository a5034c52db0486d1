// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: the mod_tileseed authors
// All views but the map.
import {address, attempt, badge, bar, bytes, confirmed, count, draw, duration, facts, field, h, may,
  moment, own, page, path, read, Refusal, say, select, share, state_word, table, task_bar,
  task_number, timed, write} from './page.js';

// ---- tasks ----

const may_change = ({type, layer}) => may(type === 'truncate' ? 'truncate' : 'seed', layer);

function state_badge(task) {
  const {state, reason, tilesFailed} = task, word = state_word(task);
  const waits = state === 'RUNNING' && reason;
  return badge(waits ? 'waiting' : word, waits ? 'warn' : own({running: 'work',
    done: tilesFailed ? 'warn' : 'good', aborted: 'bad'}, word) ?? 'idle');
}

const task_link = (id) => h('a', {href: path('task', id)}, id);

async function terminate(task) {
  if (await confirmed(`Terminate task ${task.id} of ${task.layer}? It never comes back. ` +
      'The tiles that it has made stay.', 'Terminate')) {
    await write('DELETE', address`tasks/${task.id}.json`);
    say(`Task ${task.id} is terminated.`);
  }
}

const terminate_button = (task) => !task.finished && may('terminate') &&
  h('button', {type: 'button', class: 'danger', 'aria-label': `Terminate task ${task.id}`,
    onclick: attempt(() => terminate(task))}, 'Terminate');

function task_table(caption, tasks, empty) {
  const buttons = tasks.map(terminate_button);
  return table(caption, ['Task', 'Layer', 'What', 'State', 'Done', 'Failed', 'Tiles/s',
    'Left or ended', 'Reason', ...(buttons.some(Boolean) ? ['Change'] : [])], tasks.map((task, i) =>
    [task.id, task_link(task.id), task.layer, task.type, state_badge(task), task_bar(task),
      count(task.tilesFailed), count(task.tilesPerSecond),
      task.finished ? moment(task.finished) : duration(task.secondsRemaining), timed(task.reason),
      ...(buttons[i] ? [buttons[i]] : [])]), empty);
}

// ---- overview ----

/** Whether a later task has done, or does, what another one has failed to do. */
function makes_up(later, task) {
  if (later.retryOf === task.id) return true;
  const [west, south, east, north] = task.bounds ?? [];
  const box = later.bounds;
  const covers = !box || (task.bounds && box[0] <= west && box[1] <= south && box[2] >= east &&
    box[3] >= north);
  return later.id > task.id && !later.retryOf && later.state === 'DONE' && !later.tilesFailed &&
    covers && (later.type === task.type || later.type === 'reseed') &&
    later.zoomStart <= task.zoomStart && later.zoomStop >= task.zoomStop &&
    ['layer', 'gridSetId', 'format'].every((name) => later[name] === task[name]) &&
    pairs(later.parameters) === pairs(task.parameters);
}

/** Failures that the reader has dismissed. They are a note of this browser: the server knows
 * nothing of it, and whoever else looks still sees them. */
const dismissed = {
  key: `tileseed dismissed ${location.pathname}`,
  ids() {
    try {
      return JSON.parse(localStorage.getItem(this.key)) ?? [];
    } catch {
      return [];
    }
  },
  add(id) {
    localStorage.setItem(this.key, JSON.stringify([id, ...this.ids()].slice(0, 500)));
    draw();
  },
};

const failed = (task) => task.reasonCode !== 'TERMINATED' &&
  (task.state === 'ABORTED' || task.tilesFailed > 0);

const is_ill = ({state}) => ['AWAY', 'QUIET', 'FAILING'].includes(state);

/** What needs somebody, the bad before the rest: kind, words, where it is seen to, and the task
 * whose failure may be dismissed. */
function alerts({seeder, tasks, quota, upstreams}, ended, hosts) {
  const found = [];
  if (!seeder.responding || (seeder.state !== 'WORKING' && !seeder.activeHost)) {
    found.push(['bad', 'No seeder works. The log says why.', '#/tasks']);
  }
  for (const {name, state, lastSeen} of hosts) {
    if (state === 'DEAD') {
      found.push(['bad', [`Host ${name} is dead or was stopped. It was last seen at `,
        moment(lastSeen), '.']]);
    }
  }
  for (const {upstream, state, cause, failingLayer} of upstreams) {
    if (is_ill({state})) {
      found.push([health[state][0], [`Upstream ${upstream} ${health[state][1]}`,
        failingLayer ? ` for ${failingLayer}` : '', cause ? [': ', timed(cause)] : ''], '#/upstreams']);
    }
  }
  if (quota?.grace) {
    found.push(['warn', ['The first clean-up begins at ', moment(quota.grace),
      '. Raise the quota to prevent it.'], '#/quota']);
  }
  const gone = dismissed.ids();
  for (const task of [...tasks, ...ended]) {
    const {id, layer, state, reason, reasonCode, tilesFailed} = task;
    // the upstream that is ill stands for all that wait for it
    if (upstreams.some(is_ill) && ['AWAY', 'QUIET', 'REFUSED'].includes(reasonCode)) continue;
    const waits = state === 'RUNNING' ? reason : reasonCode === 'CONFIGURATION';
    const lost = failed(task) && !(task.finished && (gone.includes(id) ||
      [...tasks, ...ended].some((later) => makes_up(later, task))));
    if (lost || waits) {
      found.push([state === 'ABORTED' ? 'bad' : 'warn', [`Task ${id} of ${layer}`,
        state === 'ABORTED' ? ' was aborted' : waits ? ''
          : ` has ${count(tilesFailed)} failed tiles`, reason ? [': ', timed(reason)] : ''],
      path('task', id), task.finished && id]);
    }
  }
  return found.sort(([a], [b]) => a.localeCompare(b));
}

const alert_line = ([kind, words, link, id]) => h('li', {},
  badge(kind === 'bad' ? 'Problem' : 'Look', kind), ' ', words, ' ',
  link && h('a', {href: link}, 'Show'), ' ', id && h('button', {type: 'button', class: 'small',
    'aria-label': `Dismiss the failure of task ${id}`, title: 'Hides it in this browser',
    onclick: () => dismissed.add(id)}, 'Dismiss'));

const chips = (label, list) => h('ul', {class: 'chips', 'aria-label': label, key: label},
  h('li', {}, h('b', {}, label)), list.map((one) => h('li', {}, one)));

function overview() {
  let ended = [], hosts = [], asked;
  return {
    title: 'Overview',
    async load() {
      if (hosts[1] || asked == null) ({hosts} = await read('hosts.json', 9).catch(() => ({hosts})));
      // at once when the tasks are others, else seldom: the database is asked
      const now = page.overview.tasks.map(({id}) => id).join();
      ({tasks: ended} = await read('tasks.json?state=done,aborted&limit=200',
        asked === now ? 60 : 0));
      asked = now;
    },
    draw() {
      const {tasks, upstreams} = page.overview;
      const found = alerts(page.overview, ended, hosts);
      return [
        h('section', {'aria-label': 'What needs somebody', key: 'alerts'},
          found.length ? h('ul', {class: 'events'}, found.map(alert_line))
            : h('p', {}, badge('Nothing needs you', 'good'))),
        task_table('Tasks under way', tasks, 'No task is running or pending.'),
        chips('Upstreams', upstreams.map((one) => upstream_badge(one, `${one.upstream}: `))),
        hosts[1] && chips('Hosts', hosts.map(({name, state}) =>
          badge(`${name}: ${state.toLowerCase()}`,
            {DEAD: 'bad', DRAINING: 'warn'}[state] ?? 'good'))),
        chips('Maps', (page.layers?.layers ?? []).slice(0, 30).map(({name}) =>
          h('a', {href: path('map', name)}, name))),
        task_table('Ended last', ended.slice(0, 10), 'No task has ended yet.'),
      ];
    },
  };
}

// ---- all tasks ----

function all_tasks(words, query) {
  const limit = 50;
  let tasks = [], more = false;
  const asked = new URLSearchParams([...query].filter(([name]) =>
    ['state', 'layer', 'before'].includes(name)));
  asked.set('limit', limit + 1);
  const to = (name, value) => {
    const next = new URLSearchParams(query);
    next.delete('before');
    next.delete(name);
    if (value) next.set(name, value);
    return `#/tasks?${next}`;
  };
  const choice = (name, label, options) => select(label, options, query.get(name), (value) => {
    location.hash = to(name, value);
  });
  return {
    title: 'Tasks',
    async load() {
      tasks = (await read(address`tasks.json?${asked}`)).tasks;
      more = tasks.length > limit;
      tasks = tasks.slice(0, limit);
    },
    draw: () => [
      h('p', {class: 'buttons', key: 'filters'},
        choice('state', 'State',
          [['', 'any'], ['running,pending', 'under way'], ['done'], ['aborted']]),
        choice('layer', 'Layer',
          [['', 'any'], ...(page.layers?.layers ?? []).map(({name}) => [name])])),
      task_table('Tasks, the newest first', tasks, 'There is no such task.'),
      h('p', {class: 'buttons', key: 'pages'}, query.has('before') && h('a', {href: '#/tasks'},
        'The newest'), more && h('a', {href: to('before', tasks.at(-1).id)}, 'Older tasks')),
    ],
  };
}

// ---- one task ----

const map_of = ({id, layer, gridSetId, format, parameters}, more) =>
  `${path('map', layer, gridSetId, format)}?` +
  new URLSearchParams({task: id, ...parameters, ...more});

const pairs = (parameters) =>
  Object.entries(parameters ?? {}).map((pair) => pair.join('=')).join(', ');

const task_facts = (task) => facts([
  ['Layer', task.layer], ['Grid set, format', `${task.gridSetId}, ${task.format}`],
  ['Parameters', pairs(task.parameters)], ['Levels', `${task.zoomStart}–${task.zoomStop}`],
  ['Bounds', task.bounds?.join(', ')], ['Threads', task.threadCount],
  ['Tiles', `${count(task.tilesMade)} made, ${count(task.tilesSkipped)} there already, ` +
    `${count(task.tilesRemoved)} removed, ${count(task.tilesFailed)} failed, ` +
    `${count(task.tilesPruned)} pruned`],
  ['Pruned metatiles', task.prunedMetatiles + task.prunedChecked + task.prunedForgotten > 0 &&
    `${count(task.prunedMetatiles)} not asked for, ` +
    `${count(task.prunedChecked)} checked, ${count(task.prunedWrong)} wrong, ` +
    `${count(task.prunedForgotten)} forgotten`],
  ['Derived levels', task.derived && `${task.derived.zoomStart}–${task.derived.zoomStop}`],
  ['Written', bytes(task.bytes)],
  ['Requests', `${count(task.upstreamRequests)}, ${count(task.sharedRequests)} shared`],
  ['Request size', task.requestSize && `${task.requestSize.width} × ${
    task.requestSize.height} tiles: ${task.requestSize.reason}`],
  ['Tiles a second', count(task.tilesPerSecond)],
  !task.finished && ['Time left', duration(task.secondsRemaining)],
  ['Asked for by', task.requestedBy], ['Created', moment(task.created)],
  ['Started', moment(task.started)], ['Ended', moment(task.finished)],
  task.retryOf && ['Retry of', task_link(task.retryOf)],
]);

const failure_parts = ({failures, causes, total}) => [
  table('Failures by cause', ['Cause', 'Status', 'Metatiles', 'First', 'Last'],
    (causes ?? []).map((one) => [one.cause, one.cause, one.httpStatus ?? '–', count(one.count),
      moment(one.first), moment(one.last)])),
  h('details', {key: 'each'}, h('summary', {}, `The ${count(total)} failed metatiles`),
    table('Failed metatiles', ['Level', 'Column', 'Row', 'Cause', 'Attempts', 'Time'],
      failures.map((one) => [`${one.z}/${one.x}/${one.y}`, one.z, one.x, one.y, one.cause,
        one.attempts, moment(one.time)]))),
];

async function retry({id}) {
  const headers = await write('POST', address`tasks/${id}/retry`);
  location.hash = path('task', headers.get('TileSeed-Task'));
}

/** How far a level is. Its failures are known if all of the task's are listed. */
function level_bar({z, finished, metatiles}, {tilesFailed, tilesTotal}, lost) {
  const here = lost?.failures.filter((one) => one.z === z).length ?? 0;
  const bad = tilesFailed === tilesTotal ? finished : here;
  return share(Math.max(finished - bad, 0), metatiles, '', bad ? 'bad' : '');
}

function one_task([, name]) {
  const id = task_number(name);
  let task = null, lost = null;
  return {
    title: id ? `Task ${id}` : 'Task',
    async load() {
      if (!id) throw new Refusal(404, 'A task has a number.');
      const before = task?.tilesFailed;
      task = await read(address`tasks/${id}.json`);
      if (task.tilesFailed > 0 && task.tilesFailed !== before) {
        lost = await read(address`tasks/${id}/failures.json?limit=200`);
      }
    },
    draw: () => task ? [
      h('p', {class: 'buttons', key: 'lead'}, state_badge(task), task_bar(task)),
      task.reason && h('p', {class: 'reason', key: 'reason'}, timed(task.reason)),
      h('p', {class: 'buttons', key: 'buttons'}, terminate_button(task),
        task.finished && may_change(task) && task.tilesFailed > 0 && h('button',
          {type: 'button', onclick: attempt(() => retry(task))}, 'Retry the failures'),
        may_change(task) && h('a', {class: 'button', href: map_of(task, {again: id})},
          'Seed again …'),
        h('a', {class: 'button', href: map_of(task)}, 'Show on the map')),
      task.levels && table('Progress by level', ['Level', 'Done', 'Tiles'],
        task.levels.map((one) => [one.z, one.z, level_bar(one, task, lost),
          count(one.tiles)])),
      ...(lost ? failure_parts(lost) : []),
      task_facts(task),
    ] : [],
  };
}

// ---- upstreams ----

const health = {WELL: ['good', 'answers'], SILENT: ['warn', 'is slow to answer'],
  QUIET: ['warn', 'asks for a pause'], AWAY: ['bad', 'is away'], FAILING: ['bad', 'fails'],
  UNASKED: ['idle', 'is not asked']};

const upstream_badge = ({state}, name = '') => badge(name + (own(health, state)?.[1] ?? state),
  own(health, state)?.[0]);

const ask_again_button = ({upstream, state, layers: [layer]}) => is_ill({state}) && may('seed', layer) &&
  h('button', {type: 'button', 'aria-label': `Ask ${upstream} again now`, onclick: attempt(async () => {
    await write('POST', address`upstreams/again/${layer}`);
    await draw();
  })}, 'Ask again now');

function all_upstreams() {
  let upstreams = [];
  return {
    title: 'Upstreams',
    async load() {
      ({upstreams} = await read('upstreams.json'));
    },
    draw() {
      const buttons = upstreams.map(ask_again_button);
      return [table('Upstreams', ['Upstream', 'State', 'Since', 'Asked next', 'Usual latency',
        'Requests', 'Errors', 'At once', 'Tasks waiting', 'Cause', 'Layers',
        ...(buttons.some(Boolean) ? ['Change'] : [])], upstreams.map((one, i) => [
        one.upstream, one.upstream, upstream_badge(one), moment(one.since),
        moment(one.quietUntil ?? one.nextTry),
        one.usualLatency ? `${count(one.usualLatency * 1000)} ms` : '–', count(one.requests),
        one.recentFailed ? `${one.recentFailed} of the last ${one.recentAnswers}`
          : count(one.errors), `${count(one.requestsUnderWay)} of ${count(one.window)}`,
        count(one.tasksWaiting), timed(one.cause ?? '–'), one.layers.join(', '),
        ...(buttons[i] ? [buttons[i]] : [])]),
      'None yet.')];
    },
  };
}

// ---- quota ----

/** The form; made once for a configuration, so that nobody's typing is lost. */
function quota_form({enabled, globalQuota, globalExpirationPolicyName: policy, layerQuotas}, root,
  saved) {
  const options = (names) => names.map((name) => h('option', {}, name));
  const on = h('input', {type: 'checkbox', checked: enabled});
  const value = h('input', {type: 'number', min: 0, step: 'any'});
  const unit = h('select', {}, options(['B', 'KiB', 'MiB', 'GiB', 'TiB']));
  const first = h('select', {}, options(['LRU', 'LFU']));
  const whose = h('select', {onchange: show}, h('option', {value: ''}, 'All layers'),
    options(page.layers.layers.map(({name}) => name)));
  const limits = [{layer: '', quota: globalQuota, expirationPolicyName: policy},
    ...layerQuotas ?? []];
  function show() {
    const one = limits.find(({layer}) => layer === whose.value);
    const {quota, expirationPolicyName} = one ?? limits[0];
    value.required = !whose.value;
    value.value = one ? quota.value : '';
    unit.value = quota.units;
    first.value = expirationPolicyName;
  }
  async function changes() {
    const quota = {value: value.value, units: unit.value}, layer = whose.value;
    const expirationPolicyName = first.value;
    if (!layer) return {globalQuota: quota, globalExpirationPolicyName: expirationPolicyName};
    const [now] = Object.values(await read('diskquota.json'));
    return {layerQuotas: [...(now.layerQuotas ?? []).filter((one) => one.layer !== layer),
      ...quota.value ? [{layer, expirationPolicyName, quota}] : []]};
  }
  show();
  return h('form', {class: 'form', onsubmit: attempt(async () => {
    await write('PUT', 'diskquota.json', {[root]: {enabled: on.checked, ...await changes()}});
    say('The quota is saved.');
    saved();
  })}, h('h3', {}, 'Change the quota'), field('Quota on', on), field('Limit of', whose),
  h('div', {class: 'pair'}, field('Limit; empty: none of its own', value), field('Unit', unit)),
  field('What goes first: LRU the longest unused, LFU the least used', first),
  h('button', {class: 'main'}, 'Save'));
}

const command = (label, question, address) => h('button', {type: 'button',
  onclick: attempt(async () => {
    if (await confirmed(question, label)) {
      await write('POST', address);
      say(`${label}: begun.`);
    }
  })}, `${label} …`);

/** Sums of all tile sets by level. */
function by_level({layers}) {
  const sums = new Map();
  for (const {z, bytes: size, files} of layers.flatMap(({tilesets}) => tilesets)
    .flatMap(({levels}) => levels ?? [])) {
    const [all, number] = sums.get(z) ?? [0, 0];
    sums.set(z, [all + size, number + files]);
  }
  const total = [...sums.values()].reduce((all, [size]) => all + size, 0);
  return table('By level', ['Level', 'Share', 'Takes', 'Files'], [...sums]
    .sort(([a], [b]) => a - b).map(([z, [size, files]]) => [z, z,
      share(size, total), bytes(size), count(files)]), 'No level has tiles.');
}

const removal_button = ({id, layer}) => h('button', {type: 'button', class: 'danger',
  'aria-label': `Remove tile set ${id}`, onclick: attempt(async () => {
    if (await confirmed(`Remove all tiles of tile set ${id} of ${layer}, for good?`, 'Remove')) {
      await write('DELETE', address`diskquota/usage/${id}.json?tiles=remove`);
      say(`The tiles of tile set ${id} are being removed.`);
    }
  })}, 'Remove');

/** Tile sets that are configured no more. */
function lapsed({layers}) {
  const all = layers.flatMap(({tilesets}) => tilesets).filter(({configured}) => !configured);
  return all.length > 0 && table('Not configured', ['Tile set', 'Layer', 'Grid set', 'Format',
    'Takes', 'Change'], all.map((one) => [one.id, one.id, one.layer, one.gridSetId, one.format,
    bytes(one.bytes), one.removing ? 'being removed'
      : may('terminate') && removal_button(one)]));
}

const events = ({pagesInDoubt, walk, lastCleanUp, reconcile}) => h('ul',
  {class: 'events', key: 'events'},
  pagesInDoubt > 0 && h('li', {}, `${count(pagesInDoubt)} pages are to be counted.`),
  walk && h('li', {}, 'A cache that was there before is being taken in.'),
  lastCleanUp && h('li', {}, 'Last clean-up: ', moment(lastCleanUp.finished ?? lastCleanUp.started),
    `, ${bytes(lastCleanUp.bytes)} went.`),
  reconcile && h('li', {}, `Reconcile: ${reconcile.state}`, reconcile.pagesTotal
    ? `, ${count(reconcile.pages)} of ${count(reconcile.pagesTotal)} pages` : ''));

function quota() {
  let usage = null, form = null, config = '';
  return {
    title: 'Quota',
    async load() {
      usage = await read('diskquota/usage.json', 9);
      const [[root, found]] = Object.entries(await read('diskquota.json', 9));
      if (may('quota') && JSON.stringify(found) !== config) {
        config = JSON.stringify(found);
        form = quota_form(found, root, () => {
          config = '';
        });
      }
    },
    draw() {
      if (!usage) return [];
      const limit = usage.enabled && usage.limit.bytes;
      return [
        h('p', {key: 'lead'}, limit ? bar(usage.bytes, limit, `${bytes(usage.bytes)} of ${
          bytes(limit)} used, ${bytes(Math.max(limit - usage.bytes, 0))} free`,
        usage.bytes > 0.9 * limit ? 'warn' : '')
          : `${bytes(usage.bytes)} in ${count(usage.files)} files; the quota is off`),
        Number.isFinite(usage.diskFree) && h('p', {key: 'disk'},
          `${bytes(usage.diskFree)} free on the disk`),
        events(usage),
        table('By layer', ['Layer', 'Share', 'Takes', 'Files', 'Own limit'],
          [...usage.layers].sort((a, b) => b.bytes - a.bytes).map((one) => [one.layer,
            [h('a', {href: path('map', one.layer)}, one.layer),
              one.tilesets.every(({configured}) => configured) ? '' : ' (partly not configured)'],
            share(one.bytes, usage.bytes),
            bytes(one.bytes), count(one.files), bytes(one.limit)]), 'No layer has tiles.'),
        by_level(usage),
        lapsed(usage),
        h('p', {class: 'buttons', key: 'commands'}, may('reconcile') && command('Reconcile',
          'Count each tile on the disk, beside the work, and correct the books?',
          'diskquota/reconcile'), may('cleanUp') && usage.enabled && command('Clean up',
            'Begin a clean-up now? What is over the quota goes.', 'diskquota/cleanup')),
        form,
      ];
    },
  };
}

export const views = {'': overview, tasks: all_tasks, task: one_task, quota,
  upstreams: all_upstreams};
