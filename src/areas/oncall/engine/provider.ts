import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db.ts';
import { perApp } from '../../../kernel/per-app.ts';
import type { Account } from '../clients/twilio/client.ts';
import * as store from '../store/provider.ts';

export interface ProviderAccount extends Account {
  fromNumber: string;
}

/** The organization's own account with its token opened, or undefined while there is none. */
export async function providerAccount(tx: Tx, app: App, org: string): Promise<ProviderAccount | undefined> {
  const found = await store.provider(tx, org);
  return found && opened(app, org, found);
}

const opened = (app: App, org: string, found: store.ProviderRow): ProviderAccount => ({
  url: app.config.twilio_url,
  accountSid: found.account_sid,
  authToken: app.secrets.unseal(found.auth_token, store.sealedAt(org)),
  fromNumber: found.from_number,
});

/** To be dropped by whoever sets or clears an account. */
export const accountsTopic = 'oncall providers';

/**
 * The tokens that sign what the provider tells us, all of them at once: then a forged callback costs no statement, whatever organization it
 * names, and none has to be refused unheard. The provider's addresses are those of all its customers, so they are no place to count by.
 */
export const signersOf = perApp((app) => {
  const remembered = app.caches.make<{ tokens: ReadonlyMap<string, string> }>({ max: 1 });
  const load = async () => {
    const found = await app.db.read(store.providers);
    const tokens = new Map(found.map((row) => [row.org_id, opened(app, row.org_id, row).authToken]));
    return { value: { tokens }, topics: [accountsTopic] };
  };
  return async (org: string) => (await remembered.get('all', load))?.tokens.get(org);
});
