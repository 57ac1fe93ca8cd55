import type { RetryAdvice } from '../../../../kernel/errors.ts';
import { retryAdviceOfCode } from '../../rules/provider-reports.ts';
import { PageFailed } from '../channels/channel.ts';
import { TwilioRefusal } from './client.ts';

/** Twilio refuses the account: every page fails until an admin sets the credential again. */
const brokenAccountCodes = new Set([20003, 20404]);
/** Twilio cannot reach our callback address. The page itself goes through without reports. */
const callbackRefusedCodes = new Set([21609, 21604, 11200]);

const isAccountRefused = ({ status, code }: TwilioRefusal) => status === 401 || brokenAccountCodes.has(code ?? 0);
export const isCallbackRefused = (error: unknown): boolean => error instanceof TwilioRefusal && callbackRefusedCodes.has(error.code ?? 0);

/**
 * The retry advice for a refusal. An account refusal is not about the page: it passes once the credential is set again or the bill is paid.
 * A refusal without a Twilio code comes from a proxy in between, which knows nothing of the page.
 */
function retryAdviceOf(refusal: TwilioRefusal): RetryAdvice {
  if (isAccountRefused(refusal) || refusal.code === undefined) return 'until mended';
  return retryAdviceOfCode(refusal.code);
}

export function toPageFailed(error: unknown): PageFailed {
  if (!(error instanceof TwilioRefusal))
    return new PageFailed(error instanceof Error ? error.message : String(error), 'for now', { cause: error });
  const sentence = `the provider refused: ${error.message}${error.code ? ` (${error.code})` : ''}`;
  return new PageFailed(sentence, retryAdviceOf(error), {
    cause: error,
    ...(isAccountRefused(error) ? { accountRefused: error.message } : {}),
  });
}
