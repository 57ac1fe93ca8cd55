import { type BounceType, classify, type Judgement, type ReplyClass } from '../bounces/classify.ts';
import * as said from '../bounces/phrases.ts';
import { type Codes, isTelling, readCodes } from './codes.ts';
import type { Section } from './notice.ts';
import { findReason, meaningOf } from './reason.ts';
import type { StatusGroup } from './status.ts';

/** What a report says of one recipient. */
export interface Reported {
  /** As the report names it; absent where it names nobody. */
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

const mostDiagnostic = 1_000;
/** A code, and at most one word beside it: the sentences around it say more. */
const isTerse = (diagnostic: string): boolean => (said.normalize(diagnostic).match(/\p{L}{2,}/gu)?.length ?? 0) < 2;

/** Words of strangers, as a database and a person can take them. */
export const cleanText = (text: string, most: number): string =>
  text
    .slice(0, 4 * most)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed();

/** What the machine says counts first; the words for people where it says nothing that can be decided. */
export function judgeGroup(group: StatusGroup, notice: string, common: string): Reported {
  const spoken = readCodes(group.diagnostic);
  const around = readCodes(notice);
  const codes = mergeCodes(spoken, { stage: '', ...(group.status === undefined ? {} : { enhanced: group.status }) }, around);
  // Whoever says X.0.0 in so many words knows of nothing better.
  if (spoken.enhanced?.endsWith('.0.0')) codes.enhanced = spoken.enhanced;
  const first = classify({ ...codes, text: group.diagnostic });
  const isVague = first.class === 'Uncategorized' || isTerse(group.diagnostic);
  const full = isVague ? classify({ ...codes, text: `${group.diagnostic};\n${notice}` }) : first;
  // Advice stands in many notices, about rules, networks and all that may be: it does not take back what a code says of the recipient.
  const isAdvice = full.class === 'PolicyRelated' || full.class === 'RoutingErrors' || said.unsure.test(said.normalize(notice));
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

/** What is said for people alone. */
export function judgeSection({ address, text }: Section, common: string, subject: string, isDelay: boolean): Reported {
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

/** Why, in the other side's words: not the sentences around it, which every report of that server has. */
function reasonOf({ diagnostic }: StatusGroup, notice: string, { enhanced }: Codes): string {
  if (!isTerse(diagnostic)) return diagnostic;
  const { reason, isSure } = findReason(notice);
  if (isSure) return reason;
  return diagnostic || (isTelling(enhanced) ? meaningOf(enhanced) : reason || meaningOf(enhanced));
}

/** The first that says something; a code that says nothing in particular gives way to one that does. */
function mergeCodes(...told: Codes[]): Codes {
  const enhanced = told.map((one) => one.enhanced);
  const best = enhanced.find(isTelling) ?? enhanced.find((one) => one !== undefined);
  const code = told.find((one) => one.code !== undefined)?.code;
  return {
    ...(code === undefined ? {} : { code }),
    ...(best === undefined ? {} : { enhanced: best }),
    stage: told.find(({ stage }) => stage !== '')?.stage ?? '',
  };
}

const show = ({ bounceType, class: of }: Judgement, { code, enhanced }: Codes, words: string) => ({
  bounceType,
  class: of,
  ...(code === undefined ? {} : { code }),
  ...(enhanced === undefined ? {} : { enhanced }),
  diagnostic: cleanText(words, mostDiagnostic),
});

/**
 * Where the words for people say that the mailbox is there, and full or disabled, whatever the code says of it is too hard. Not where they
 * name all that may be: full, disabled, or unknown.
 */
function milderOf(common: string): Judgement | undefined {
  if (said.unknownUser.test(said.normalize(common))) return undefined;
  const judged = classify({ text: common, stage: '' });
  return judged.class === 'QuotaIssues' || judged.class === 'InactiveMailbox' ? judged : undefined;
}

const actionOf = (action: string | undefined): Reported['action'] => {
  if (action === 'delayed') return 'delayed';
  if (action === 'relayed' || action === 'expanded') return 'relayed';
  return action === 'delivered' ? 'delivered' : 'failed';
};
