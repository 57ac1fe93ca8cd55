import type { RuleRow } from '../store/rules.ts';

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
