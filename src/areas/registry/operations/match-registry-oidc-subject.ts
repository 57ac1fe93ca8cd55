import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { findRegistry } from '../engine/find-registry.ts';
import { bestOf, type Claims, mismatchOf } from '../rules/oidc-match.ts';
import { overbroadPattern } from '../rules/subject-pattern.ts';
import { tooManyWildcards } from '../rules/wildcards.ts';
import { rulesOf } from '../store/rules.ts';
import { matchView } from '../views/oidc-rule.ts';

export const matchRegistryOidcSubject = operation(registry.matchRegistryOidcSubject, async ({ ctx, params, body }) => {
  const { subject, issuer, audience, mode, subjectPattern } = body;
  const claims: Claims = {
    subject,
    ...(issuer === undefined ? {} : { issuer }),
    ...(audience === undefined ? {} : { audiences: [audience] }),
  };
  const found = await ctx.read(async (tx) => {
    const { id } = await findRegistry(tx, ctx, params.slug);
    return rulesOf(tx, ctx.org, id);
  });
  if (subjectPattern !== undefined) {
    const unfit = tooManyWildcards(subjectPattern) ?? (issuer === undefined ? undefined : overbroadPattern(issuer, subjectPattern));
    if (unfit) invalid(`subjectPattern: ${unfit}`);
    const rule = { issuer: issuer ?? '', audience: audience ?? '', subject_pattern: subjectPattern };
    return ok({ admitted: mismatchOf(rule, claims) === undefined, rules: [] });
  }
  const rules = found.toReversed(); // the oldest first, as the exchange reads them
  const best = bestOf(
    rules.filter((rule) => mismatchOf(rule, claims) === undefined),
    mode,
  );
  return ok({
    admitted: best !== undefined,
    ...(best ? { ruleId: best.id, mode: mode ?? best.mode } : {}),
    rules: rules.map((rule) => matchView(rule, mismatchOf(rule, claims))),
  });
});
