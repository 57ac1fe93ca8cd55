import { type BounceType, type Classification, classify, type ReplyClass } from '../bounces/classify.ts';
import * as phrases from '../bounces/phrases.ts';
import { type Codes, isSpecific, readCodes } from './codes.ts';
import type { Section } from './notice.ts';
import { findReason, meaningOf } from './reason.ts';
import type { StatusGroup } from './status.ts';

/** A report about one recipient. */
export interface RecipientReport {
  /** As the report writes it; absent if it names no address. */
  address?: string;
  original?: string;
  action: 'failed' | 'delayed' | 'delivered' | 'relayed';
  bounceType: BounceType;
  class: ReplyClass;
  code?: number;
  enhanced?: string;
  diagnostic: string;
  remoteMta?: string;
}

const maxDiagnosticLength = 1_000;
/** A code with at most one word; the surrounding text says more. */
const isTerse = (diagnostic: string): boolean => (phrases.normalize(diagnostic).match(/\p{L}{2,}/gu)?.length ?? 0) < 2;

/** Remote text, bounded and without control characters. */
export const cleanText = (text: string, maxLength: number): string =>
  text
    .slice(0, 4 * maxLength)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, maxLength)
    .toWellFormed();

/** Classifies by the machine-readable fields first, and by the human-readable text if these do not decide. */
export function reportFromGroup(group: StatusGroup, notice: string, common: string): RecipientReport {
  const spoken = readCodes(group.diagnostic);
  const around = readCodes(notice);
  const codes = mergeCodes(spoken, { stage: '', ...(group.status === undefined ? {} : { enhanced: group.status }) }, around);
  // An explicit X.0.0 in the diagnostic means the server knows no better code.
  if (spoken.enhanced?.endsWith('.0.0')) codes.enhanced = spoken.enhanced;
  const first = classify({ ...codes, text: group.diagnostic });
  const isVague = first.class === 'Uncategorized' || isTerse(group.diagnostic);
  const full = isVague ? classify({ ...codes, text: `${group.diagnostic};\n${notice}` }) : first;
  // Many notices add general advice about rules and networks. It does not override a code about the recipient.
  const isAdvice =
    full.class === 'PolicyRelated' || full.class === 'RoutingErrors' || phrases.severalCauses.test(phrases.normalize(notice));
  const best = first.bounceType === 'hard' && isAdvice ? first : full;
  const { address, original, remoteMta } = group;
  return {
    ...(address === undefined ? {} : { address: cleanText(address, 320) }),
    ...(original === undefined ? {} : { original: cleanText(original, 320) }),
    action: actionOf(group.action),
    ...show(best.bounceType === 'hard' ? (milderOf(common) ?? best) : best, codes, reasonOf(group, notice, codes)),
    ...(remoteMta === undefined ? {} : { remoteMta: cleanText(remoteMta, 255) }),
  };
}

/** Classifies a human-readable section. */
export function reportFromSection({ address, text }: Section, common: string, subject: string, isDelay: boolean): RecipientReport {
  const codes = mergeCodes(readCodes(text), readCodes(common));
  const first = classify({ ...codes, text });
  const judged = first.class === 'Uncategorized' ? classify({ ...codes, text: `${text}\n${common}\n${subject}` }) : first;
  return {
    ...(address ? { address: cleanText(address, 320) } : {}),
    action: isDelay ? 'delayed' : 'failed',
    ...show(
      judged.bounceType === 'hard' ? (milderOf(common) ?? judged) : judged,
      codes,
      findReason(text).reason || findReason(common).reason || subject || meaningOf(codes.enhanced),
    ),
  };
}

/** The remote server's reason, without the boilerplate of its reports. */
function reasonOf({ diagnostic }: StatusGroup, notice: string, { enhanced }: Codes): string {
  if (!isTerse(diagnostic)) return diagnostic;
  const { reason, isSure } = findReason(notice);
  if (isSure) return reason;
  return diagnostic || (isSpecific(enhanced) ? meaningOf(enhanced) : reason || meaningOf(enhanced));
}

/** The first code of each kind; a specific enhanced code wins over a generic one. */
function mergeCodes(...sources: Codes[]): Codes {
  const enhanced = sources.map((one) => one.enhanced);
  const best = enhanced.find(isSpecific) ?? enhanced.find((one) => one !== undefined);
  const code = sources.find((one) => one.code !== undefined)?.code;
  return {
    ...(code === undefined ? {} : { code }),
    ...(best === undefined ? {} : { enhanced: best }),
    stage: sources.find(({ stage }) => stage !== '')?.stage ?? '',
  };
}

const show = ({ bounceType, class: of }: Classification, { code, enhanced }: Codes, words: string) => ({
  bounceType,
  class: of,
  ...(code === undefined ? {} : { code }),
  ...(enhanced === undefined ? {} : { enhanced }),
  diagnostic: cleanText(words, maxDiagnosticLength),
});

/**
 * If the text says that the mailbox is full or disabled, it exists, so the code is too harsh. This does not apply to text that lists all causes:
 * full, disabled or unknown.
 */
function milderOf(common: string): Classification | undefined {
  if (phrases.unknownUser.test(phrases.normalize(common))) return undefined;
  const judged = classify({ text: common, stage: '' });
  return judged.class === 'QuotaIssues' || judged.class === 'InactiveMailbox' ? judged : undefined;
}

const actionOf = (action: string | undefined): RecipientReport['action'] => {
  if (action === 'delayed') return 'delayed';
  if (action === 'relayed' || action === 'expanded') return 'relayed';
  return action === 'delivered' ? 'delivered' : 'failed';
};
