import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { rejected, unreachable } from '../../../kernel/errors.ts';
import type { ProviderAccount } from '../clients/channels/channel.ts';
import { type Account, fetchAccount, findNumber, TwilioRefusal } from '../clients/twilio/client.ts';
import * as store from '../store/provider.ts';

/** Process state that an account needs: the key that unseals its token, and the provider's URL. */
type AccountContext = Pick<App, 'secrets' | 'config'>;

/** The organization's account with its token unsealed. */
export const openAccount = ({ secrets, config }: AccountContext, org: string, found: store.ProviderRow): ProviderAccount => ({
  url: config.twilio_url,
  accountSid: found.account_sid,
  authToken: secrets.unseal(found.auth_token, store.sealContext(org)),
  fromNumber: found.from_number,
});

/** Cache topic; dropped when an account is set or cleared. */
const accountsTopic = 'oncall providers';

/** The auth token that signs the provider's callbacks for an organization; undefined without an account. */
export type AuthTokenOf = (org: string) => Promise<string | undefined>;

/**
 * Caches the tokens of all organizations in one entry. So a forged callback costs no statement, whatever organization it names. Callbacks
 * are not limited by address, because Twilio's addresses serve all its customers.
 */
export function makeAuthTokenCache({ secrets, config, caches, db }: App): AuthTokenOf {
  const remembered = caches.make<{ tokens: ReadonlyMap<string, string> }>({ max: 1 });
  const load = async () => {
    const found = await db.read(store.providers);
    const tokens = new Map(found.map((row) => [row.org_id, openAccount({ secrets, config }, row.org_id, row).authToken]));
    return { value: { tokens }, topics: [accountsTopic] };
  };
  return async (org) => (await remembered.get('all', load))?.tokens.get(org);
}

export interface Credential {
  accountSid: string;
  authToken: string;
  fromNumber: string;
}

/** Checks the credential with the provider before it is stored: a refusal now is better than a failed page at 3 a.m. */
export async function verifyCredential({ config }: Pick<App, 'config'>, { fromNumber, ...credential }: Credential): Promise<void> {
  const account: Account = { url: config.twilio_url, ...credential };
  const { status, number } = await askProvider(async () => ({
    status: (await fetchAccount(account)).status,
    number: await findNumber(account, fromNumber),
  }));
  if (status !== 'active') rejected(`the provider says that the account is ${status}; only an active one can page`);
  if (!number) return rejected(`${fromNumber} is not a number of this account`);
  const lacks = [number.capabilities.sms ? '' : 'SMS', number.capabilities.voice ? '' : 'voice'].filter(Boolean);
  if (lacks.length) rejected(`${fromNumber} cannot do ${lacks.join(' or ')}; paging needs both`);
}

async function askProvider<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof TwilioRefusal) return rejected(`the provider rejects the credentials: ${error.message}`, { cause: error });
    return unreachable('the provider cannot be reached; nothing was stored, try again in a moment', { cause: error });
  }
}

export async function setProvider(
  tx: Tx,
  { secrets, caches }: Pick<App, 'secrets' | 'caches'>,
  org: string,
  { accountSid, authToken, fromNumber }: Credential,
): Promise<store.ProviderRow> {
  const sealed = secrets.seal(authToken, store.sealContext(org));
  const saved = await store.saveProvider(tx, org, { accountSid, fromNumber, sealed });
  await caches.drop(tx, accountsTopic);
  return saved;
}

/** False: there was no account. */
export async function clearProvider(tx: Tx, { caches }: Pick<App, 'caches'>, org: string): Promise<boolean> {
  await caches.drop(tx, accountsTopic);
  return (await store.clearProvider(tx, org)) > 0;
}
