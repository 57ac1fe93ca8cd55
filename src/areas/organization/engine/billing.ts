import type { Payment } from '../../../identity/payment.ts';
import type { App } from '../../../kernel/app.ts';
import { conflict } from '../../../kernel/errors.ts';
import { contactsOf } from '../store/organizations.ts';

// The payment provider gets a new billing address before the transaction that stores it. Inside, a slow provider would hold the locks of
// the caller's rights for seconds, and a revocation waits for those. The provider may refuse the address, so a job afterwards would be too
// late.

/** The stored address that the new one replaces at the provider. */
export interface AgreedBilling {
  insteadOf: string | undefined;
}

/** Another request stored a billing address meanwhile: the provider may have either of the two. */
export class BillingChanged extends Error {}

const attempts = 3;

/**
 * Sends a new billing address to the payment provider and then stores it. When storing fails, perhaps because the caller's rights were
 * revoked, the provider gets the stored address back. `email` undefined: the address is unchanged.
 */
export async function agreeOnBilling<T>(
  app: App,
  payment: Payment,
  org: { id: string; slug: string },
  email: string | undefined,
  store: (agreed: AgreedBilling) => Promise<T>,
): Promise<T> {
  if (email === undefined) return store({ insteadOf: undefined });
  for (let attempt = 1; ; attempt++) {
    const stored = await storedBilling(app, org.id);
    const isNews = email !== stored;
    if (isNews) await payment.setBillingEmail(org, email);
    try {
      return await store({ insteadOf: stored });
    } catch (error) {
      const isOvertaken = error instanceof BillingChanged;
      if (isOvertaken && attempt < attempts) continue;
      if (isNews) await putBack(app, payment, org);
      if (isOvertaken) conflict('the billing address is being changed by others at this moment; try again');
      throw error;
    }
  }
}

const storedBilling = async ({ db }: App, org: string): Promise<string> => (await db.read((tx) => contactsOf(tx, org))).billing_email;

/** Repeats until the provider has the stored address: another change may come in between. */
async function putBack(app: App, payment: Payment, org: { id: string; slug: string }): Promise<void> {
  try {
    let told: string | undefined;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const stored = await storedBilling(app, org.id);
      if (stored === told) return;
      await payment.setBillingEmail(org, stored);
      told = stored;
    }
  } catch (error) {
    app.log.error({ org: org.slug, error }, 'the payment provider has a billing address that was not stored; set the address again');
  }
}
