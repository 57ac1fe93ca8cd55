import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { defaultRules, type Rule, readRules } from '../rules/paging-rules.ts';

// Paging settings belong to the person: the row saved last counts in every organization. A STOP belongs to the organization whose number
// got it.

const SettingsRow = Type.Object({ phone: Type.Union([Type.String(), Type.Null()]), rules: Type.Unknown() });
export interface PagingPreferences {
  phone: string | null;
  rules: Rule[];
}

/** A person's preferences; by default an email at once. `broken`: problems of invalid rules. */
export async function preferencesOf(tx: Tx, userId: string): Promise<PagingPreferences & { broken: string[] }> {
  const found = await row(tx, SettingsRow)`
    select phone, rules from oncall.paging_settings where user_id = ${userId} order by updated_at desc, org_id limit 1`;
  return found ? { phone: found.phone, ...readRules(found.rules) } : { phone: null, rules: [...defaultRules], broken: [] };
}

/** Saving lifts every earlier STOP, because the person asks for messages again. */
export async function saveSettings(tx: Tx, org: string, userId: string, { phone, rules }: PagingPreferences): Promise<PagingPreferences> {
  await Promise.all([
    run(tx)`
      insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
      values (${org}, ${userId}, ${phone}, ${JSON.stringify(rules)}, kernel.now())
      on conflict (org_id, user_id) do update set phone = excluded.phone, rules = excluded.rules, updated_at = excluded.updated_at`,
    run(tx)`update oncall.paging_settings set phone_stopped_at = null where user_id = ${userId} and phone_stopped_at is not null`,
  ]);
  return { phone, rules };
}

/** Records a STOP to this organization's number for people it pages on this phone. Their settings may be saved in another organization. */
export const recordStop = (tx: Tx, org: string, phone: string) => run(tx)`
  insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at, phone_stopped_at)
  select ${org}, s.user_id, s.phone, s.rules, s.updated_at, kernel.now()
    from (select distinct on (user_id) user_id, phone, rules, updated_at from oncall.paging_settings
           where user_id in (select user_id from oncall.paging_settings where phone = ${phone}) order by user_id, updated_at desc, org_id) s
   where s.phone = ${phone} and (exists (select from oncall.page p where p.org_id = ${org} and p.user_id = s.user_id)
      or exists (select from oncall.paging_settings o where o.org_id = ${org} and o.user_id = s.user_id))
   order by s.user_id
  on conflict (org_id, user_id) do update set phone_stopped_at = excluded.phone_stopped_at`;

export const liftStop = (tx: Tx, org: string, phone: string) => run(tx)`
  update oncall.paging_settings set phone_stopped_at = null
   where org_id = ${org} and phone_stopped_at is not null
     and user_id in (select user_id from oncall.paging_settings where phone = ${phone})`;

export const isStopped = async (tx: Tx, org: string, userId: string): Promise<boolean> =>
  (await run(tx)`select 1 from oncall.paging_settings where org_id = ${org} and user_id = ${userId} and phone_stopped_at is not null`) > 0;
