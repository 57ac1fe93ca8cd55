import type { RetryAdvice } from '../../../kernel/errors.ts';

/** Codes of Twilio after which the same message may still go through. */
const temporary = new Set([20429, 30001, 30008]);
/** Codes that are not about the message: the account is suspended, the phone is switched off or out of reach. */
const mended = new Set([20005, 30002, 30003]);

export const lastingOfCode = (code: number | undefined): RetryAdvice =>
  temporary.has(code ?? 0) ? 'for now' : mended.has(code ?? 0) ? 'until mended' : 'for good';

export type Report = { is: 'delivered' } | { is: 'failed'; lasting: RetryAdvice; sentence: string } | { is: 'underway' };

/** What the provider's report about a message means. */
export function messageReport(status: string, code: number | undefined): Report {
  if (status === 'delivered' || status === 'read') return { is: 'delivered' };
  if (status === 'failed' || status === 'undelivered')
    return { is: 'failed', lasting: lastingOfCode(code), sentence: `the provider could not deliver it${code ? ` (${code})` : ''}` };
  return { is: 'underway' };
}

const endsOfCalls: Record<string, string> = {
  busy: 'the line was busy',
  'no-answer': 'nobody answered',
  failed: 'the call could not be made',
  canceled: 'the call was canceled',
  completed: 'somebody or a voicemail box answered, but no key was pressed',
};

/** What its report about a call means. One that ended without a key pressed reached nobody: busy, no answer, and a voicemail box alike. */
export function callReport(status: string): Report {
  const sentence = endsOfCalls[status];
  return sentence ? { is: 'failed', lasting: 'for good', sentence } : { is: 'underway' };
}
