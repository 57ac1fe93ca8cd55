import { callbackUrl } from '../../rules/callback-url.ts';
import { isCallbackRefused, toPageFailed } from '../twilio/outcome.ts';
import type { PageToSend, ProviderAccount, SendContext } from './channel.ts';

export function requireAccount({ account }: SendContext): ProviderAccount {
  if (!account)
    throw new Error('a page by phone was handed over without an account; rules/channels.ts must say that its channel needs one');
  return account;
}

/** Sends with a status callback, and without it if the provider cannot reach our address: the page matters more than its report. */
export async function sendWithCallback(
  publicUrl: string,
  page: PageToSend,
  send: (statusCallback: string | undefined) => Promise<string>,
): Promise<string> {
  try {
    return await send(callbackUrl(publicUrl, page, 'status')).catch((error) => {
      if (isCallbackRefused(error)) return send(undefined);
      throw error;
    });
  } catch (error) {
    throw toPageFailed(error);
  }
}

/** Runs a provider lookup and turns its refusal into PageFailed. */
export const lookUp = <T>(asked: Promise<T>): Promise<T> =>
  asked.catch((error) => {
    throw toPageFailed(error);
  });
