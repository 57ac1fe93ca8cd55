import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../../kernel/errors.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { emitEvents } from '../../webhooks/engine/emit-events.ts';
import * as store from '../store/suppressions.ts';
import { suppressionView } from '../views/suppression.ts';

/** Limit for manual entries. Entries from bounces and complaints are limited by what is sent. */
const maxManualSuppressions = 100_000;

/** No further mail is sent to this address; attempts in flight are not stopped. */
export async function suppress(tx: Tx, org: string, address: string) {
  if (await store.hasSuppressions(tx, org, maxManualSuppressions))
    conflict(
      `the organization has ${maxManualSuppressions} suppressed addresses, which is the most that can be added by hand; remove some first`,
    );
  const made = await store.insertSuppression(tx, org, foldAddress(address), 'manual');
  if (made.isNew) await emitEvents(tx, [{ org, type: 'suppression.created', data: { suppression: suppressionView(made) } }]);
  return made;
}

/** The address gets mail again, until its next hard bounce or complaint. */
export async function unsuppress(tx: Tx, org: string, id: string): Promise<store.SuppressionRow> {
  const removed = (await store.removeSuppression(tx, org, id)) ?? notFound('suppression');
  await emitEvents(tx, [{ org, type: 'suppression.deleted', data: { suppression: suppressionView(removed) } }]);
  return removed;
}
