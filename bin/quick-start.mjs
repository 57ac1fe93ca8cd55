// Loaded before anything else, by hand-over.mjs. A start is mostly imports: seven thousand of them, of two thousand files.
import { createHook } from 'node:async_hooks';
import { registerHooks } from 'node:module';

const root = new URL('..', import.meta.url).href;
const packages = new URL('node_modules/', root).href;

/** Every file of ours is an ES module, whatever package.json somebody has above it. */
const formats = new Map([
  ['.ts', 'module-typescript'],
  ['.js', 'module'],
  ['.mjs', 'module'],
]);
const isOurs = (url) => url?.startsWith(root) && !url.startsWith(packages);
const endingOf = (specifier) => specifier.slice(specifier.lastIndexOf('.'));

/** Packages by the name under which our files import them: the same for all, since nothing of ours stands below a node_modules of its own. */
const found = new Map();

// Node asks the disk at each import whether the file is there, where it really is and of which format. Our imports name files in full,
// so the answer is known without asking: a fifth of a start.
registerHooks({
  resolve(specifier, context, resolveNext) {
    if (specifier.startsWith('node:')) return { url: specifier, format: 'builtin', shortCircuit: true };
    const { parentURL, conditions } = context;
    if (specifier.startsWith('.')) {
      // Of others only where the ending alone says the format; TypeBox is five hundred such files.
      const format = isOurs(parentURL) || specifier.endsWith('.mjs') ? formats.get(endingOf(specifier)) : undefined;
      if (format) return { url: new URL(specifier, parentURL).href, format, shortCircuit: true };
    } else if (isOurs(parentURL) && conditions.includes('import')) {
      const known = found.get(specifier);
      if (known) return known;
      const { url, format } = resolveNext(specifier, context);
      found.set(specifier, { url, format, shortCircuit: true });
    }
    return resolveNext(specifier, context);
  },
});

// Importing node:http evaluates everything that it exports, and these three load the whole of undici: 7 MiB and 40 ms that no import here
// uses. `fetch` and the global WebSocket load it when they are used.
const http = process.getBuiltinModule('node:http');
for (const name of ['WebSocket', 'CloseEvent', 'MessageEvent']) delete http[name];

/**
 * One of the objects that node makes for every `process.nextTick`, kept for as long as the process lives. V8 forgets an object's shape at a
 * collection that finds no such object alive, and never again makes them the quick way after that: a tick, of which a request has four,
 * took 1.1 to 1.6 µs instead of 0.25. The imports of a start are enough for such a collection.
 */
export let keptTick;
const ticks = createHook({
  init: (_id, type, _by, tick) => {
    if (type === 'TickObject') keptTick = tick;
  },
}).enable();
process.nextTick(() => {});
ticks.disable();
