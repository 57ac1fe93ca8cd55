import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { App } from '../../../../kernel/app.ts';
import { topics } from '../../rules/topics.ts';
import * as store from '../store/domains.ts';

export interface SigningKeys {
  /** The `d=` tag. */
  domain: string;
  rsa: { selector: string; key: KeyObject };
  ed: { selector: string; key: KeyObject };
}

/** Caches what each message needs of its domain: no statement unless the domain changed. */
export interface DomainCache {
  /** By name in lower-case ASCII. Undefined: the domain is not the organization's, or not one of the key's. */
  findSendable(org: string, domainIds: readonly string[], name: string): Promise<store.SendableRow | undefined>;
  /** Undefined: the domain was deleted. */
  signingKeys(domainId: string): Promise<SigningKeys | undefined>;
}

export function makeDomainCache({ db, caches, secrets }: Pick<App, 'db' | 'caches' | 'secrets'>): DomainCache {
  const byName = caches.make<store.SendableRow>({ max: 20_000 });
  // A key pair takes some kilobytes, most of them outside the heap.
  const keys = caches.make<SigningKeys>({ max: 4_000, ttlMs: 3_600_000 });

  const unsealed = (id: string, which: 'rsa' | 'ed', sealed: Buffer) =>
    createPrivateKey(secrets.unseal(sealed, `email.domain.${which}_private.${id}`));

  const loadKeys = async (id: string) => {
    const row = await db.read((tx) => store.signingKeysOf(tx, id));
    if (!row) return undefined;
    const value: SigningKeys = {
      domain: row.name,
      rsa: { selector: row.rsa_selector, key: unsealed(id, 'rsa', row.rsa_private) },
      ed: { selector: row.ed_selector, key: unsealed(id, 'ed', row.ed_private) },
    };
    return { value, topics: [topics.domain(id)], tenant: row.org_id };
  };

  const loadSendable = async (org: string, name: string) => {
    const value = await db.read((tx) => store.sendableByName(tx, org, name));
    return value && { value, topics: [topics.domain(value.id)], tenant: org };
  };

  return {
    findSendable: async (org, domainIds, name) => {
      const domain = await byName.get(`${org} ${name}`, () => loadSendable(org, name));
      return domain && (!domainIds.length || domainIds.includes(domain.id)) ? domain : undefined;
    },
    signingKeys: (id) => keys.get(id, () => loadKeys(id)),
  };
}
