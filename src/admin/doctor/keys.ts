import { readFile, stat } from 'node:fs/promises';
import type pg from 'pg';
import { lastsFor } from '../../areas/tokens/index.ts';
import { ownerTokenFile } from '../../boot/first-start.ts';
import { hashKey, kindOf } from '../../identity/token-format.ts';
import { txOn } from '../../kernel/db/index.ts';
import { Stop } from '../../kernel/errors.ts';
import { type KeyRing, keyFile, opensCanary, readKeys } from '../../kernel/secrets.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

const othersMay = async (file: string): Promise<boolean> => ((await stat(file)).mode & 0o077) !== 0;

export async function checkKey(client: pg.Client | undefined, dataDir: string): Promise<Finding[]> {
  const file = keyFile(dataDir);
  let ring: KeyRing | undefined;
  try {
    ring = await readKeys(file);
  } catch (error) {
    if (error instanceof Stop) return [fail('secret.key', error.message)];
    throw error;
  }
  const canary = await canaryOf(client);
  if (!ring) {
    if (canary)
      return [
        fail('secret.key', `${file} is missing and the database holds secrets sealed with it; put it back from where you keep a copy`),
      ];
    return [ok('secret.key', 'none yet; the first start makes it')];
  }
  const found: Finding[] = [];
  if (await othersMay(file)) found.push(fail('secret.key', `others may read or write ${file}; run: chmod 600 ${file}`));
  if (canary && !opensCanary(ring, canary))
    found.push(fail('secret.key', `${file} does not open the secrets of this database; put the right file back`));
  if (ring.keys.length > 1)
    found.push(
      warn(
        'secret.key',
        `${file} holds ${ring.keys.length} keys; once a rotation is done, \`quarterdeck admin rotate-key --step drop\` takes the old ones out`,
      ),
    );
  return found.length
    ? found
    : [ok('secret.key', canary ? 'opens the secrets of this database; keep a copy of it apart from the backups' : 'is readable')];
}

async function canaryOf(client: pg.Client | undefined): Promise<Buffer | undefined> {
  if (!client) return undefined;
  const { rows: there } = await client.query<{ there: boolean }>(`select to_regclass('kernel.canary') is not null as there`);
  if (!there[0]!.there) return undefined;
  return (await client.query<{ sealed: Buffer }>('select sealed from kernel.canary')).rows[0]?.sealed;
}

export async function checkOwnerToken(client: pg.Client | undefined, dataDir: string): Promise<Finding> {
  const file = ownerTokenFile(dataDir);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return ok('owner.token', 'none here; `quarterdeck admin token` mints one when it is needed');
  if (await othersMay(file)) return fail('owner.token', `others may read ${file}, which is a token of the owner; run: chmod 600 ${file}`);
  const key = text.trim();
  const live = kindOf(key) === 'pat' && (!client || (await isLive(client, key)));
  return live
    ? ok('owner.token', 'is readable by you alone')
    : warn('owner.token', `${file} is not a living token; delete it, and the next start mints a new one`);
}

async function isLive(client: pg.Client, key: string): Promise<boolean> {
  const { rows: there } = await client.query<{ there: boolean }>(`select to_regclass('identity.token') is not null as there`);
  if (!there[0]!.there) return false;
  return lastsFor(txOn(client), hashKey(key), 0);
}
