import { askBriefly, type Tx } from '../kernel/db/index.ts';
import { conflict, unreachable } from '../kernel/errors.ts';
import { isPaymentActive } from './store/organizations.ts';

/** The payment provider, as far as the product needs it. */
export interface Payment {
  /** Whether the organization has an active payment method. Asked inside transactions, so a provider has 1.5 s for it: a revocation waits at
   *  most 3 s for their locks. */
  active(tx: Tx, org: { id: string; slug: string }): Promise<boolean>;
  /** Tells the provider the billing address, never inside a transaction; 409 when it belongs to another of its customers. */
  setBillingEmail(org: { id: string; slug: string }, email: string): Promise<void>;
}

/** No provider: what the operator says with `quarterdeck admin payment` holds; active unless told otherwise. */
export const noPayment: Payment = {
  active: (tx, org) => isPaymentActive(tx, org.id),
  setBillingEmail: async () => {},
};

const away = () => unreachable('the payment provider is unreachable; try again in a moment');

/** A provider's adapter over HTTP: `GET /organizations/{slug}` → { active }, `PUT /organizations/{slug}/billing-email` → 204 or 409. */
export function httpPayment(url: string): Payment {
  const call = async (method: string, path: string, timeoutMs: number, body?: unknown): Promise<Response> => {
    try {
      const answer = await fetch(url + path, {
        method,
        ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
        signal: AbortSignal.timeout(timeoutMs),
        redirect: 'error',
      });
      if (answer.ok || answer.status === 409) return answer;
    } catch {
      // told below, the same way as an answer that makes no sense
    }
    return away();
  };
  return {
    active: async (_tx, org) => {
      const answer = await askBriefly(() => call('GET', `/organizations/${org.slug}`, 1_500));
      const said = (await answer.json().catch(() => undefined)) as { active?: unknown } | null | undefined;
      return typeof said?.active === 'boolean' ? said.active : away();
    },
    setBillingEmail: async (org, email) => {
      const answer = await call('PUT', `/organizations/${org.slug}/billing-email`, 5_000, { email });
      await answer.body?.cancel();
      if (answer.status === 409) conflict('billingEmail already belongs to another customer of the payment provider; use another address');
    },
  };
}
