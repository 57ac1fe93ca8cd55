import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { foldAddress } from '../rules/envelope.ts';
import * as store from '../store/suppressions.ts';

/** By hand; those that bounce or complain are bounded by what is sent. */
const mostByHand = 100_000;

/** Mail for this address is not sent any more; what is under way already is. */
export async function suppress(tx: Tx, org: string, address: string) {
  if (await store.hasSuppressions(tx, org, mostByHand))
    conflict(`the organization has ${mostByHand} suppressed addresses, which is the most that can be added by hand; remove some first`);
  return store.insertSuppression(tx, org, foldAddress(address), 'manual');
}

/** The address gets mail again, until it bounces hard once more. */
export const unsuppress = async (tx: Tx, org: string, id: string): Promise<store.SuppressionRow> =>
  (await store.removeSuppression(tx, org, id)) ?? notFound('suppression');
