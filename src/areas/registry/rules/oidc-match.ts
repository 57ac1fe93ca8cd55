import { matchesSubject } from './subject-pattern.ts';

// Whether a rule admits an ID token. The exchange and the answer to “would this subject match?” ask the same function.

export const maxSubjectLength = 2048;

/** What a token claims; what is absent is not compared. */
export interface Claims {
  issuer?: string;
  subject: string;
  audiences?: readonly string[];
}

interface Rule {
  issuer: string;
  audience: string;
  subject_pattern: string;
}

/** The first claim that the rule does not take; undefined: it admits the token. */
export function mismatchOf(rule: Rule, { issuer, subject, audiences }: Claims): 'issuer' | 'audience' | 'subject' | undefined {
  if (issuer !== undefined && issuer !== rule.issuer) return 'issuer';
  if (audiences !== undefined && !audiences.includes(rule.audience)) return 'audience';
  if (subject.length > maxSubjectLength || !matchesSubject(rule.subject_pattern, subject)) return 'subject';
  return undefined;
}

type Mode = 'pull' | 'readwrite';

/** Of the rules that admit a token: one with the requested mode, else one with the widest mode; among these the first. */
export function bestOf<R extends { mode: Mode }>(rules: readonly R[], mode: Mode | undefined): R | undefined {
  const order: Mode[] = mode === 'pull' ? ['pull', 'readwrite'] : mode === 'readwrite' ? ['readwrite'] : ['readwrite', 'pull'];
  for (const wanted of order) {
    const fitting = rules.find((r) => r.mode === wanted);
    if (fitting) return fitting;
  }
  return undefined;
}
