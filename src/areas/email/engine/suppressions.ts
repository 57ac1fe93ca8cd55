import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { foldAddress } from '../rules/envelope.ts';
import * as store from '../store/suppressions.ts';
import { suppressionView } from '../views/suppression.ts';
import { emitEvents } from './webhooks/emit-events.ts';

/** By hand; those that bounce or complain are bounded by what is sent. */
const maxManualSuppressions = 100_000;

/** Mail for this address is not sent any more; what is under way already is. */
export async function suppress(tx: Tx, org: string, address: string) {
  if (await store.hasSuppressions(tx, org, maxManualSuppressions))
    conflict(
      `the organization has ${maxManualSuppressions} suppressed addresses, which is the most that can be added by hand; remove some first`,
    );
  const made = await store.insertSuppression(tx, org, foldAddress(address), 'manual');
  if (made.isNew) await emitEvents(tx, [{ org, type: 'suppression.created', data: { suppression: suppressionView(made) } }]);
  return made;
}

/** The address gets mail again, until it bounces hard once more. */
export async function unsuppress(tx: Tx, org: string, id: string): Promise<store.SuppressionRow> {
  const removed = (await store.removeSuppression(tx, org, id)) ?? notFound('suppression');
  await emitEvents(tx, [{ org, type: 'suppression.deleted', data: { suppression: suppressionView(removed) } }]);
  return removed;
}
