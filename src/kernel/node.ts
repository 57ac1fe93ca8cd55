import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from './app.ts';
import type { Config } from './config.ts';

/** On which machine the files of an upload in progress are. With S3 everybody reaches all. */
export const nodeOf = async (app: App): Promise<string> => (app.config.storage ? 's3' : readNodeId(app.config));

/** The name of a data directory, made once. Processes that share the directory share it; a machine whose host name changes with every
 *  start still finds its own. */
export async function readNodeId({ data }: Pick<Config, 'data'>): Promise<string> {
  const file = join(data, 'node.id');
  await writeFile(file, randomUUID(), { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
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
