import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Compile } from 'typebox/schema';
import type { Logger } from '../../../kernel/log.ts';
import { Assignment, bufferHours } from '../../../protocols/agent.ts';

/** What a prober resumes with when it starts while its server is away. */
export interface SavedState {
  readonly vantage: string;
  readonly userAgent: string;
  /** The newest number that a batch was given. */
  readonly seq: number;
  /** By the wall clock: state that is too old is not resumed. */
  readonly savedAt: number;
  readonly assignments: readonly Assignment[];
}

/** The prober's saved state: a file readable by its user alone, sealed under a key derived from its token. */
export interface StateStore {
  read(now: number): Promise<SavedState | undefined>;
  write(known: SavedState): Promise<void>;
  forget(): Promise<void>;
}

/** A server's own prober ends with its server, so it saves no state. */
export const noStateStore: StateStore = { read: async () => undefined, write: async () => {}, forget: async () => {} };

const maxBytes = 64 * 2 ** 20;
const nonceBytes = 12;
const tagBytes = 16;
const algorithm = 'aes-256-gcm';
const associatedData = Buffer.from('quarterdeck prober known 1');

const pack = promisify(gzip);
const unpack = promisify(gunzip);
const isAssignment = Compile(Assignment);

export function makeStateStore({ dir, token, log }: { dir: string; token: string; log: Logger }): StateStore {
  const path = join(dir, 'known.sealed');
  const key = Buffer.from(hkdfSync('sha256', token, '', associatedData, 32));
  return {
    async read(now) {
      const sealed = await readFile(path).catch(() => undefined);
      if (sealed === undefined) return undefined;
      try {
        return stillUsable(
          JSON.parse((await unpack(unsealed(key, sealed), { maxOutputLength: maxBytes })).toString('utf8')) as SavedState,
          now,
        );
      } catch (err) {
        log.warn({ err }, 'what this prober knew cannot be read: it is damaged, or of another token; the server is waited for');
        return undefined;
      }
    },
    async write(known) {
      const text = JSON.stringify(known);
      if (text.length > maxBytes) {
        log.warn(
          { bytes: text.length },
          'what this prober knows is too much to be kept; should it start while the server is away, it waits',
        );
        return rm(path, { force: true });
      }
      await replaceFile(path, sealedWith(key, await pack(text, { level: 1 })));
    },
    forget: () => rm(path, { force: true }),
  };
}

/** The part of the saved state that can still be used. */
function stillUsable(known: SavedState, now: number): SavedState | undefined {
  const age = now - known.savedAt;
  if (age > bufferHours * 3_600_000 || age < -3_600_000) return undefined;
  return { ...known, assignments: known.assignments.filter((each) => isAssignment.Check(each)) };
}

function sealedWith(key: Buffer, content: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(associatedData);
  const sealed = Buffer.concat([cipher.update(content), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

function unsealed(key: Buffer, sealed: Buffer): Buffer {
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(associatedData);
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]);
}

/** Whole or not at all, and readable by this user alone. */
export async function replaceFile(path: string, content: string | Buffer): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(content);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}
