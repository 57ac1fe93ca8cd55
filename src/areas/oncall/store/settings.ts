import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { type ChannelName, channelNames } from '../rules/channels.ts';

export const Rules = Type.Array(
  Type.Object({
    channel: Type.Unsafe<ChannelName>({ type: 'string', enum: [...channelNames] }),
    delaySeconds: Type.Integer(),
  }),
);
const SettingsRow = Type.Object({ phone: Type.Union([Type.String(), Type.Null()]), rules: Rules });
export type Wishes = Static<typeof SettingsRow>;

/** Of somebody who has not said how they want to be paged: an email at once. */
export const unsaidWishes: Wishes = { phone: null, rules: [{ channel: 'email', delaySeconds: 0 }] };

/** How a person wants to be paged. */
export const rulesOf = async (tx: Tx, org: string, userId: string): Promise<Wishes> =>
  (await row(tx, SettingsRow)`select phone, rules from oncall.paging_settings where org_id = ${org} and user_id = ${userId}`) ??
  unsaidWishes;

/** Saving again lifts an earlier STOP: the person asks for messages anew. */
export const saveSettings = async (tx: Tx, org: string, userId: string, { phone, rules }: Wishes): Promise<Wishes> =>
  (await row(tx, SettingsRow)`
    insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
    values (${org}, ${userId}, ${phone}, ${JSON.stringify(rules)}, kernel.now())
    on conflict (org_id, user_id) do update
       set phone = excluded.phone, rules = excluded.rules, phone_stopped_at = null, updated_at = excluded.updated_at
    returning phone, rules`)!;

/** The person texted STOP (or START): the provider holds back SMS to this phone, and so do we. */
export const setStopped = (tx: Tx, org: string, phone: string, stopped: boolean) => run(tx)`
  update oncall.paging_settings set phone_stopped_at = case when ${stopped} then kernel.now() end where org_id = ${org} and phone = ${phone}`;

export const isStopped = async (tx: Tx, org: string, userId: string): Promise<boolean> =>
  (await run(tx)`select 1 from oncall.paging_settings where org_id = ${org} and user_id = ${userId} and phone_stopped_at is not null`) > 0;
