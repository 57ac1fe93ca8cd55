import type { RetryAdvice } from '../../../kernel/errors.ts';

/** Twilio codes after which the same message may still succeed. */
const temporaryCodes = new Set([20429, 30001, 30008]);
/** Codes that are not about the message: the account is suspended, or the phone is off or unreachable. */
const waitForRepairCodes = new Set([20005, 30002, 30003]);

export const retryAdviceOfCode = (code: number | undefined): RetryAdvice =>
  temporaryCodes.has(code ?? 0) ? 'for now' : waitForRepairCodes.has(code ?? 0) ? 'until mended' : 'for good';

export type Report = { is: 'delivered' } | { is: 'failed'; retryAdvice: RetryAdvice; sentence: string } | { is: 'underway' };

/** Interprets the provider's report about a message. */
export function messageReport(status: string, code: number | undefined): Report {
  if (status === 'delivered' || status === 'read') return { is: 'delivered' };
  if (status === 'failed' || status === 'undelivered')
    return { is: 'failed', retryAdvice: retryAdviceOfCode(code), sentence: `the provider could not deliver it${code ? ` (${code})` : ''}` };
  return { is: 'underway' };
}

const callEndSentences: Record<string, string> = {
  busy: 'the line was busy',
  'no-answer': 'nobody answered',
  failed: 'the call could not be made',
  canceled: 'the call was canceled',
  completed: 'somebody or a voicemail box answered, but no key was pressed',
};

/** Interprets a report about a call. A call without a pressed key is a failure: busy, no answer and voicemail alike. */
export function callReport(status: string): Report {
  const sentence = callEndSentences[status];
  return sentence ? { is: 'failed', retryAdvice: 'for good', sentence } : { is: 'underway' };
}
