import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { unwatchFile, watchFile } from 'node:fs';
import { chmod, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import Type from 'typebox';
import { row, rows, run, type Tx } from './db/index.ts';
import { exitCodes, Stop } from './errors.ts';

// Secrets that must be used again are sealed with AES-256-GCM. The key file is a list `id:base64`, one a line: the first key seals, all
// open. A sealed value carries its key's id, and is bound to its position: `schema.table.column.row`.

export interface KeyRing {
  keys: { id: string; key: Buffer }[];
}

/** Seals with the current keys of the file: a rotation in another process is picked up without a restart. */
export interface Secrets {
  seal(plain: string, where: string): Buffer;
  unseal(sealed: Buffer, where: string): string;
  close(): void;
}

export function makeSecrets(dataDir: string, first: KeyRing, onRead: (ring: KeyRing) => void = () => {}): Secrets {
  let ring = first;
  const file = keyFile(dataDir);
  const follow = async () => {
    // A damaged file is reported at the next start; until then the loaded keys stay in use.
    ring = (await readKeys(file).catch(() => undefined)) ?? ring;
    onRead(ring);
  };
  watchFile(file, { interval: 1_000, persistent: false }, follow);
  // The watcher would miss a change between the reading of `first` and its own first check.
  const once = setTimeout(follow, 1_000).unref();
  return {
    seal: (plain, where) => seal(ring, plain, where),
    unseal: (sealed, where) => unseal(ring, sealed, where).toString(),
    close: () => {
      clearTimeout(once);
      unwatchFile(file, follow);
    },
  };
}

export const keyFile = (dataDir: string) => join(dataDir, 'secret.key');
export const newKey = () => ({ id: randomBytes(4).toString('hex'), key: randomBytes(32) });
const version = 1;

/** version ‖ id length ‖ id ‖ 12 bytes of nonce ‖ 16 bytes of tag ‖ ciphertext */
export function seal(ring: KeyRing, plain: string | Buffer, where: string): Buffer {
  const { id, key } = ring.keys[0]!;
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(where));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.from([version, id.length]), Buffer.from(id), nonce, cipher.getAuthTag(), body]);
}

export function unseal(ring: KeyRing, sealed: Buffer, where: string): Buffer {
  const { id, rest } = split(sealed);
  const key = ring.keys.find((k) => k.id === id)?.key;
  if (!key) throw new Error(`${where} is sealed with key ${id}, which secret.key does not hold`);
  const decipher = createDecipheriv('aes-256-gcm', key, rest.subarray(0, 12)).setAAD(Buffer.from(where)).setAuthTag(rest.subarray(12, 28));
  return Buffer.concat([decipher.update(rest.subarray(28)), decipher.final()]);
}

/** The prefix of every value sealed with this key. */
export const sealedBy = (id: string): Buffer => Buffer.from([version, id.length, ...Buffer.from(id)]);

/** The id of the key that sealed a value. */
export const keyIdOf = (sealed: Buffer): string => split(sealed).id;

function split(sealed: Buffer) {
  if (sealed[0] !== version) throw new Error('not a sealed value of this release');
  const end = 2 + sealed[1]!;
  return { id: sealed.subarray(2, end).toString(), rest: sealed.subarray(end) };
}

/** `key id, a space, HMAC-SHA256 in hex`, with a derived key for each purpose. */
export function authenticate(ring: KeyRing, text: Buffer | string, purpose: string): string {
  const { id, key } = ring.keys[0]!;
  return `${id} ${macOf(key, text, purpose).toString('hex')}`;
}

/** Whether one of these keys made the HMAC; `unknown` when it names a key that is not here. */
export function checkMark(ring: KeyRing, text: Buffer | string, purpose: string, mark: string): 'good' | 'bad' | 'unknown' {
  const [, id, hex] = /^([0-9a-z]{1,32}) ([0-9a-f]{64})$/.exec(mark) ?? [];
  if (!id || !hex) return 'bad';
  const key = ring.keys.find((k) => k.id === id)?.key;
  if (!key) return 'unknown';
  return timingSafeEqual(macOf(key, text, purpose), Buffer.from(hex, 'hex')) ? 'good' : 'bad';
}

const macOf = (key: Buffer, text: Buffer | string, purpose: string): Buffer =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', key, '', purpose, 32)))
    .update(text)
    .digest();

export async function readKeys(file: string): Promise<KeyRing | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Stop(exitCodes.secretKey, `${file} cannot be read: ${error.code}`);
  });
  if (text === undefined) return undefined;
  const keys = text
    .split('\n')
    .filter((line) => line.trim())
    .map((line) => {
      const [id = '', encoded = ''] = line.trim().split(':');
      const key = Buffer.from(encoded, 'base64');
      if (!/^[0-9a-z]{1,32}$/.test(id) || key.length !== 32)
        throw new Stop(exitCodes.secretKey, `${file} is damaged: each line must be id:base64 of 32 bytes; restore it from a backup`);
      return { id, key };
    });
  if (!keys.length) throw new Stop(exitCodes.secretKey, `${file} is empty; restore it from a backup`);
  return { keys };
}

/** On disk before anything is sealed with it, and never half-written. */
export async function writeKeys(file: string, ring: KeyRing): Promise<void> {
  const fresh = `${file}.new`;
  const handle = await open(fresh, 'w', 0o600);
  try {
    await handle.writeFile(`${ring.keys.map(({ id, key }) => `${id}:${key.toString('base64')}`).join('\n')}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await chmod(fresh, 0o600);
  await rename(fresh, file);
  const folder = await open(dirname(file), 'r');
  await folder.sync().finally(() => folder.close());
}

const CanaryRow = Type.Object({ sealed: Type.Unsafe<Buffer>({}) });
const canaryPosition = 'kernel.canary.sealed.only';

export function opensCanary(ring: KeyRing, sealed: Buffer): boolean {
  try {
    return unseal(ring, sealed, canaryPosition).toString() === 'canary';
  } catch {
    return false;
  }
}

/**
 * A sealed canary shows at the start whether this key file belongs to this database: sealing with another key would lose the existing
 * secrets.
 */
export async function openRing(tx: Tx, dataDir: string): Promise<KeyRing> {
  const file = keyFile(dataDir);
  const canary = await row(tx, CanaryRow)`select sealed from kernel.canary for update`;
  let ring = await readKeys(file);
  if (!canary) {
    if (!ring) {
      ring = { keys: [newKey()] };
      await writeKeys(file, ring);
    }
    await run(tx)`insert into kernel.canary (sealed) values (${seal(ring, 'canary', canaryPosition)})`;
    await registerSealingKey(tx, ring.keys[0]!.id);
    return ring;
  }
  const lost =
    'every sealed secret (webhook signing secrets, provider and upstream passwords, credentials of monitors, DKIM keys) would be lost';
  if (!ring)
    throw new Stop(
      exitCodes.secretKey,
      `${file} is missing, and the database holds secrets sealed with it: copy it from another server, or restore the file from a backup; without it ${lost}`,
    );
  await requireKeysInUse(tx, file, ring, keyIdOf(canary.sealed));
  if (!opensCanary(ring, canary.sealed)) {
    throw new Stop(
      exitCodes.secretKey,
      `${file} is not the key of this database: put the right file back, or copy it from another server; with this one ${lost}`,
    );
  }
  return ring;
}

const SealingRow = Type.Object({ id: Type.String() });

/**
 * A server seals with the first key of its file. It starts only if it can open the values of every other server, and if its own first key
 * is still in use: other servers could not open values sealed with a dropped key.
 */
async function requireKeysInUse(tx: Tx, file: string, ring: KeyRing, canaryKey: string): Promise<void> {
  const inUse = (await rows(tx, SealingRow)`select id from kernel.sealing_key order by since_at, id`).map(({ id }) => id);
  const needed = [...inUse, canaryKey];
  const isHere = (id: string) => ring.keys.some((key) => key.id === id);
  if (!needed.some(isHere)) return; // of another database; the caller reports that
  const missing = needed.find((id) => !isHere(id));
  if (missing !== undefined)
    throw new Stop(
      exitCodes.secretKey,
      `${file} lacks the key ${missing}, with which this installation seals: copy it from another server`,
    );
  const head = ring.keys[0]!.id;
  if (inUse.length > 0 && !inUse.includes(head))
    throw new Stop(
      exitCodes.secretKey,
      `${file} seals with the key ${head}, which this installation has dropped: copy it from another server`,
    );
  await registerSealingKey(tx, head);
}

/** Before the first value is sealed with it: from then on a server without the key is refused. */
export const registerSealingKey = (tx: Tx, keyId: string) =>
  run(tx)`insert into kernel.sealing_key (id, since_at) values (${keyId}, kernel.now()) on conflict (id) do nothing`;

/** From now on only this key seals. */
export const keepOnlySealingKey = (tx: Tx, keptId: string) => run(tx)`delete from kernel.sealing_key where id <> ${keptId}`;

export const resealCanary = (tx: Tx, ring: KeyRing) => run(tx)`update kernel.canary set sealed = ${seal(ring, 'canary', canaryPosition)}`;
