// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: the mod_tileseed authors
// A map in the space of a grid set, and a rectangle that is drawn on it.
//
// Rows count from the bottom, as in the REST interface.
import {h} from './page.js';

const SEEN = 300; // pictures at once
const KEPT = 500; // pictures; more than are seen at once: else each one drawn asks for others anew

/** The arithmetic of a grid set of layers.json. */
export function make_grid(set) {
  const {corner, origin: [left, edge], resolutions, columns, rows} = set.grid;
  const levels = resolutions.map((resolution, z) => {
    const width = resolution * set.tileWidth, height = resolution * set.tileHeight;
    return {resolution, width, height, rows: rows[z], columns: columns[z], left,
      bottom: corner === 'top-left' ? edge - rows[z] * height : edge};
  });
  return {
    set, levels,
    /** Bounds of `side` tiles from a tile on. */
    bounds(z, x, y, side = 1) {
      const {left, bottom, width, height} = levels[z];
      return [left + x * width, bottom + y * height, left + (x + side) * width,
        bottom + (y + side) * height];
    },
    /** The tiles that touch bounds: [first column, first row, last column, last row]. */
    range(z, [west, south, east, north]) {
      const {left, bottom, width, height, rows, columns} = levels[z];
      const within = (value, most) => Math.min(Math.max(Math.floor(value), 0), most - 1);
      return [within((west - left) / width, columns), within((south - bottom) / height, rows),
        within((east - left) / width, columns), within((north - bottom) / height, rows)];
    },
    /** The level whose pixels are nearest to a resolution. */
    nearest(resolution) {
      let best = set.zoomStart;
      for (let z = set.zoomStart; z <= set.zoomStop; z++) {
        if (Math.abs(Math.log(levels[z].resolution / resolution)) <
            Math.abs(Math.log(levels[best].resolution / resolution))) best = z;
      }
      return best;
    },
  };
}

/** Pictures by address. After `renew` one that was not there is asked for once more, where
 * `is_there()`. */
function make_pictures(drawn) {
  const pictures = new Map();
  let turn = 0;
  return {
    get(address, is_there) {
      let picture = pictures.get(address);
      if (!picture || picture.complete && !picture.width && picture.turn !== turn && is_there()) {
        picture = new Image();
        picture.turn = turn;
        picture.onload = drawn;
        picture.src = address;
        pictures.set(address, picture);
        if (pictures.size > KEPT) pictures.delete(pictures.keys().next().value);
      }
      return picture;
    },
    renew() {
      turn++;
    },
  };
}

/** The map. hooks: tile(z, x, y) gives an address or null, is_there(z, x, y) tells whether it may
 * have a picture by now, over(context, map) draws over the tiles,
 * moved(), pointed(z, x, y), selected(bounds). */
export function make_map(grid, hooks) {
  const {set} = grid;
  const canvas = h('canvas', {tabindex: 0, role: 'application', class: 'map', id: 'map',
    'aria-label': `Map of ${set.gridSetId}`, 'aria-describedby': 'map-keys'});
  const context = canvas.getContext('2d');
  const [min_x, min_y, max_x, max_y] = set.bounds;
  let x = (min_x + max_x) / 2, y = (min_y + max_y) / 2, resolution = 0, width = 0, height = 0;
  let fixed = null, box = null, drawing = false, frame = 0;
  const pointers = new Map();

  const schedule = () => {
    frame ||= requestAnimationFrame(paint);
  };
  const pictures = make_pictures(schedule);

  /** How many tiles of a level are seen. */
  function seen(z) {
    const [first_x, first_y, last_x, last_y] = grid.range(z, map.view());
    return (last_x - first_x + 1) * (last_y - first_y + 1);
  }

  const map = {
    canvas, grid, get level() {
      return fixed ?? grid.nearest(resolution);
    },
    /** The level of the pictures: the chosen one, or a coarser one of which no more than `SEEN`
     * tiles are seen. null: the coarsest one has more. */
    get picture() {
      let z = seen(map.level) > SEEN ? grid.nearest(resolution) : map.level;
      while (z > set.zoomStart && seen(z) > SEEN) z--;
      return seen(z) > SEEN ? null : z;
    },
    get box() {
      return box;
    },
    get width() {
      return width;
    },
    get height() {
      return height;
    },
    view: () => [x - width * resolution / 2, y - height * resolution / 2,
      x + width * resolution / 2, y + height * resolution / 2],
    /** Bounds in pixels: [left, top, width, height]. */
    pixels: ([west, south, east, north]) => [(west - x) / resolution + width / 2,
      height / 2 - (north - y) / resolution, (east - west) / resolution,
      (north - south) / resolution],
    zoom(factor, at = [width / 2, height / 2]) {
      const finest = grid.levels[set.zoomStop].resolution / 4;
      const coarsest = Math.max((max_x - min_x) / 100, (max_y - min_y) / 100);
      const next = Math.min(Math.max(resolution / factor, finest), coarsest);
      x += (at[0] - width / 2) * (resolution - next);
      y -= (at[1] - height / 2) * (resolution - next);
      resolution = next;
      moved();
    },
    show([west, south, east, north]) {
      x = (west + east) / 2;
      y = (south + north) / 2;
      resolution = Math.max((east - west) / width, (north - south) / height) * 1.1 || resolution;
      moved();
    },
    set_level(level) {
      fixed = level;
      moved();
    },
    set_drawing(on) {
      drawing = on;
      canvas.classList.toggle('drawing', on);
    },
    select(bounds) {
      box = bounds;
      schedule();
    },
    refresh() {
      pictures.renew();
      schedule();
    },
    schedule,
    close: () => observer.disconnect(),
  };

  function moved() {
    const half_width = (max_x - min_x) / 2, half_height = (max_y - min_y) / 2;
    x = Math.min(Math.max(x, min_x - half_width / 9), max_x + half_width / 9);
    y = Math.min(Math.max(y, min_y - half_height / 9), max_y + half_height / 9);
    schedule();
    hooks.moved();
  }

  // ---- painting ----

  function paint_tiles() {
    const z = map.picture;
    if (z === null) return;
    const [first_x, first_y, last_x, last_y] = grid.range(z, map.view());
    for (let row = first_y; row <= last_y; row++) {
      for (let column = first_x; column <= last_x; column++) {
        const address = hooks.tile(z, column, row);
        const picture = address &&
          pictures.get(address, () => hooks.is_there(z, column, row));
        if (picture?.complete && picture.width) {
          context.drawImage(picture, ...map.pixels(grid.bounds(z, column, row)));
        }
      }
    }
  }

  function paint_box(colour) {
    if (!box) return;
    const [left, top, across, down] = map.pixels(box);
    context.lineWidth = 3;
    context.strokeStyle = colour;
    context.strokeRect(left, top, across, down);
    context.lineWidth = 1;
    context.strokeStyle = '#fff';
    context.strokeRect(left, top, across, down);
  }

  function paint() {
    frame = 0;
    const style = getComputedStyle(canvas);
    const scale = devicePixelRatio;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = style.backgroundColor;
    context.fillRect(0, 0, width, height);
    if (!resolution) return;
    paint_tiles();
    hooks.over(context, map);
    context.strokeStyle = style.color;
    context.lineWidth = 1;
    context.strokeRect(...map.pixels(set.bounds));
    paint_box(style.outlineColor);
  }

  // ---- mouse and fingers ----

  const place = (event) => [event.offsetX, event.offsetY];
  const ground = ([left, top]) => [x + (left - width / 2) * resolution,
    y - (top - height / 2) * resolution];
  let start = null;

  const clip = ([west, south, east, north]) => [Math.max(west, min_x), Math.max(south, min_y),
    Math.min(east, max_x), Math.min(north, max_y)];

  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    start = pointers.size === 1 && (drawing || event.shiftKey) ? ground(place(event)) : null;
  });
  canvas.addEventListener('pointermove', (event) => {
    const here = place(event), before = pointers.get(event.pointerId);
    const at = ground(here);
    const [column, row] = grid.range(map.level, [...at, ...at]);
    hooks.pointed(map.level, column, row);
    if (!before) return;
    pointers.set(event.pointerId, here);
    if (start) {
      map.select([Math.min(start[0], at[0]), Math.min(start[1], at[1]), Math.max(start[0], at[0]),
        Math.max(start[1], at[1])]);
      return;
    }
    x -= (here[0] - before[0]) * resolution / pointers.size;
    y += (here[1] - before[1]) * resolution / pointers.size;
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const far = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]);
      map.zoom(Math.max(far(here), 1) / Math.max(far(before), 1), here);
    }
    moved();
  });
  const lift = (event) => {
    pointers.delete(event.pointerId);
    if (!start) return;
    start = null;
    if (box && map.pixels(box)[2] > 3 && map.pixels(box)[3] > 3) {
      box = clip(box);
      hooks.selected(box);
    } else {
      map.select(null);
    }
  };
  canvas.addEventListener('pointerup', lift);
  canvas.addEventListener('pointercancel', lift);
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    map.zoom(2 ** (-event.deltaY / 240), place(event));
  }, {passive: false});

  // ---- keyboard ----

  let by_keys = false; // a rectangle is being drawn

  function arrow(key, resize) {
    const step = (by_keys ? 16 : 64) * resolution;
    const right = {ArrowLeft: -step, ArrowRight: step}[key] ?? 0;
    const up = {ArrowDown: -step, ArrowUp: step}[key] ?? 0;
    if (by_keys) {
      box = resize ? [box[0], box[1], Math.max(box[2] + right, box[0] + step / 2),
        Math.max(box[3] + up, box[1] + step / 2)]
        : [box[0] + right, box[1] + up, box[2] + right, box[3] + up];
      schedule();
    } else {
      x += right;
      y += up;
      moved();
    }
    const [column, row] = grid.range(map.level, [x, y, x, y]);
    hooks.pointed(map.level, column, row);
  }

  canvas.addEventListener('keydown', (event) => {
    const {key} = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key.startsWith('Arrow')) {
      arrow(key, event.shiftKey);
    } else if (key === '+' || key === '=') {
      map.zoom(2);
    } else if (key === '-') {
      map.zoom(0.5);
    } else if (key === 'r') {
      const [west, south, east, north] = map.view();
      by_keys = true;
      map.select(clip([west + (east - west) / 4, south + (north - south) / 4,
        east - (east - west) / 4, north - (north - south) / 4]));
    } else if (key === 'Enter' && by_keys) {
      by_keys = false;
      box = clip(box);
      hooks.selected(box);
    } else if (key === 'Escape' && by_keys) {
      by_keys = false;
      map.select(null);
    } else {
      return;
    }
    event.preventDefault();
  });

  const observer = new ResizeObserver(() => {
    const is_first = !width;
    width = canvas.clientWidth;
    height = canvas.clientHeight;
    if (is_first && width) {
      resolution = Math.max((max_x - min_x) / width, (max_y - min_y) / height) * 1.05;
      moved();
    }
    schedule();
  });
  observer.observe(canvas);
  return map;
}
