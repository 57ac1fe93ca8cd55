import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../app.ts';
import type { Config } from '../config.ts';

/** The node that stores the files of an upload in progress. With S3 every node reaches all of them. */
export const nodeOf = async (app: App): Promise<string> => (app.config.storage ? 's3' : readNodeId(app.config));

/**
 * The id of a data directory, created once. Processes that share the directory share the id. A machine whose host name changes with every
 * start still finds its own.
 */
export async function readNodeId({ data }: Pick<Config, 'data'>): Promise<string> {
  const file = join(data, 'node.id');
  const known = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (known !== undefined) return known.trim();
  // Written in full before it is linked: another process that starts now must not read half of it.
  const id = randomUUID();
  const fresh = `${file}.${id}`;
  await writeFile(fresh, id, { flag: 'wx', mode: 0o600 });
  await link(fresh, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(fresh, { force: true });
  return (await readFile(file, 'utf8')).trim();
}

/** The same, read once. A failed read is retried at the next call. */
export function memoizeNode(app: App): () => Promise<string> {
  let node: Promise<string> | undefined;
  return () =>
    (node ??= nodeOf(app).catch((error) => {
      node = undefined;
      throw error;
    }));
}
