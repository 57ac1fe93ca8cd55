import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, invalid } from '../../../kernel/errors.ts';
import { refusalOfAddress } from '../rules/addresses.ts';
import { refusalOf } from '../rules/channels.ts';
import * as store from '../store/settings.ts';
import { reachabilityAfterSave } from './reachability.ts';

/** Replaces all settings: without an address, the earlier one is deleted. Rules that cannot page are refused. */
export async function saveSettings(
  tx: Tx,
  app: Pick<App, 'config' | 'mail'>,
  org: string,
  person: { id: string; email: string },
  { addresses, rules }: store.PagingPreferences,
): Promise<store.PagingPreferences> {
  const refusedAddress = refusalOfAddress(addresses);
  if (refusedAddress) invalid(refusedAddress);
  const channels = rules.map((rule) => rule.channel);
  const refusal = refusalOf(channels, await reachabilityAfterSave(tx, app, org, { email: person.email, ...addresses }));
  if (refusal) (refusal.status === 400 ? invalid : conflict)(refusal.sentence);
  return store.saveSettings(tx, org, person.id, { addresses, rules });
}

/** The person texted STOP or START. The provider stops SMS to this phone, and so do we. */
export const setStopped = (tx: Tx, org: string, phone: string, stopped: boolean) =>
  stopped ? store.recordStop(tx, org, phone) : store.liftStop(tx, org, phone);
