import { PageFailed } from '../channels/channel.ts';
import { TwilioRefusal } from './client.ts';

/** Codes after which the same message may still go through. */
const temporary = new Set([20429, 30001, 30008]);
/** The account itself is refused: every page will be, until somebody sets it again. */
const broken = new Set([20003, 20404]);
/** The provider cannot reach our address for its reports; the page itself is fine without them. */
const noCallback = new Set([21609, 21604, 11200]);

export const isBroken = (error: unknown): error is TwilioRefusal =>
  error instanceof TwilioRefusal && (error.status === 401 || broken.has(error.code ?? 0));
export const dislikesCallback = (error: unknown): boolean => error instanceof TwilioRefusal && noCallback.has(error.code ?? 0);

/** What a refusal means for the page: for good, unless the provider itself says that it may pass. */
export const asFailure = (error: unknown): PageFailed =>
  error instanceof TwilioRefusal
    ? new PageFailed(`the provider refused: ${error.message}${error.code ? ` (${error.code})` : ''}`, !temporary.has(error.code ?? 0), {
        cause: error,
      })
    : new PageFailed(error instanceof Error ? error.message : String(error), false, { cause: error });

/** What a report about a message means. */
export function messageReport(
  status: string,
  code: number | undefined,
): { is: 'delivered' } | { is: 'failed'; permanent: boolean; sentence: string } | { is: 'underway' } {
  if (status === 'delivered' || status === 'read') return { is: 'delivered' };
  if (status === 'failed' || status === 'undelivered') {
    return { is: 'failed', permanent: !temporary.has(code ?? 0), sentence: `the provider could not deliver it${code ? ` (${code})` : ''}` };
  }
  return { is: 'underway' };
}

/** A call that ended without a key pressed reached nobody: busy, no answer, and a voicemail box alike. */
export function callReport(status: string): { is: 'failed'; permanent: boolean; sentence: string } | { is: 'underway' } {
  const said: Record<string, string> = {
    busy: 'the line was busy',
    'no-answer': 'nobody answered',
    failed: 'the call could not be made',
    canceled: 'the call was canceled',
    completed: 'somebody or a voicemail box answered, but no key was pressed',
  };
  return said[status] ? { is: 'failed', permanent: true, sentence: said[status] } : { is: 'underway' };
}
