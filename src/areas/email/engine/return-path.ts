import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import type { App } from '../../../kernel/app.ts';
import { findReturnPathKey } from '../store/return-path-key.ts';

/** Where reports about a recipient come back to: it names the recipient, and nobody else can make one up. */
export interface ReturnPaths {
  make(recipient: number, messageId: string, domain: string): string;
  /** The recipient that the local part of an address names; undefined when it is not one of ours. */
  read(local: string): ReturnPathTarget | undefined;
}

export interface ReturnPathTarget {
  recipient: number;
  /** Whether this is the message that the recipient was sent. Always, for a return path of an earlier release, which says nothing of it. */
  isForMessage(messageId: string): boolean;
}

const sealContext = 'email.return_path_key.sealed.true';

/**
 * The random part of a message's id. After a restore the number of a recipient may be one that the lost server gave to somebody else: a report about
 * that one must not be taken for this one's.
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
