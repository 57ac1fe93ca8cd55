import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { originOf } from '../origin.ts';

/** A thing that this command line made: what `@last` means. Ids and names only, never a secret. */
export interface LastThing {
  id: string;
  name?: string;
}

/** By server, organization and user, then by the word for the kind. The newest place stands last. */
type Places = Record<string, Record<string, LastThing>>;

const maxPlaces = 50;

/** Below the user's state directory; without a home nothing is kept. */
function stateFolder(env: NodeJS.ProcessEnv): string | undefined {
  const base = env['XDG_STATE_HOME'] || (env['HOME'] && join(env['HOME'], '.local', 'state')) || env['LOCALAPPDATA'];
  return base ? join(base, 'quarterdeck') : undefined;
}

/** `caller` names the organization and the user, so that colleagues at one machine do not act on each other's things. */
const placeOf = (url: string, caller: string) => `${originOf(url)} ${caller}`;

export function readLast(env: NodeJS.ProcessEnv, url: string, caller: string, word: string): LastThing | undefined {
  const folder = stateFolder(env);
  const last = folder ? readPlaces(join(folder, 'last.json'))[placeOf(url, caller)]?.[word] : undefined;
  return typeof last?.id === 'string' ? last : undefined;
}

/** Another process may write at the same time: the file is replaced as a whole, so a reader sees one of both. */
export function keepLast(env: NodeJS.ProcessEnv, url: string, caller: string, word: string, made: LastThing): void {
  const folder = stateFolder(env);
  if (!folder) return;
  const temporary = join(folder, `last.json.${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const places = readPlaces(join(folder, 'last.json'));
    const place = placeOf(url, caller);
    const { [place]: known, ...others } = places;
    const kept = [...Object.entries(others), [place, { ...known, [word]: made }] as const].slice(-maxPlaces);
    writeFileSync(temporary, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`, { mode: 0o600 });
    renameSync(temporary, join(folder, 'last.json'));
  } catch {
    // A read-only home costs @last, not the command.
    rmSync(temporary, { force: true });
  }
}

function readPlaces(file: string): Places {
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof read === 'object' && read !== null && !Array.isArray(read) ? (read as Places) : {};
  } catch {
    return {};
  }
}
