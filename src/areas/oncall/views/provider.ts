import type { ProviderRow } from '../store/provider.ts';

/** Never the auth token. */
export const providerView = (found: ProviderRow | undefined) => ({
  configured: found !== undefined,
  accountSid: found?.account_sid ?? null,
  fromNumber: found?.from_number ?? null,
  updatedAt: found?.updated_at ?? null,
});
