import { type LastUsed, makeLastUsed } from '../../identity/last-used.ts';
import type { Host, Opened } from '../area.ts';
import { type DomainBook, makeDomainBook } from './engine/domains/book.ts';
import { type DkimKeys, makeKeyMaker } from './engine/domains/dkim-keys.ts';
import { touchKeys } from './store/send-keys.ts';

/** What email holds while its process runs. */
export interface OpenEmail {
  /** What every message asks of its domain. */
  domains: DomainBook;
  makeKeys: (org: string) => Promise<DkimKeys>;
  /** Of send keys, by their ids. */
  lastUsed: LastUsed;
}

export function openEmail({ app }: Host): Opened<OpenEmail> {
  const lastUsed = makeLastUsed(app, touchKeys);
  return {
    own: { domains: makeDomainBook(app), makeKeys: makeKeyMaker(), lastUsed },
    stop: lastUsed.stop,
  };
}
