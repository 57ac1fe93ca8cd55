import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, invalid } from '../../../kernel/errors.ts';
import { refusalOf } from '../rules/channels.ts';
import { isPhone } from '../rules/phones.ts';
import * as store from '../store/settings.ts';
import { reachabilityAfterSave } from './reachability.ts';

/** Replaces all settings: without a phone, the earlier one is deleted. Rules that cannot page are refused. */
export async function saveSettings(
  tx: Tx,
  app: Pick<App, 'config' | 'mail'>,
  org: string,
  person: { id: string; email: string },
  { phone, rules }: store.PagingPreferences,
): Promise<store.PagingPreferences> {
  if (phone !== null && !isPhone(phone)) invalid('phone must be in E.164 format, such as +33612345678');
  const channels = rules.map((rule) => rule.channel);
  const refusal = refusalOf(channels, await reachabilityAfterSave(tx, app, org, { email: person.email, phone }));
  if (refusal) (refusal.status === 400 ? invalid : conflict)(refusal.sentence);
  return store.saveSettings(tx, org, person.id, { phone, rules });
}

/** The person texted STOP or START. The provider stops SMS to this phone, and so do we. */
export const setStopped = (tx: Tx, org: string, phone: string, stopped: boolean) =>
  stopped ? store.recordStop(tx, org, phone) : store.liftStop(tx, org, phone);
