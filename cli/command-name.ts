import { basename, delimiter, dirname, relative } from 'node:path';

/**
 * How this program is typed here, for commands that are shown to be typed next. A clone is not on the PATH: there it is `./quarterdeck`.
 * Everything else is called by its plain name.
 */
export function nameTyped(script: string | undefined, cwd: string, env: NodeJS.ProcessEnv): string {
  const plain = 'quarterdeck';
  if (!script || basename(script) !== plain || env['PATH']?.split(delimiter).includes(dirname(script))) return plain;
  // An installed package is started by a link elsewhere.
  if (!import.meta.filename?.endsWith('.ts')) return plain;
  const path = relative(cwd, script);
  // So far away the whole path is easier to read. A path that a shell would split is not shown.
  if (path.startsWith('../../')) return /^[\w./+-]+$/.test(script) ? script : plain;
  return path.startsWith('..') ? path : `./${path}`;
}

// bin/hand-over.mjs starts src/main.ts on another Node and hands the typed name over as argv[0].
const scripts = [process.argv0, process.argv[1]];
export const commandName = nameTyped(
  scripts.find((path) => path && basename(path) === 'quarterdeck'),
  process.cwd(),
  process.env,
);
