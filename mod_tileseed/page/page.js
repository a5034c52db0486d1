// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: the mod_tileseed authors
// The operators' page: what all views share.
//
// Words of others become text nodes, never markup.

// ---- nodes ----

const handlers = ['onchange', 'onclick', 'onsubmit'];

const nodes_of = (list) => list.flat(9).filter((child) => child || child === 0);

/** Makes an element; attributes that begin with "on" are functions. */
export function h(tag, attributes, ...children) {
  const svg = tag === 'svg' || tag === 'polyline';
  const node = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === 'key') {
      node.key = String(value);
    } else if (name.startsWith('on')) {
      node[name] = value;
    } else if (value !== false && value !== undefined) {
      node.setAttribute(name, value === true ? '' : value);
    }
  }
  // what is shown already would lose the focus if it moved: a mark stands for it
  node.append(...nodes_of(children).map((child) => child.isConnected
    ? Object.assign(new Comment(), {shown: child}) : child));
  return node;
}

function change(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const {name} of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
  }
  for (const {name, value} of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of handlers) old[name] = fresh[name];
  fill(old, [...fresh.childNodes]);
  if (fresh.nodeName === 'SELECT' && old.value !== fresh.value) old.value = fresh.value;
}

/** Makes the children of a node look like others. A child that is there stays itself. */
export function fill(parent, children) {
  let at = parent.firstChild;
  for (const child of nodes_of(children)) {
    const fresh = child.shown ?? (child instanceof Node ? child : new Text(child));
    let old = fresh.parentNode === parent ? fresh : at;
    if (old !== fresh && fresh.key !== undefined) {
      old = [...parent.childNodes].find((node) => node.key === fresh.key);
    }
    if (old?.nodeName !== fresh.nodeName || old.key !== fresh.key) old = fresh;
    if (old === at) {
      at = at.nextSibling;
    } else {
      parent.insertBefore(old, at);
    }
    if (old !== fresh) change(old, fresh);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// ---- words ----

const whole = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const short = new Intl.NumberFormat('en', {maximumSignificantDigits: 3});

export const count = (number) => Number.isFinite(number) ? whole.format(number) : '–';

export function bytes(number) {
  if (!Number.isFinite(number)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit++;
  }
  return `${short.format(number)} ${units[unit]}`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  for (const [unit, name, below, lower] of [[86400, 'd', 3600, 'h'], [3600, 'h', 60, 'min'],
    [60, 'min', 1, 's']]) {
    if (seconds >= unit) {
      const rest = Math.floor(seconds % unit / below);
      return `${count(Math.floor(seconds / unit))} ${name}${rest ? ` ${rest} ${lower}` : ''}`;
    }
  }
  return `${Math.round(seconds)} s`;
}

/** A time by the reader's clock; pointing at it shows UTC. */
export function moment(text) {
  const time = text ? new Date(text) : null;
  if (!time) return '–';
  const today = time.toDateString() === new Date().toDateString();
  return h('time', {datetime: text, title: text},
    today ? time.toLocaleTimeString('en-GB')
      : time.toLocaleString('en-GB', {dateStyle: 'medium', timeStyle: 'short'}));
}

export const percent = (part, total) => total ? Math.floor(100 * part / total) : 100;

/** A time within words of the server is shown by the reader's clock as well. */
export const timed = (words) => (words ?? '').split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/)
  .map((part, i) => i % 2 ? moment(part) : part);

// ---- names and addresses, which anybody may have put into a link ----

/** What a table of ours has by a name of others. */
export const own = (table, name) => Object.hasOwn(table, name) ? table[name] : undefined;

/** A number of a task, or null. */
export const task_number = (text) => /^[1-9]\d{0,15}$/.test(text) ? Number(text) : null;

/** An address: what is put into it stays one word of its path or of its query. */
export function address(parts, ...values) {
  if (values.some((value) => /^\.{1,2}$/.test(value))) throw new Refusal(404, 'no such address');
  return String.raw({raw: parts}, ...values.map((value) => value instanceof URLSearchParams ? value
    : encodeURIComponent(value)));
}

export const path = (...words) => '#/' + words.map(encodeURIComponent).join('/');

function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

// ---- requests ----

export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const kept = new Map(); // address -> {etag, data, at}

async function send(address, options) {
  const answer = await fetch(address, {cache: 'no-store', signal: AbortSignal.timeout(30000),
    ...options}).catch(() => {
    throw new Refusal(504, 'the server does not answer');
  });
  if (answer.status >= 400) {
    const plain = (answer.headers.get('Content-Type') ?? '').startsWith('text/plain');
    const denied = answer.status === 401 || answer.status === 403;
    throw new Refusal(answer.status, plain ? (await answer.text()).trim().slice(0, 400)
      : denied ? 'you have no right to do this' : `the server answers ${answer.status}`);
  }
  return answer;
}

/** Reads a document, if the last is older than that; what has not changed is not sent again. */
export async function read(address, seconds = 0) {
  const known = kept.get(address);
  if (known && Date.now() - known.at < seconds * 1000) return known.data;
  const answer = await send(address,
    known?.etag ? {headers: {'If-None-Match': known.etag}} : {});
  const data = answer.status === 304 ? known.data : await answer.json();
  page.pause = answer.headers.get('TileSeed-Pause') ?? page.pause;
  if (kept.size > 40) kept.clear();
  kept.set(address, {etag: answer.headers.get('ETag'), data, at: Date.now()});
  return data;
}

/** Asks for a change, then for what has become of it. Returns the answer's headers. */
export async function write(method, address, body) {
  const answer = await send(address, {method,
    ...(body && {body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}})});
  await answer.text();
  kept.clear();
  turn();
  return answer.headers;
}

/** Runs what a button or a form stands for, and says when it is refused. */
export const attempt = (action) => async (event) => {
  event.preventDefault();
  const button = event.currentTarget;
  button.setAttribute('aria-busy', 'true');
  try {
    await action();
  } catch (error) {
    say(error.message);
  }
  button.removeAttribute('aria-busy');
};

// ---- what readers are told ----

/** Shows a sentence until the next, and has it read out. */
export function say(sentence) {
  const said = document.getElementById('said');
  said.replaceChildren(sentence, h('button', {type: 'button', 'aria-label': 'Dismiss',
    onclick: () => said.replaceChildren()}, '×'));
}

/** Asks before what can't be undone: true, or false. The reader types `name`. */
export function confirmed(question, action, name) {
  return new Promise((resolve) => {
    const typed = h('input', {type: 'text', required: true, autocomplete: 'off',
      'aria-label': 'Name', oninput: () => typed.setCustomValidity(
        typed.value === name ? '' : `The name is ${name}`)});
    const dialog = h('dialog', {'aria-labelledby': 'question', onclose: () => {
      resolve(dialog.returnValue === 'yes');
      dialog.remove();
    }}, h('form', {method: 'dialog'}, h('p', {id: 'question'}, question),
      name !== undefined && h('p', {}, typed),
      h('p', {class: 'buttons'}, h('button', {value: 'no', formnovalidate: true}, 'Cancel'),
        h('button', {value: 'yes', class: 'danger'}, action))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A bar with its words: never colour alone. */
export function bar(part, total, words, kind) {
  return h('span', {class: `bar ${kind ?? ''}`},
    h('progress', {max: Math.max(total, 1), value: total ? part : 1, 'aria-label': words}),
    h('span', {}, words));
}

export const share = (part, total, words = '', kind = '') =>
  bar(part, total, `${percent(part, total)} %${words}`, kind);

/** How far a task is; what failed is not done. */
export const task_bar = ({tilesProcessed, tilesFailed, tilesTotal}) => share(
  tilesProcessed - tilesFailed, tilesTotal, ` of ${count(tilesTotal)}`, tilesFailed ? 'bad' : '');

export const state_word = ({state, reasonCode}) =>
  reasonCode === 'TERMINATED' ? 'terminated' : state.toLowerCase();

/** A choice of [value, text]. */
export const select = (label, options, value, change) => h('label', {key: label}, `${label} `,
  h('select', {onchange: (event) => change(event.target.value)}, options.map(([one, text]) =>
    h('option', {value: one, selected: one === value}, text ?? one))));

/** The word of a state, with a sign that tells it without its colour. */
export function badge(word, kind) {
  return h('span', {class: `badge ${kind}`}, {good: '✓ ', bad: '✗ ', warn: '! ', work: '▸ ',
    idle: '· '}[kind], word);
}

/** A table; each row begins with its key. */
export const table = (caption, heads, rows, empty) => h('div', {class: 'scroll', tabindex: 0,
  role: 'region', 'aria-label': caption, key: caption},
h('table', {}, h('caption', {}, caption),
  h('thead', {}, h('tr', {}, heads.map((head) => h('th', {scope: 'col'}, head)))),
  h('tbody', {}, rows.length ? rows.map(([key, ...cells]) => h('tr', {key},
    cells.map((cell, i) => h('td', {'data-head': heads[i]}, cell))))
    : h('tr', {}, h('td', {colspan: heads.length}, empty)))));

/** Pairs of names and values; what is false or empty is left out. */
export const facts = (rows) => h('dl', {class: 'facts', key: 'facts'},
  rows.filter((row) => row && row[1])
  .map(([name, value]) => h('div', {key: name}, h('dt', {}, name), h('dd', {}, value))));

export const field = (label, control) =>
  h('label', {class: 'field'}, h('span', {}, label), control);

// ---- the server's state ----

export const page = {};
const rates = [];
let states = new Map(), heard = 0, failures = 0, trouble = '', timer, turning, again;

/** What the reader may do with a layer, or with the server, as layers.json says. */
export function may(what, name) {
  const layers = page.layers?.layers ?? [];
  const one = name === undefined ? page.layers : layers.find((layer) => layer.name === name);
  return Boolean(one?.may?.[what]);
}

function sparkline() {
  const most = Math.max(...rates.map(([, rate]) => rate), 1);
  const now = Date.now();
  const points = rates.map(([at, rate]) =>
    `${(100 - (now - at) / 6000).toFixed(1)},${(19 - 18 * rate / most).toFixed(1)}`);
  return h('svg', {viewBox: '0 0 100 20', class: 'spark', 'aria-hidden': 'true',
    preserveAspectRatio: 'none'}, h('polyline', {points: points.join(' ')}));
}

function note_rate(rate) {
  const now = Date.now();
  rates.push([now, rate]);
  while (rates.length && rates[0][0] < now - 600000) rates.shift();
}

/** Tells which tasks have ended or begun to wait. */
async function tell_changes(tasks) {
  const now = new Map(tasks.map((task) => [task.id, task]));
  for (const [id, before] of states) {
    const task = now.get(id) ?? await read(address`tasks/${id}.json`).catch(() => before);
    const news = task.finished ? state_word(task)
      : task.reason && !before.reason ? 'waits' : '';
    if (news) say(h('span', {}, `Task ${id} of ${task.layer}: ${news}. `, timed(task.reason)));
  }
  states = now;
}

function draw_strip() {
  const {seeder, tasks, tasksRunning, tasksPending, quota, upstreams} = page.overview;
  const {state, responding, activeHost} = seeder;
  const elsewhere = activeHost && state !== 'WORKING' ? `, ${activeHost} works` : '';
  const longest = Math.max(...tasks.map((task) => task.secondsRemaining ?? -1), -1);
  const ill = upstreams.filter((one) => !['WELL', 'UNASKED'].includes(one.state));
  const limit = quota?.enabled && quota.limit.bytes;
  const used = quota?.used?.bytes;
  fill(document.getElementById('strip'), [
    h('span', {key: 's'}, badge(`seeder ${state === 'WORKING' && !responding ? 'silent'
      : state.toLowerCase().replace('_', ' ')}${elsewhere}`,
    responding && (state === 'WORKING' || activeHost) ? 'good' : 'bad')),
    h('span', {key: 't'}, h('b', {}, count(tasksRunning)), ' running, ',
      h('b', {}, count(tasksPending)), ' pending'),
    h('span', {key: 'r'}, h('b', {}, short.format(seeder.tilesPerSecond)), ' tiles/s ',
      sparkline()),
    longest >= 0 && h('span', {key: 'e'}, 'done in ', tasks.some((task) =>
      task.state === 'RUNNING' && task.secondsRemaining === null) && 'over ',
    h('b', {}, duration(longest))),
    quota && h('span', {key: 'q'}, limit
      ? bar(used ?? 0, limit, `${bytes(used)} of ${bytes(limit)}`, used > 0.9 * limit ? 'warn' : '')
      : `${bytes(used)} used, no quota`),
    ill.length > 0 && h('span', {key: 'u'},
      badge(`${ill.length} of ${upstreams.length} upstreams ill`, 'warn')),
  ]);
}

// ---- the loop ----

function show_age() {
  const stale = document.getElementById('stale');
  stale.hidden = !failures;
  document.body.classList.toggle('old', failures > 0);
  if (failures) {
    const age = heard ? `What you see is ${duration((Date.now() - heard) / 1000)} old. ` : '';
    fill(stale, [`${age}Reason: ${trouble}. `,
      h('button', {type: 'button', onclick: () => turn()}, 'Ask now')]);
  }
}

export function draw() {
  if (page.view) {
    const title = page.view.title;
    document.title = `${title} · mod_tileseed`;
    fill(document.getElementById('main'), [h('h2', {}, title),
      ...(page.view.problem ? [h('p', {class: 'problem', role: 'alert'}, page.view.problem)]
        : page.overview ? page.view.draw() : ['Asking the server …'])]);
  }
  show_age();
}

function delay() {
  const seconds = failures ? Math.min(2 ** failures, 60)
    : page.overview.tasksRunning ? page.pause ?? 2 : 10;
  return seconds * 1000 * (0.9 + 0.2 * Math.random());
}

async function load() {
  page.overview = await read('overview.json');
  heard = Date.now();
  note_rate(page.overview.seeder.tilesPerSecond);
  draw_strip();
  page.layers ??= await read('layers.json');
  const view = page.view;
  try {
    await view?.load?.();
    if (view) view.problem = '';
  } catch (error) {
    if (error.status >= 500) throw error;
    view.problem = error.message;
  }
  await tell_changes(page.overview.tasks);
}

/** Asks, draws, and comes again after a while; not while nobody looks. */
export async function turn() {
  if (turning) {
    again = true;
    return;
  }
  clearTimeout(timer);
  if (document.hidden) return;
  turning = true;
  try {
    await load();
    failures = 0;
  } catch (error) {
    failures++;
    trouble = error.message;
    if (failures === 1) say(`The page can't be brought up to date: ${trouble}`);
  }
  turning = false;
  draw();
  timer = setTimeout(turn, again ? 0 : delay());
  again = false;
}

async function go() {
  if (location.hash && !location.hash.startsWith('#/')) return; // a jump within the page
  const [where, query] = location.hash.slice(2).split('?');
  const words = where.split('/').map(decoded);
  const {views} = await import(words[0] === 'map' ? './map.js' : './views.js');
  const name = own(views, words[0]) ? words[0] : '';
  page.view?.close?.();
  page.view = views[name](words, new URLSearchParams(query ?? ''));
  for (const link of document.querySelectorAll('nav a')) {
    const own = link.getAttribute('href').slice(2);
    link.toggleAttribute('aria-current', own === (name === 'task' ? 'tasks' : name));
    if (link.hasAttribute('aria-current')) link.setAttribute('aria-current', 'page');
  }
  draw();
  if (page.overview) {
    document.getElementById('main').focus({preventScroll: true});
    scrollTo(0, 0);
  }
  turn();
}

addEventListener('hashchange', go);
document.addEventListener('visibilitychange', () => turn());
setInterval(() => failures && show_age(), 1000);
if (document.URL.startsWith(location.origin)) {
  turn();
  go();
} else { // the address has a password, with which nothing can be asked
  location.replace(location.origin + location.pathname + location.hash);
}
