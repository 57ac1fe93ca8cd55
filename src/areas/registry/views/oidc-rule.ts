import type { RuleRow } from '../store/rules.ts';

/** A rule beside what of a token it does not take. */
export const matchView = (r: RuleRow, mismatch: 'issuer' | 'audience' | 'subject' | undefined) => ({
  id: r.id,
  name: r.name,
  subjectPattern: r.subject_pattern,
  mode: r.mode,
  matches: mismatch === undefined,
  ...(mismatch ? { mismatch } : {}),
});

export const ruleView = (r: RuleRow) => ({
  id: r.id,
  name: r.name,
  issuer: r.issuer,
  audience: r.audience,
  subjectPattern: r.subject_pattern,
  mode: r.mode,
  repoPrefixes: r.prefixes,
  createdAt: r.created_at,
});
