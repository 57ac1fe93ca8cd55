import type { App } from '../../../kernel/app.ts';
import { type AccountKey, type Acme, type AcmeAccount, AuthorityRefuses, newAccountKey, openAccountKey } from '../clients/acme/index.ts';
import { type AuthorityRow, findAuthority, insertAuthority, keepAccount, replaceAccount } from '../store/authorities.ts';
import { dropOrders } from '../store/certificates.ts';
import type { AcmeSettings } from './settings.ts';

/** Our account at the authority, for the requests of one run. */
export interface OpenAccount {
  key: AccountKey;
  url: string;
  requests: AcmeAccount;
}

const positionOf = (directory: string) => `certificates.authority.account_key.${directory}`;

/** The registered account. Its key is stored before it is registered: a run that is killed in between finds the same account again. */
export async function openAccount(app: App, acme: Acme, settings: AcmeSettings): Promise<OpenAccount> {
  const { directory, contact, external } = settings;
  const row = (await app.db.read((tx) => findAuthority(tx, directory))) ?? (await makeKey(app, settings));
  const key = await openAccountKey(app.secrets.unseal(row.account_key, positionOf(directory)));
  const eabKid = external?.kid ?? null;
  if (row.account_url !== null && row.contact === contact && row.eab_kid === eabKid)
    return { key, url: row.account_url, requests: acme.as(key, row.account_url) };
  const url = await acme.register(key, { contact, external }).catch(async (error) => {
    // The authority has ended the account of this key, so the key is of no more use.
    const before = row.account_url;
    if (before !== null && (await isEnded(error, acme.as(key, before)))) await forgetAccount(app, settings, before);
    throw error;
  });
  const requests = acme.as(key, url);
  // An account that there was is answered as it is, with the address that it had.
  if (row.account_url !== null) await requests.changeContact(contact);
  await app.db.write((tx) => keepAccount(tx, directory, { url, contact, eabKid }));
  return { key, url, requests };
}

const makeKey = (app: App, { directory, contact, external }: AcmeSettings): Promise<AuthorityRow> =>
  app.db.write((tx) =>
    insertAuthority(tx, {
      directory,
      key: app.secrets.seal(newAccountKey(), positionOf(directory)),
      contact,
      eabKid: external?.kid ?? null,
    }),
  );

const isRefusedAs = (error: unknown, ...types: string[]): boolean => error instanceof AuthorityRefuses && types.includes(error.type);

/**
 * Whether a request failed because the account was revoked, or because the authority has lost it. What an authority answers then, it answers to
 * much else (Let's Encrypt: 403 unauthorized), so it is asked for the account itself.
 */
export async function isEnded(error: unknown, requests: AcmeAccount): Promise<boolean> {
  if (!isRefusedAs(error, 'accountDoesNotExist', 'unauthorized')) return false;
  try {
    return (await requests.readStatus()) !== 'valid';
  } catch (refusal) {
    return isRefusedAs(refusal, 'accountDoesNotExist', 'unauthorized');
  }
}

/** The next run registers another key. Orders of the old account cannot go on. */
export async function forgetAccount(app: App, { directory }: AcmeSettings, url: string): Promise<void> {
  const key = app.secrets.seal(newAccountKey(), positionOf(directory));
  await app.db.write(async (tx) => {
    if (await replaceAccount(tx, directory, url, key)) await dropOrders(tx, directory);
  });
}
