import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import type { App } from '../../../../kernel/app.ts';
import { findReturnPathKey } from '../store/return-path-key.ts';

/** Return paths: addresses for reports about one recipient. Each names its recipient and is signed, so it cannot be forged. */
export interface ReturnPaths {
  make(recipient: number, messageId: string, domain: string): string;
  /** The recipient that a local part names; undefined if the signature is not ours. */
  read(local: string): ReturnPathTarget | undefined;
}

export interface ReturnPathTarget {
  recipient: number;
  /** Whether the return path was made for this message. Always true for return paths of an earlier release, which name no message. */
  isForMessage(messageId: string): boolean;
}

const sealContext = 'email.return_path_key.sealed.true';

/**
 * The random part of a message's id. After a restore, a recipient's number may be one that the lost server had given to another recipient: a report
 * about that one must not count for this one.
 */
const messageTagOf = (messageId: string) => messageId.slice(-8).toLowerCase();

export async function openReturnPaths(app: App): Promise<ReturnPaths> {
  const sealed = await app.db.write((tx) => findReturnPathKey(tx, () => app.secrets.seal(randomBytes(32).toString('base64'), sealContext)));
  const key = createSecretKey(Buffer.from(app.secrets.unseal(sealed, sealContext), 'base64'));
  const sign = (named: string) => createHmac('sha256', key).update(named).digest().subarray(0, 10);
  return {
    make(recipient, messageId, domain) {
      const named = `${recipient.toString(36)}.${messageTagOf(messageId)}`;
      return `b+${named}.${sign(named).toString('hex')}@bounce.${domain}`;
    },
    read(local) {
      const [, named, id, tag, given] = /^b\+(([0-9a-z]{1,11})(?:\.([0-9a-z]{8}))?)\.([0-9a-f]{20})$/.exec(local.toLowerCase()) ?? [];
      if (!named || !id || !given || !timingSafeEqual(Buffer.from(given, 'hex'), sign(named))) return undefined;
      return { recipient: Number.parseInt(id, 36), isForMessage: (messageId) => tag === undefined || tag === messageTagOf(messageId) };
    },
  };
}
