import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { audit, operator } from '../identity/audit.ts';
import { deleteLine } from '../identity/engine/line.ts';
import { topics } from '../identity/principal.ts';
import { hashKey, kindOf, mintKey } from '../identity/token-format.ts';
import { insertToken, renewToken } from '../identity/store/tokens.ts';
import { dropElsewhere } from '../kernel/cache.ts';
import type { Config } from '../kernel/config.ts';
import { row, run, type Tx } from '../kernel/db.ts';

const IdRow = Type.Object({ id: Type.String() });
const PresentRow = Type.Object({ id: Type.String(), enabled: Type.Boolean() });
const OwnerRow = Type.Object({ org_id: Type.String(), user_id: Type.String() });

export const ownerTokenFile = (dataDir: string) => join(dataDir, 'owner.token');
/** What it mints ends with it at the latest, so it has the longest life there is. */
const lifetimeSeconds = 366 * 86_400;
const renewWithDaysLeft = 30;

/** The first start makes the organization `default` and its owner. Later ones find an organization and leave it alone. */
export async function ensureOrganization(tx: Tx, config: Config): Promise<void> {
  await run(tx)`select pg_advisory_xact_lock(7203114502)`; // two servers may start on one empty database
  if (await run(tx)`select 1 from identity.org limit 1`) return;
  await makeOrganization(tx, { slug: 'default', name: 'Default', ownerEmail: config.owner_email, entitlements: config.entitlements });
}

export interface NewOrganization {
  slug: string;
  name: string;
  ownerEmail: string;
  entitlements: string[];
}

export async function makeOrganization(tx: Tx, o: NewOrganization): Promise<{ id: string; ownerId: string }> {
  const org = (await row(tx, IdRow)`
    insert into identity.org (id, slug, name, entitlements, billing_email, technical_email, security_email, created_at)
    values (kernel.new_id('org'), ${o.slug}, ${o.name}, ${o.entitlements}, ${o.ownerEmail}, ${o.ownerEmail}, ${o.ownerEmail}, kernel.now()) returning id`)!;
  const owner = (await row(tx, IdRow)`
    with made as (insert into identity.account (id, email, name, created_at) values (kernel.new_id('usr'), ${o.ownerEmail}, ${o.ownerEmail.split('@')[0]}, kernel.now())
                  on conflict do nothing returning id)
    select id from made union all select id from identity.account where lower(email) = lower(${o.ownerEmail})`)!;
  await run(tx)`insert into identity.member (org_id, user_id, role, joined_at) values (${org.id}, ${owner.id}, 'owner', kernel.now())`;
  await audit(tx, operator(org.id), 'organization.create', org, { slug: o.slug, owner: o.ownerEmail });
  return { id: org.id, ownerId: owner.id };
}

/** `data/owner.token`, which the command line here picks up by itself. Minted again when it is gone, dead or near its end. */
export async function ensureOwnerToken(tx: Tx, dataDir: string): Promise<void> {
  const file = ownerTokenFile(dataDir);
  const present = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (kindOf(present) && (await lasts(tx, present))) return;
  const owner = await row(tx, OwnerRow)`
    select m.org_id, m.user_id from identity.member m join identity.org o on o.id = m.org_id where m.role = 'owner' order by o.id, m.joined_at limit 1`;
  if (!owner) return;
  const { key, start, hash } = mintKey('pat');
  const renewed = await renewPresent(tx, owner, present, { start, hash });
  const token =
    renewed ??
    (await insertToken(tx, {
      org: owner.org_id,
      user: owner.user_id,
      name: 'this machine',
      start,
      hash,
      scope: [],
      ceilings: [],
      expiresIn: lifetimeSeconds,
    }));
  const action = renewed ? 'tokens.token.renew' : 'tokens.token.create';
  await audit(tx, operator(owner.org_id), action, token, { name: token.name, file: 'owner.token' });
  await dropElsewhere(tx, topics.tokensOf(owner.org_id, owner.user_id));
  await writeSecret(file, `${key}\n`);
}

/** Beside the token, the URLs of the server that it is for: the command line sends it nowhere else. */
export const tellOwnerUrls = (dataDir: string, urls: string[]) =>
  writeFile(join(dataDir, 'owner.url'), `${urls.filter(Boolean).join('\n')}\n`, { mode: 0o600 });

/** The one in the file gets a new key and a new end: what it minted lives on. One that its owner switched off is ended, with all that. */
async function renewPresent(tx: Tx, owner: Static<typeof OwnerRow>, present: string, next: { start: string; hash: Buffer }) {
  const old = await row(tx, PresentRow)`
    select id, enabled from identity.token
     where org_id = ${owner.org_id} and user_id = ${owner.user_id} and name = 'this machine' and minters = '{}' and hash = ${hashKey(present)}
       for update`;
  if (!old) return undefined;
  await dropElsewhere(tx, topics.credential(old.id));
  if (old.enabled) return renewToken(tx, owner.org_id, { id: old.id, ...next, expiresIn: lifetimeSeconds });
  await deleteLine(tx, owner.org_id, owner.user_id, old.id);
  return undefined;
}

const lasts = async (tx: Tx, key: string) =>
  (await run(
    tx,
  )`select 1 from identity.token where hash = ${hashKey(key)} and enabled and expires_at > kernel.now() + make_interval(days => ${renewWithDaysLeft})`) >
  0;

/** Made anew with O_EXCL and 0600: never through somebody's link, never readable by others for a moment. */
async function writeSecret(file: string, text: string) {
  await rm(file, { force: true });
  const handle = await open(file, 'wx', 0o600);
  await handle.writeFile(text);
  await handle.sync();
  await handle.close();
}
