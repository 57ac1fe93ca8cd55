import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../app.ts';
import type { Config } from '../config.ts';

/** On which machine the files of an upload in progress are. With S3 everybody reaches all. */
export const nodeOf = async (app: App): Promise<string> => (app.config.storage ? 's3' : readNodeId(app.config));

/** The name of a data directory, made once. Processes that share the directory share it; a machine whose host name changes with every
 *  start still finds its own. */
export async function readNodeId({ data }: Pick<Config, 'data'>): Promise<string> {
  const file = join(data, 'node.id');
  const known = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (known !== undefined) return known.trim();
  // Whole before it has its name: another process that starts now must not read half of it.
  const id = randomUUID();
  const fresh = `${file}.${id}`;
  await writeFile(fresh, id, { flag: 'wx', mode: 0o600 });
  await link(fresh, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(fresh, { force: true });
  return (await readFile(file, 'utf8')).trim();
}

/** The same, read once; asked for again after a failure. */
export function rememberNode(app: App): () => Promise<string> {
  let node: Promise<string> | undefined;
  return () =>
    (node ??= nodeOf(app).catch((error) => {
      node = undefined;
      throw error;
    }));
}
