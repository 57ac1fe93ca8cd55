import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../../../kernel/app.ts';

/** Whose files uploads in progress are in: the data directory's own name, made once. Processes that share the directory share them;
 *  a machine whose host name changes with every start still finds its own. With S3 everybody reaches all. */
export async function nodeOf(app: App): Promise<string> {
  if (app.config.storage) return 's3';
  const file = join(app.config.data, 'node.id');
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
