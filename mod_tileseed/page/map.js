// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: the mod_tileseed authors
// The view of a tile set, with the form of a seed request. Looking at the map makes no tile.
import {address, attempt, badge, bytes, confirmed, count, draw, duration, facts, field, fill, h,
  may, page, path, percent, read, say, select, table, task_bar, task_number, timed, write}
  from './page.js';
import {make_grid, make_map} from './viewer.js';

const overlays = [['share', 'Coverage'], ['age', 'Age of the oldest tile'], ['heat', 'Use'],
  ['', 'None']];

/** What a number of a cell is called. */
const words_of = {
  share: (share) => `${Math.floor(share / 10)} %`,
  age: (age) => age === null ? 'age unknown' : duration(age * 60),
  heat: (heat) => `${heat} uses`,
};

/** How strong the colour of a number is, 0 to 1. */
const strength_of = {
  share: (share) => share / 1000,
  age: (age, most) => age === null ? 1 : Math.log1p(age) / Math.log1p(most),
  heat: (heat, most) => Math.log1p(heat) / Math.log1p(most),
};

const colours = {share: '30,130,76', age: '178,84,0', heat: '170,30,90'};

function paint_label(context, text, left, top) {
  context.font = '600 12px system-ui, sans-serif';
  const {width} = context.measureText(text);
  context.fillStyle = '#fffe';
  context.fillRect(left, top - 13, width + 8, 18);
  context.fillStyle = '#111';
  context.fillText(text, left + 4, top);
}

/** Draws a property of the cells; large cells have numbers. */
function paint_cells(context, map, coverage, property) {
  const {cell, share, z} = coverage;
  context.save();
  context.beginPath();
  const extent = map.pixels(map.grid.set.bounds), [edge, roof] = extent;
  context.rect(...extent);
  context.clip();
  const values = coverage[property];
  const most = values.reduce((a, b) => Math.max(a, b ?? 0), 1);
  for (let i = 0; i < values.length; i++) {
    const column = i % cell.columns, row = Math.floor(i / cell.columns);
    const [left, top, width, height] = map.pixels(map.grid.bounds(z, cell.x + column * cell.tiles,
      cell.y + row * cell.tiles, cell.tiles));
    if (left > map.width || top > map.height || left + width < 0 || top + height < 0) continue;
    if (share[i] > 0) {
      const strength = strength_of[property](values[i], most);
      context.fillStyle = `rgba(${colours[property]},${0.15 + 0.3 * strength})`;
      context.fillRect(left, top, width, height);
    }
    context.lineWidth = 0.5;
    context.strokeStyle = '#8888';
    context.strokeRect(left, top, width, height);
    if (width >= 64 && height >= 28) {
      const text = share[i] === 0 ? 'none' : words_of[property](values[i]);
      paint_label(context, text, Math.max(left, edge, 0) + 4, Math.max(top, roof, 0) + 17);
    }
  }
  context.restore();
}

function paint_task(context, map, task, i) {
  const place = map.pixels(task.bounds);
  context.lineWidth = 2;
  context.strokeStyle = '#1f5f8b';
  context.setLineDash([8, 4]);
  context.strokeRect(...place);
  context.setLineDash([]);
  const done = percent(task.tilesProcessed - task.tilesFailed, task.tilesTotal);
  paint_label(context, `${task.type} ${task.id}: ${done} %`,
    Math.max(place[0], 0) + 4, Math.min(place[1] + place[3], map.height) - 8 - 20 * i);
}

function paint_failure(context, map, failure) {
  const [left, top, width, height] = map.pixels(map.grid.bounds(failure.z, failure.x, failure.y));
  const x = left + width / 2, y = top + height / 2;
  context.lineWidth = 5;
  for (const colour of ['#fff', '#b3141d']) {
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(x - 6, y - 6);
    context.lineTo(x + 6, y + 6);
    context.moveTo(x + 6, y - 6);
    context.lineTo(x - 6, y + 6);
    context.stroke();
    context.lineWidth = 2.5;
  }
}

// ---- which tile set ----

/** Layer, grid set, format and parameters of an address, or the first of each; of the layers the
 * first that has tiles. */
function choose(words, query, usage) {
  const layers = page.layers.layers;
  const layer = layers.find(({name}) => name === words[1]) ?? layers.find(({name}) =>
    usage.layers.some((one) => one.layer === name && one.bytes > 0)) ?? layers[0];
  if (!layer) return null;
  const set = layer.gridSets.find(({gridSetId}) => gridSetId === words[2]) ?? layer.gridSets[0];
  const format = layer.formats.find((one) => one.format === words[3]) ?? layer.formats[0];
  const parameters = {};
  for (const {name, default: value} of layer.parameters) {
    const wanted = query.get(name);
    if (wanted !== null && wanted !== value) parameters[name] = wanted;
  }
  return {layer, set, format, parameters};
}

const entry_of = (usage, {layer, set, format, parameters}) => usage.layers
  .flatMap(({tilesets}) => tilesets).find((one) => one.layer === layer.name && one.configured &&
    one.gridSetId === set.gridSetId && one.format === format.format &&
    layer.parameters.every(({name, default: value}) =>
      (one.parameters?.[name] ?? value) === (parameters[name] ?? value)));

/** The function that gives a tile's address; null where none serves the layer's tiles. */
function address_of({layer, set, format, parameters}) {
  const query = new URLSearchParams({...parameters, onmiss: '404'});
  return (z, x, y) => layer.tiles && `${layer.tiles
    .replace('{gridSetId}', encodeURIComponent(set.gridSetId)).replace('{z}', z).replace('{x}', x)
    .replace('{y}', y).replace('{extension}', format.extension)}?${query}`;
}

// ---- the form of a seed request ----

const number = (value, min, max) => h('input', {type: 'number', value, min, max, required: true});

/** Four numbers with commas or blanks: a box, null for nothing, undefined for what is no box. */
function read_box(text) {
  if (!text.trim()) return null;
  const found = text.trim().split(/[\s,;]+/).map(Number);
  return found.length === 4 && found.every(Number.isFinite) && found[0] <= found[2] &&
    found[1] <= found[3] ? found : undefined;
}

/** What is free, and whether that much is too much. */
function room({free, freeIn}, expected) {
  if (!freeIn) return [null, false];
  const where = freeIn === 'quota' ? 'in the quota' : 'on the file system';
  return [`${bytes(free)} free ${where}`, expected > free];
}

function show(estimate, type) {
  const {tiles, tilesPresent, tilesPruned, tilesToMake, presentBy, bytes: size, seconds} = estimate;
  const [free, is_much] = room(estimate, size?.expected ?? 0);
  const about = presentBy === 'sample' ? 'about ' : '';
  return [
    facts([['Tiles', `${count(tiles)}, ${about}${count(tilesPresent)} are there`],
      ['Pruned', tilesPruned && about + count(tilesPruned)],
      type !== 'truncate' && ['To make', about + count(tilesToMake)],
      type !== 'truncate' && ['Size', size
        ? `${bytes(size.expected)} (${bytes(size.low)} to ${bytes(size.high)})`
        : 'not known: nothing was measured yet'],
      ['Time', seconds && `${duration(seconds.expected)} (${
        duration(seconds.low)} to ${duration(seconds.high)})`],
      ['Room', free]]),
    is_much && h('p', {class: 'problem'}, 'This is more than there is room for: other tiles will ' +
      'go for it, or the task will wait.'),
  ];
}

/** The form of a tile set. `drawn(box)` is told when the box is changed by hand. */
function make_form(layer, set, format, parameters, drawn) {
  let timer, asked = 0;
  const type = h('select', {}, [['seed', 'Seed: make what is missing'],
    ['reseed', 'Reseed: make all again'], ['truncate', 'Truncate: remove']]
    .filter(([value]) => may(value === 'truncate' ? 'truncate' : 'seed', layer.name))
    .map(([value, text]) => h('option', {value}, text)));
  const first = number(set.zoomStart, set.zoomStart, set.zoomStop);
  const last = number(set.zoomStart, set.zoomStart, set.zoomStop);
  const threads = number(1, 1, 64);
  const box = h('input', {autocomplete: 'off', placeholder: 'everything',
    'aria-describedby': 'box-help'});
  const estimate = h('div', {class: 'estimate', 'aria-live': 'polite'});
  const button = h('button', {class: 'main'}, 'Seed');

  function members() {
    const bounds = read_box(box.value);
    if (bounds === undefined) throw new Error('The box needs four numbers.');
    return {gridSetId: set.gridSetId, format: format.format, type: type.value,
      zoomStart: Number(first.value), zoomStop: Number(last.value),
      threadCount: Number(threads.value),
      ...(bounds && {bounds: {coords: {double: bounds}}}),
      ...(Object.keys(parameters).length > 0 && {parameters: {entry: Object.entries(parameters)
        .map((pair) => ({string: pair}))}})};
  }

  async function ask() {
    const turn = ++asked;
    let words;
    try {
      const {bounds, parameters: _, ...rest} = members();
      const query = new URLSearchParams({...rest,
        ...(bounds && {bbox: bounds.coords.double.join()})});
      for (const [name, value] of Object.entries(parameters)) query.set(`parameter_${name}`, value);
      const found = await read(address`estimate/${layer.name}.json?${query}`);
      words = show(found.estimate, type.value);
    } catch (error) {
      words = [h('p', {class: 'problem'}, error.message)];
    }
    if (turn === asked) fill(estimate, words);
  }

  function changed() {
    button.textContent = {seed: 'Seed', reseed: 'Reseed', truncate: 'Truncate'}[type.value];
    button.classList.toggle('danger', type.value === 'truncate');
    clearTimeout(timer);
    timer = setTimeout(ask, 300);
  }

  async function send() {
    const request = members();
    if (type.value === 'truncate' && !await confirmed(request.bounds
      ? `Remove the tiles of ${layer.name} in this box, levels ${first.value} to ${last.value}?`
      : `Remove all tiles of ${layer.name}, levels ${first.value} to ${last.value}? Type its name.`,
    'Truncate', request.bounds ? undefined : layer.name)) return;
    const headers = await write('POST', address`seed/${layer.name}.json`,
      {seedRequest: request});
    const id = headers.get('TileSeed-Task'), warning = headers.get('TileSeed-Warning');
    say(h('span', {}, 'Accepted as ', h('a', {href: path('task', id)}, `task ${id}`),
      warning ? `. ${warning}` : '.'));
  }

  const form = h('form', {class: 'form', 'aria-label': 'Seed request', oninput: changed,
    onsubmit: attempt(send)}, h('h3', {}, 'Seed request'), field('What', type),
  h('div', {class: 'pair'}, field('From level', first), field('To level', last)),
  field('Threads', threads), field('Box: west, south, east, north', box),
  h('p', {id: 'box-help', class: 'help'}, `In units of ${set.gridSetId}. Draw it on the map, or ` +
    'leave it empty for everything.'),
  estimate, button);
  box.addEventListener('change', () => drawn(read_box(box.value) ?? null));

  return {
    form,
    set_box(bounds) {
      box.value = bounds ? bounds.map((one) => Number(one.toPrecision(12))).join(', ') : '';
      changed();
    },
    set_levels(from, to) {
      first.value = from;
      last.value = to;
      changed();
    },
    set_type(value) {
      type.value = value;
      changed();
    },
    focus: () => button.focus(),
  };
}

/** The choices above the map; each leads to an address. */
function choices({layer, set, format, parameters}, query) {
  const to = (more, ...names) => {
    location.hash = `${path('map', ...names)}?${new URLSearchParams(more)}`;
  };
  return [
    select('Layer', page.layers.layers.map(({name}) => [name]), layer.name,
      (name) => to({}, name)),
    layer.gridSets.length > 1 && select('Grid set',
      layer.gridSets.map(({gridSetId}) => [gridSetId]), set.gridSetId,
      (id) => to(parameters, layer.name, id, format.format)),
    layer.formats.length > 1 && select('Format', layer.formats.map((one) => [one.format]),
      format.format, (mime) => to(parameters, layer.name, set.gridSetId, mime)),
    ...layer.parameters.filter(({values}) => values.length).map(({name, values, default: usual}) =>
      select(name,
        [...new Set([usual ?? '', ...values])].map((value) => [value, value || 'default']),
        query.get(name) ?? usual ?? '', (value) => to({...parameters, [name]: value}, layer.name,
          set.gridSetId, format.format))),
  ];
}

const level_table = ({levels}) => h('details', {key: 'levels'}, h('summary', {}, 'As a table'),
  table('What is there, by level', ['Level', 'Tiles', 'Of', 'Takes'], (levels ?? []).map((one) =>
    [one.z, one.z, count(one.tiles), count(one.possible), bytes(one.bytes)]), 'Nothing is there.'));

/** The newest task with failures that nobody has retried, or the one of the address. */
function failed_task(tasks, wanted, {set, format}) {
  return tasks.find((task) => wanted ? task.id === wanted : task.tilesFailed > 0 &&
    task.gridSetId === set.gridSetId && task.format === format.format &&
    !tasks.some(({retryOf}) => retryOf === task.id));
}

/** The number of the cell of a coverage in which a tile lies; -1: it lies in none, or the coverage
 * is of another level. */
function cell_of({z: level, cell}, z, x, y) {
  const column = Math.floor((x - cell.x) / cell.tiles), row = Math.floor((y - cell.y) / cell.tiles);
  return level === z && column >= 0 && row >= 0 && column < cell.columns && row < cell.rows
    ? row * cell.columns + column : -1;
}

function map_view(words, query) {
  let chosen = null, map = null, form = null, coverage = null, entry = null, lost = null, hint;
  let tasks = [], failures = [], overlay = 'share', level = '', drawing = false, timer, shown;
  const reading = h('p', {class: 'reading', id: 'reading'});

  function point(z, x, y) {
    let said = `Level ${z}, column ${x}, row ${y}`;
    const i = coverage ? cell_of(coverage, z, x, y) : -1;
    if (i >= 0) {
      const {cell: {tiles}} = coverage;
      said += `. Of ${tiles} × ${tiles} tiles ${words_of.share(coverage.share[i])} there` +
        (coverage.share[i] > 0 ? `, ${bytes(coverage.bytes[i])}, ${
          words_of.age(coverage.age[i])} old, ${words_of.heat(coverage.heat[i])}` : '');
    }
    const failure = failures.find((one) => one.z === z && one.x === x && one.y === y);
    reading.textContent = failure ? `${said}. Failed: ${failure.cause}` : said;
  }

  /** What a coverage does not tell may be there. */
  function is_there(z, x, y) {
    const i = coverage ? cell_of(coverage, z, x, y) : -1;
    return i < 0 || coverage.share[i] > 0;
  }

  async function load_coverage() {
    if (!entry || !map.width) {
      coverage = null;
      return;
    }
    const [west, south, east, north] = map.view();
    const [min_x, min_y, max_x, max_y] = chosen.set.bounds;
    const box = [Math.max(west, min_x), Math.max(south, min_y), Math.min(east, max_x),
      Math.min(north, max_y)];
    if (box[0] >= box[2] || box[1] >= box[3]) return;
    coverage = await read(
      address`coverage/${entry.id}/${map.level}.json?bbox=${box.join()}&cells=64`, 5);
    map.schedule();
  }

  function moved() {
    clearTimeout(timer);
    timer = setTimeout(() => load_coverage().then(draw).catch(() => {}), 200);
  }

  function over(context) {
    if (overlay && coverage) paint_cells(context, map, coverage, overlay);
    running().filter(({gridSetId}) => gridSetId === chosen.set.gridSetId)
      .forEach((task, i) => paint_task(context, map, task, i));
    for (const failure of failures) paint_failure(context, map, failure);
  }

  function start(usage) {
    chosen = choose(words, query, usage);
    if (!chosen) return;
    const grid = make_grid(chosen.set);
    map = make_map(grid, {tile: address_of(chosen), is_there, over, moved, pointed: point,
      selected(bounds) {
        form?.set_box(bounds);
        form?.set_levels(chosen.set.zoomStart, map.level);
        form?.focus();
      }});
    if (may('seed', chosen.layer.name) || may('truncate', chosen.layer.name)) {
      form = make_form(chosen.layer, chosen.set, chosen.format, chosen.parameters, map.select);
      const {zoomStart, zoomStop} = chosen.set;
      form.set_levels(zoomStart, Math.min(zoomStart + 4, zoomStop));
    }
    hint = chosen.layer.tiles ? '' : 'No location with TileSeedTiles shows this layer.';
  }

  async function load_again() {
    const again = task_number(query.get('again'));
    if (!again || !form || shown === again) return;
    shown = again;
    const task = await read(address`tasks/${again}.json`);
    form.set_box(task.bounds);
    form.set_levels(task.zoomStart, task.zoomStop);
    form.set_type(task.type);
    map.select(task.bounds);
  }

  async function load_failures() {
    const wanted = task_number(query.get('task'));
    const found = wanted ? [await read(address`tasks/${wanted}.json`)] : tasks;
    const task = failed_task(found, wanted, chosen);
    if (task && (task.id !== lost?.id || task.tilesFailed !== lost.tilesFailed)) {
      failures = task.tilesFailed
        ? (await read(address`tasks/${task.id}/failures.json?limit=1000`)).failures : [];
      map.schedule();
    }
    lost = task ?? null;
    if (!task) failures = [];
  }

  async function retry() {
    const headers = await write('POST', address`tasks/${lost.id}/retry`);
    say(`Task ${headers.get('TileSeed-Task')} retries the failures of task ${lost.id}.`);
    query.delete('task');
  }

  const running = () => tasks.filter(({state}) => state === 'RUNNING');

  return {
    title: 'Map',
    async load() {
      const usage = await read('diskquota/usage.json', entry ? 30 : 5);
      if (!chosen) start(usage);
      if (!chosen) return;
      this.title = `Map of ${chosen.layer.name}`;
      entry = entry_of(usage, chosen);
      const before = running().length;
      ({tasks} = await read(address`tasks.json?limit=20&layer=${chosen.layer.name}`));
      await load_coverage();
      await load_failures();
      await load_again();
      if (before || running().length) map.refresh();
    },
    draw() {
      if (!map) return [page.layers ? 'No layer is configured.' : ''];
      const {set} = chosen;
      const levels = [['', map.width ? `as seen: ${map.level}` : 'as seen']];
      for (let z = set.zoomStart; z <= set.zoomStop; z++) levels.push([String(z), `level ${z}`]);
      return [
        h('p', {class: 'buttons', key: 'choices'}, choices(chosen, query),
          select('Show', overlays, overlay, (value) => {
            overlay = value;
            map.schedule();
          }),
          select('Level', levels, level, (value) => {
            level = value;
            map.set_level(value === '' ? null : Number(value));
          })),
        h('div', {class: 'beside', key: 'beside'},
          h('div', {key: 'map'},
            h('p', {class: 'buttons', key: 'tools'},
              [['Zoom in', 2, '+'], ['Zoom out', 0.5, '−']].map(([label, factor, sign]) =>
                h('button', {type: 'button', 'aria-label': label,
                  onclick: () => map.zoom(factor)}, sign)),
              h('button', {type: 'button', onclick: () => map.show(set.bounds)}, 'All'),
              form && h('button', {type: 'button', 'aria-pressed': String(drawing), onclick: () => {
                drawing = !drawing;
                map.set_drawing(drawing);
                draw();
              }}, 'Draw a rectangle')),
            map.width && map.picture !== map.level && h('p', {class: 'help', key: 'scale'},
              `Level ${map.level} is too fine for this scale: ${map.picture === null
                ? 'zoom in to see pictures' : `the picture is of level ${map.picture}`}.`),
            map.canvas, reading,
            h('p', {id: 'map-keys', class: 'help', key: 'keys'}, 'Arrows move, + and − zoom, ' +
              'r begins a rectangle: arrows move it, Shift and arrows size it, Enter takes it, ' +
              'Escape drops it.'),
            hint && h('p', {class: 'help', key: 'hint'}, hint),
            entry && !entry.complete && h('p', {key: 'count'}, badge('being counted', 'work')),
            lost?.tilesFailed > 0 && h('p', {class: 'reason', key: 'lost'},
              badge('failures', 'bad'),
              ' ', h('a', {href: path('task', lost.id)}, `Task ${lost.id}`), ` failed at ${
                count(lost.tilesFailed)} tiles: ${failures[0]?.cause ?? ''} `,
              may('seed', chosen.layer.name) && lost.finished &&
              h('button', {type: 'button', onclick: attempt(retry)}, 'Retry the failures')),
            h('ul', {class: 'events', key: 'tasks'}, running().map((task) =>
              h('li', {key: task.id},
                h('a', {href: path('task', task.id)}, `${task.type} ${task.id}`), ' ',
                task_bar(task), ' ', timed(task.reason)))),
            entry && level_table(entry)),
          form && form.form),
      ];
    },
    close() {
      clearTimeout(timer);
      map?.close();
    },
  };
}

export const views = {map: map_view};
