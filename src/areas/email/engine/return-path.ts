import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import type { App } from '../../../kernel/app.ts';
import { findReturnPathKey } from '../store/return-path-key.ts';

/** Where reports about a recipient come back to: it names the recipient, and nobody else can make one up. */
export interface ReturnPaths {
  make(recipient: number, domain: string): string;
  /** The recipient that the local part of an address names; undefined when it is not one of ours. */
  read(local: string): number | undefined;
}

const place = 'email.return_path_key.sealed.true';

export async function openReturnPaths(app: App): Promise<ReturnPaths> {
  const sealed = await app.db.write((tx) => findReturnPathKey(tx, () => app.secrets.seal(randomBytes(32).toString('base64'), place)));
  const key = createSecretKey(Buffer.from(app.secrets.unseal(sealed, place), 'base64'));
  const mark = (id: string) => createHmac('sha256', key).update(id).digest().subarray(0, 10);
  return {
    make(recipient, domain) {
      const id = recipient.toString(36);
      return `b+${id}.${mark(id).toString('hex')}@bounce.${domain}`;
    },
    read(local) {
      const [, id, given] = /^b\+([0-9a-z]{1,11})\.([0-9a-f]{20})$/.exec(local.toLowerCase()) ?? [];
      if (!id || !given || !timingSafeEqual(Buffer.from(given, 'hex'), mark(id))) return undefined;
      return Number.parseInt(id, 36);
    },
  };
}
