import type pg from 'pg';
import type { Sealed } from '../../areas/area.ts';
import { audit, operator } from '../../identity/audit.ts';
import type { Connection, Db } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import {
  type KeyRing,
  keepOnlySealingKey,
  keyFile,
  keyIdOf,
  openRing,
  registerSealingKey,
  resealCanary,
  writeKeys,
} from '../../kernel/secrets.ts';
import { connectFor } from '../backup/connection.ts';
import { installation } from '../organization.ts';
import { columnSealedWith } from './find-sealed.ts';
import { requireHolders } from './holders.ts';
import { resealColumn, waitForWriters } from './reseal.ts';
import { type RotationStage, rotationStageOf, type Step, withNewestFirst, withNewKey, withoutOld } from './ring.ts';
import { canaryOf } from './store.ts';

export interface Rotation {
  db: Db;
  connection: Connection;
  dataDir: string;
  sealed: readonly Sealed[];
  /** Until every server has read the key file again. */
  settle(): Promise<void>;
  /** How long a step waits for servers that have not read the file yet. */
  timeoutMs?: number;
  say(sentence: string): void;
}

const rotationLock = 7_203_114_504;

/** All steps that are left, each of which may be the last one before a kill; the next run goes on with the one after it. */
export const rotateKey = (r: Rotation, { dropOld = false } = {}): Promise<void> =>
  withRotationLock(r, async (client) => {
    const began = await readStage(r);
    if (began !== 'settled') r.say(`going on with a rotation that was interrupted (its key is ${began})`);
    if (began === 'settled') await add(r);
    if (began !== 'promoted') {
      await r.settle();
      await promote(r);
    }
    await r.settle();
    await reseal(r);
    if (dropOld) await drop(r, client);
  });

/** One step alone, for installations of several machines, whose key files the operator copies between two steps. */
export const rotateStep = (r: Rotation, step: Step): Promise<void> =>
  withRotationLock(r, async (client) => {
    const needed: Record<Step, RotationStage[]> = {
      add: ['settled'],
      promote: ['added'],
      reseal: ['promoted', 'settled'],
      drop: ['settled'],
    };
    const found = await readStage(r);
    if (!needed[step].includes(found)) throw new Stop(exitCodes.refused, `the step ${step} is not next: ${next[found]}`);
    await { add, promote, reseal, drop }[step](r, client);
  });

const next: Record<RotationStage, string> = {
  settled: 'no rotation is under way, so the next is add',
  added: 'a key was added, so copy secret.key to every machine and go on with promote',
  promoted: 'the new key seals already, so copy secret.key to every machine and go on with reseal',
};

const read = (r: Rotation): Promise<KeyRing> => r.db.write((tx) => openRing(tx, r.dataDir));

async function readStage(r: Rotation): Promise<RotationStage> {
  const ring = await read(r);
  return rotationStageOf(ring, keyIdOf(await r.db.read(canaryOf)));
}

const change = async (r: Rotation, to: (ring: KeyRing) => KeyRing): Promise<KeyRing> => {
  const ring = to(await read(r));
  await writeKeys(keyFile(r.dataDir), ring);
  return ring;
};

/** Behind the others: everybody can open with it before anybody seals with it. */
async function add(r: Rotation) {
  const ring = await change(r, withNewKey);
  r.say(`added the key ${ring.keys.at(-1)!.id}; it opens, and does not seal yet`);
}

async function promote(r: Rotation) {
  const next = withNewestFirst(await read(r)).keys[0]!.id;
  await requireHolders(r, next, 'promote');
  await r.db.write((tx) => registerSealingKey(tx, next));
  const ring = await change(r, withNewestFirst);
  r.say(`${ring.keys[0]!.id} seals from now on`);
}

/** The canary last: while it is sealed with an old key, the rotation is known to be unfinished. */
async function reseal(r: Rotation) {
  const ring = await read(r);
  await requireHolders(r, ring.keys[0]!.id, 'reseal');
  await waitForWriters(r.db);
  let count = 0;
  for (const where of r.sealed) count += await resealColumn(r.db, ring, where);
  await r.db.write(async (tx) => {
    await resealCanary(tx, ring);
    await audit(tx, operator(installation), 'installation.key.rotate', { id: ring.keys[0]!.id }, { values: count });
  });
  r.say(`sealed ${count} values anew with ${ring.keys[0]!.id}`);
}

async function drop(r: Rotation, client: pg.Client) {
  const ring = await read(r);
  await waitForWriters(r.db);
  const old = ring.keys.slice(1).map((key) => key.id);
  if (!old.length) return r.say('there is no old key to drop');
  await requireHolders(r, ring.keys[0]!.id, 'drop');
  const used = await columnSealedWith(client, old);
  if (used) throw stillUsed(used, r.sealed);
  await r.db.write(async (tx) => {
    await keepOnlySealingKey(tx, ring.keys[0]!.id);
    await audit(tx, operator(installation), 'installation.key.drop', { id: ring.keys[0]!.id }, { dropped: old });
  });
  await writeKeys(keyFile(r.dataDir), withoutOld(ring));
  r.say(
    `dropped ${old.join(', ')}; links that were sent out sealed with it are void, and backups made before need the key file of their time`,
  );
}

function stillUsed(where: string, sealed: readonly Sealed[]): Stop {
  const declared = sealed.some(({ table, column }) => `${table}.${column}` === where);
  const then = declared
    ? '; run `quarterdeck admin rotate-key --step reseal` first'
    : ', and nothing is known of how to seal them anew; the old key must stay';
  return new Stop(exitCodes.refused, `values of ${where} are sealed with an old key${then}`);
}

/** Two rotations at once would each write the file without the other's key. */
async function withRotationLock<T>({ connection }: Rotation, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectFor('rotate-key', connection);
  try {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [rotationLock]);
    if (!rows[0]!.locked) throw new Stop(exitCodes.refused, 'another `quarterdeck admin rotate-key` is under way; let it end first');
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}
