import { classify } from '../bounces/classify.ts';
import { normalize } from '../bounces/phrases.ts';

const maxLines = 300;
const maxLineLength = 400;
/** Boilerplate lines of notices: greeting, failure statement, headers. None gives the reason. */
const frame =
  /^(?:hi[.!,]|hello\b|dear\b|this (?:is (?:the|an?)\b|message was (?:created|generated)|report\b)|i'm (?:sorry|afraid)|i was(?:n't)?\b|sorry\b.{0,60}(?:deliver|inform)|a message (?:that )?(?:you sent|is delayed)|message status\b|list of recipients|address\(es\) failed|(?:an? )?(?:error|problem) (?:has )?occurred|your (?:e-?)?(?:message|mail)\b|the (?:following|mail system|original|message (?:that )?you|recipients?:|e-?mail (?:message )?you)|(?:the )?following\b|recipients?\b|delivery (?:to|of|has|status)|below\b|(?:was|could|can|did|has|is|be)(?: ?not|n't)? (?:be |been )?(?:deliver|reach|undeliver)|be delivered|because:?$|for further|if you\b|please (?:do not|include|note|contact)|delete your own|undeliver|returned? |unable to deliver message|reporting-mta|content-|(?:subj|subject|to|from|date|sent|message-id|action|status|final-recipient|original-recipient|arrival-date|received-from-mta|remote-mta|reporting-mta) ?:|\W*$)/i;
const code = /(?:^|[\s:;("'<>-])[45]\d\d(?=[ -]\S)|(?:^|[^\d.])[45]\.\d{1,3}\.\d{1,3}(?![\d.])/;

/** The reason in a human-readable notice; empty if none. `isSure`: a server reply, or words that can be classified. */
export function findReason(text: string): { reason: string; isSure: boolean } {
  const lines = text.split('\n', maxLines).map((line) => line.slice(0, maxLineLength).trim());
  const candidates = lines.map((line, n) => ({ line, n })).filter(({ line }) => /\p{L}{2,}/u.test(normalize(line)) || code.test(line));
  const sure = candidates.find(({ line }) => code.test(line)) ?? candidates.find(({ line }) => !frame.test(line) && isMeaningful(line));
  const found = sure ?? candidates.find(({ line }) => !frame.test(line));
  return { reason: found ? paragraphFrom(lines, found.n) : '', isSure: sure !== undefined };
}

const isMeaningful = (line: string): boolean => classify({ text: line, stage: '' }).class !== 'Uncategorized';

/** Up to the next empty line, since servers fold long replies. */
function paragraphFrom(lines: readonly string[], from: number): string {
  const end = lines.indexOf('', from);
  return lines.slice(from, Math.min(end < 0 ? lines.length : end, from + 6)).join(' ');
}

/** RFC 3463 texts, for reports with a code only. */
const meanings: Record<string, string> = {
  '1.1': 'bad destination mailbox address',
  '1.2': 'bad destination system address',
  '1.3': 'bad destination mailbox address syntax',
  '1.6': 'destination mailbox has moved',
  '2.1': 'mailbox disabled, not accepting messages',
  '2.2': 'mailbox full',
  '2.3': 'message too long for the mailbox',
  '3.2': 'system not accepting network messages',
  '3.4': 'message too big for the system',
  '4.1': 'no answer from host',
  '4.2': 'bad connection',
  '4.4': 'unable to route',
  '4.6': 'routing loop',
  '4.7': 'delivery time expired',
  '6.0': 'media error',
  '7.1': 'delivery not authorized, message refused',
};

export function meaningOf(enhanced: string | undefined): string {
  if (enhanced === undefined) return '';
  const meaning = meanings[enhanced.slice(2)];
  return meaning === undefined ? enhanced : `${enhanced} ${meaning}`;
}
