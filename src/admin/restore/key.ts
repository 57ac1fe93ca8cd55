import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { checkMark, type KeyRing, keyFile, opensCanary, readKeys, writeKeys } from '../../kernel/secrets.ts';
import { damaged, keyCopy, type Manifest, manifestFile, markFile, markPurpose, tableFile } from '../backup/manifest.ts';

/** The keys that belong to a backup, and what is still to do to have them here. */
export interface BackupKey {
  ring: KeyRing | undefined;
  place(): Promise<void>;
}

/** Decides before anything is touched whether the secrets of the backup can be opened here. */
export async function findBackupKey(directory: string, manifest: Manifest, dataDir: string): Promise<BackupKey> {
  const file = keyFile(dataDir);
  const canary = await canaryIn(directory, manifest);
  const here = await readKeys(file);
  if (!canary || (here && opensCanary(here, canary))) return { ring: here, place: async () => {} };
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
  return { ring: carried, place: () => writeKeys(file, carried) };
}

async function canaryIn(directory: string, manifest: Manifest): Promise<Buffer | undefined> {
  const table = manifest.tables.find((t) => t.schema === 'kernel' && t.name === 'canary');
  if (!table?.rows) return undefined;
  const fields = (await readFile(join(directory, tableFile(table)), 'utf8')).trimEnd().split('\t');
  const sealed = fields[table.columns.indexOf('sealed')];
  if (!sealed?.startsWith('\\\\x')) throw damaged(directory, 'its canary is not a sealed value');
  return Buffer.from(sealed.slice(3), 'hex');
}

/**
 * Checksums detect damage; the mark detects tampering, because it needs secret.key. A backup that carries its own key proves nothing
 * against its holder, unless the same key is here already.
 */
export async function requireMark(directory: string, ring: KeyRing | undefined): Promise<void> {
  const [manifest, mark] = await Promise.all([
    readFile(join(directory, manifestFile)),
    readFile(join(directory, markFile), 'utf8').catch(() => undefined),
  ]);
  const anyway = 'if you trust it all the same, restore with --unauthenticated';
  if (mark === undefined || !ring)
    throw new Stop(exitCodes.backup, `nothing shows that the backup in ${directory} is as it was made: it has no ${markFile}; ${anyway}`);
  const found = checkMark(ring, manifest, markPurpose, mark.trimEnd());
  if (found === 'unknown')
    throw new Stop(
      exitCodes.secretKey,
      `the backup in ${directory} was made with a key that secret.key no longer holds: put the secret.key of that time there; ${anyway}`,
    );
  if (found === 'bad')
    throw new Stop(exitCodes.backup, `the backup in ${directory} was changed after it was made: ${markFile} does not fit; use another one`);
}
