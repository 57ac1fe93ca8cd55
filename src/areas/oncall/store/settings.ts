import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { type GivenAddresses, noAddresses, readAddresses } from '../rules/addresses.ts';
import { defaultRules, type Rule, readRules } from '../rules/paging-rules.ts';

// Paging settings belong to the person: the row saved last counts in every organization. A STOP belongs to the organization whose number
// got it.

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

// Each kind of rules/addresses.ts has a column, in all five of these. Selected under the name of the kind: `pager_number as "pagerNumber"`.
const AddressRow = Type.Object({ phone: nullable(Type.String()) } satisfies Record<keyof GivenAddresses, Type.TSchema>);
const addressColumns = sql`phone`;
const selectedAddresses = sql`phone`;
const excludedAddresses = sql`excluded.phone`;
const addressValues = ({ phone }: GivenAddresses) => sql`${phone}`;

const SettingsRow = Type.Object({ ...AddressRow.properties, rules: Type.Unknown() });
export interface PagingPreferences {
  addresses: GivenAddresses;
  rules: Rule[];
}

/** A person's preferences; by default an email at once. `broken`: problems of invalid rules. */
export async function preferencesOf(tx: Tx, userId: string): Promise<PagingPreferences & { broken: string[] }> {
  const found = await row(tx, SettingsRow)`
    select ${selectedAddresses}, rules from oncall.paging_settings where user_id = ${userId} order by updated_at desc, org_id limit 1`;
  return found
    ? { addresses: readAddresses(found), ...readRules(found.rules) }
    : { addresses: noAddresses, rules: [...defaultRules], broken: [] };
}

const UserPreferencesRow = Type.Object({ ...SettingsRow.properties, user_id: Type.String(), stopped: Type.Boolean() });
/** The preferences of these people; people without any are absent. */
export async function preferencesOfUsers(tx: Tx, org: string, userIds: readonly string[]) {
  const found = await rows(tx, UserPreferencesRow)`
    select distinct on (user_id) user_id, ${selectedAddresses}, rules,
           exists (select from oncall.paging_settings o
                    where o.org_id = ${org} and o.user_id = s.user_id and o.phone_stopped_at is not null) as stopped
      from oncall.paging_settings s where user_id = any(${userIds}::text[]) order by user_id, updated_at desc, org_id`;
  return new Map(found.map((f) => [f.user_id, { addresses: readAddresses(f), ...readRules(f.rules), stopped: f.stopped }]));
}

/** Saving lifts every earlier STOP, because the person asks for messages again. */
export async function saveSettings(tx: Tx, org: string, userId: string, preferences: PagingPreferences): Promise<PagingPreferences> {
  const { addresses, rules } = preferences;
  await Promise.all([
    run(tx)`
      insert into oncall.paging_settings (org_id, user_id, rules, updated_at, ${addressColumns})
      values (${org}, ${userId}, ${JSON.stringify(rules)}, kernel.now(), ${addressValues(addresses)})
      on conflict (org_id, user_id) do update
         set rules = excluded.rules, updated_at = excluded.updated_at, (${addressColumns}) = row(${excludedAddresses})`,
    run(tx)`update oncall.paging_settings set phone_stopped_at = null where user_id = ${userId} and phone_stopped_at is not null`,
  ]);
  return preferences;
}

/** Records a STOP to this organization's number for people it pages on this phone. Their settings may be saved in another organization. */
export function recordStop(tx: Tx, org: string, phone: string) {
  hint(tx, org, 'oncall.paging');
  return run(tx)`
  insert into oncall.paging_settings (org_id, user_id, rules, updated_at, phone_stopped_at, ${addressColumns})
  select ${org}, s.user_id, s.rules, s.updated_at, kernel.now(), ${addressColumns}
    from (select distinct on (user_id) user_id, rules, updated_at, ${addressColumns} from oncall.paging_settings
           where user_id in (select user_id from oncall.paging_settings where phone = ${phone}) order by user_id, updated_at desc, org_id) s
   where s.phone = ${phone} and (exists (select from oncall.page p where p.org_id = ${org} and p.user_id = s.user_id)
      or exists (select from oncall.paging_settings o where o.org_id = ${org} and o.user_id = s.user_id))
   order by s.user_id
  on conflict (org_id, user_id) do update set phone_stopped_at = excluded.phone_stopped_at`;
}

export function liftStop(tx: Tx, org: string, phone: string) {
  hint(tx, org, 'oncall.paging');
  return run(tx)`
  update oncall.paging_settings set phone_stopped_at = null
   where org_id = ${org} and phone_stopped_at is not null
     and user_id in (select user_id from oncall.paging_settings where phone = ${phone})`;
}

export const isStopped = async (tx: Tx, org: string, userId: string): Promise<boolean> =>
  (await run(tx)`select 1 from oncall.paging_settings where org_id = ${org} and user_id = ${userId} and phone_stopped_at is not null`) > 0;
