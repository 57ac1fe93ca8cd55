import type { Db } from '../kernel/db/index.ts';
import { conflict, unreachable } from '../kernel/errors.ts';
import { isPaymentActive } from './store/organizations.ts';

/** The payment provider, as far as the product needs it. */
export interface Payment {
  /** Whether the organization has an active payment method. Never asked inside a transaction: a provider has 5 s for it. */
  active(db: Pick<Db, 'read'>, org: { id: string; slug: string }): Promise<boolean>;
  /** Tells the provider the billing address, never inside a transaction; 409 when it belongs to another of its customers. */
  setBillingEmail(org: { id: string; slug: string }, email: string): Promise<void>;
}

/** Without a provider: the operator decides with `quarterdeck admin payment`; active by default. */
export const noPayment: Payment = {
  active: (db, org) => db.read((tx) => isPaymentActive(tx, org.id)),
  setBillingEmail: async () => {},
};

const away = () => unreachable('the payment provider is unreachable; try again in a moment');

/** A provider's adapter over HTTP: `GET /organizations/{slug}` → { active }, `PUT /organizations/{slug}/billing-email` → 204 or 409. */
export function httpPayment(url: string): Payment {
  const call = async (method: string, path: string, body?: unknown): Promise<Response> => {
    try {
      const answer = await fetch(url + path, {
        method,
        ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
        signal: AbortSignal.timeout(5_000),
        redirect: 'error',
      });
      if (answer.ok || answer.status === 409) return answer;
    } catch {
      // handled below, like an answer that makes no sense
    }
    return away();
  };
  return {
    active: async (_db, org) => {
      const answer = await call('GET', `/organizations/${org.slug}`);
      const said = (await answer.json().catch(() => undefined)) as { active?: unknown } | null | undefined;
      return typeof said?.active === 'boolean' ? said.active : away();
    },
    setBillingEmail: async (org, email) => {
      const answer = await call('PUT', `/organizations/${org.slug}/billing-email`, { email });
      await answer.body?.cancel();
      if (answer.status === 409) conflict('billingEmail already belongs to another customer of the payment provider; use another address');
    },
  };
}
