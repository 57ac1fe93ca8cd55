import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { phoneChannels } from '../rules/channels.ts';

const ProviderRow = Type.Object({
  account_sid: Type.String(),
  from_number: Type.String(),
  auth_token: Type.Unsafe<Buffer>({}),
  updated_at: Type.String(),
  /** Why the provider refused the credential when it was last used. */
  broken: Type.Union([Type.String(), Type.Null()]),
});
export type ProviderRow = Static<typeof ProviderRow>;

/** The seal context of an organization's token. */
export const sealContext = (org: string) => `oncall.provider.auth_token.${org}`;

export const provider = (tx: Tx, org: string) => row(tx, ProviderRow)`
  select account_sid, from_number, auth_token, updated_at, broken from oncall.provider where org_id = ${org}`;

const OwnedRow = Type.Object({ org_id: Type.String(), ...ProviderRow.properties });

/** The accounts of all organizations. */
export const providers = (tx: Tx) => rows(tx, OwnedRow)`
  select org_id, account_sid, from_number, auth_token, updated_at, broken from oncall.provider`;

export const saveProvider = async (tx: Tx, org: string, p: { accountSid: string; fromNumber: string; sealed: Buffer }) =>
  (await row(tx, ProviderRow)`
    insert into oncall.provider (org_id, account_sid, from_number, auth_token, updated_at)
    values (${org}, ${p.accountSid}, ${p.fromNumber}, ${p.sealed}, kernel.now())
    on conflict (org_id) do update
       set account_sid = excluded.account_sid, from_number = excluded.from_number, auth_token = excluded.auth_token, broken = null,
           updated_at = excluded.updated_at
    returning account_sid, from_number, auth_token, updated_at, broken`)!;

export const clearProvider = (tx: Tx, org: string) => run(tx)`delete from oncall.provider where org_id = ${org}`;

/** `null`: the credential was used and works. */
export const markBroken = (tx: Tx, org: string, why: string | null) =>
  run(tx)`update oncall.provider set broken = ${why} where org_id = ${org}`;

/** The provider ids among these that belong to a page already, of an incident or of a test. */
export const claimedProviderIds = async (tx: Tx, org: string, ids: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(
    (
      await rows(tx, Type.Object({ provider_id: Type.String() }))`
      select provider_id from oncall.page where org_id = ${org} and provider_id = any(${ids}::text[])
      union select provider_id from oncall.test_page where org_id = ${org} and provider_id = any(${ids}::text[])`
    ).map((r) => r.provider_id),
  );

const PagedRow = Type.Object({
  id: Type.String(),
  incident_id: Type.String(),
  user_id: Type.String(),
  label: Type.String(),
  code: Type.String(),
});
export type PagedRow = Static<typeof PagedRow>;

/** The newest 100 pages of unresolved incidents sent to a phone, which a text message from it may answer. `code`: only those with it. */
export const pagesTo = (tx: Tx, org: string, phone: string, code: string | undefined) => rows(tx, PagedRow)`
  select p.id, p.incident_id, p.user_id, p.label, p.code from oncall.page p
    join oncall.incident i on i.org_id = p.org_id and i.id = p.incident_id
   where p.org_id = ${org} and p.address = ${phone} and p.channel = any(${phoneChannels}::text[]) and i.status <> 'resolved'
     and p.state in ('sending', 'sent', 'delivered', 'confirmed') and (${code ?? null}::text is null or p.code = ${code ?? null})
   order by p.id desc limit 100`;
