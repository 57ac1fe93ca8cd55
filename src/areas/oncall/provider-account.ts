import type { App } from '../../kernel/app.ts';
import type { Tx } from '../../kernel/db.ts';
import type { Account } from './planes/twilio/client.ts';
import * as store from './store/provider.ts';

export interface ProviderAccount extends Account {
  fromNumber: string;
}

/** The organization's own account with its token opened, or undefined while there is none. */
export async function providerAccount(tx: Tx, app: App, org: string): Promise<ProviderAccount | undefined> {
  const found = await store.provider(tx, org);
  return (
    found && {
      url: app.config.twilio_url,
      accountSid: found.account_sid,
      authToken: app.secrets.unseal(found.auth_token, store.sealedAt(org)),
      fromNumber: found.from_number,
    }
  );
}
