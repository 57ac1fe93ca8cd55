import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { defaultRules, type Rule, readRules } from '../rules/wishes.ts';

const SettingsRow = Type.Object({ phone: Type.Union([Type.String(), Type.Null()]), rules: Type.Unknown() });
export interface Wishes {
  phone: string | null;
  rules: Rule[];
}

/** How a person wants to be paged: an email at once until they say otherwise. `broken`: what of it cannot be read. */
export async function wishesOf(tx: Tx, org: string, userId: string): Promise<Wishes & { broken: string[] }> {
  const found = await row(tx, SettingsRow)`select phone, rules from oncall.paging_settings where org_id = ${org} and user_id = ${userId}`;
  return found ? { phone: found.phone, ...readRules(found.rules) } : { phone: null, rules: [...defaultRules], broken: [] };
}

/** Saving again lifts an earlier STOP: the person asks for messages anew. */
export async function saveSettings(tx: Tx, org: string, userId: string, { phone, rules }: Wishes): Promise<Wishes> {
  await run(tx)`
    insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
    values (${org}, ${userId}, ${phone}, ${JSON.stringify(rules)}, kernel.now())
    on conflict (org_id, user_id) do update
       set phone = excluded.phone, rules = excluded.rules, phone_stopped_at = null, updated_at = excluded.updated_at`;
  return { phone, rules };
}

/** The person texted STOP (or START): the provider holds back SMS to this phone, and so do we. */
export const setStopped = (tx: Tx, org: string, phone: string, stopped: boolean) => run(tx)`
  update oncall.paging_settings set phone_stopped_at = case when ${stopped} then kernel.now() end where org_id = ${org} and phone = ${phone}`;

export const isStopped = async (tx: Tx, org: string, userId: string): Promise<boolean> =>
  (await run(tx)`select 1 from oncall.paging_settings where org_id = ${org} and user_id = ${userId} and phone_stopped_at is not null`) > 0;
