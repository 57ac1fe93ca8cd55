import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { type KeyRing, keyFile, opensCanary, readKeys, writeKeys } from '../../kernel/secrets.ts';
import { damaged, keyCopy, type Manifest, tableFile } from '../backup/manifest.ts';

/** Decides before anything is touched whether the secrets of the backup can be opened here; gives what is still to do for it. */
export async function settleKey(directory: string, manifest: Manifest, dataDir: string): Promise<() => Promise<void>> {
  const file = keyFile(dataDir);
  const canary = await canaryIn(directory, manifest);
  const here = await readKeys(file);
  if (!canary || (here && opensCanary(here, canary))) return async () => {};
  if (here) {
    throw new Stop(
      exitCodes.secretKey,
      `${file} is not the key of this backup: move it away (it may belong to another database), put the right one there, and restore again`,
    );
  }
  const carried: KeyRing | undefined = manifest.key ? await readKeys(join(directory, keyCopy)) : undefined;
  if (!carried) {
    throw new Stop(
      exitCodes.secretKey,
      `the backup holds no secret.key, and ${file} is missing: copy the secret.key of the server that was backed up there, then restore again; without it every sealed secret is lost`,
    );
  }
  if (!opensCanary(carried, canary)) throw damaged(directory, `its ${keyCopy} does not open its secrets`);
  return () => writeKeys(file, carried);
}

async function canaryIn(directory: string, manifest: Manifest): Promise<Buffer | undefined> {
  const table = manifest.tables.find((t) => t.schema === 'kernel' && t.name === 'canary');
  if (!table?.rows) return undefined;
  const fields = (await readFile(join(directory, tableFile(table)), 'utf8')).trimEnd().split('\t');
  const sealed = fields[table.columns.indexOf('sealed')];
  if (!sealed?.startsWith('\\\\x')) throw damaged(directory, 'its canary is not a sealed value');
  return Buffer.from(sealed.slice(3), 'hex');
}
