import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { checkPrefixes } from '../engine/credentials/check-prefixes.ts';
import { createRule } from '../engine/credentials/keys.ts';
import { lockRegistry } from '../engine/find-registry.ts';
import type { OpenRegistry } from '../open.ts';
import { badIssuer } from '../rules/issuer.ts';
import { overbroadPattern } from '../rules/subject-pattern.ts';
import { tooManyWildcards } from '../rules/wildcards.ts';
import { ruleView } from '../views/oidc-rule.ts';

export const createRegistryOidcRule = operation(registry.createRegistryOidcRule, async ({ ctx, params, body }, { oidc }: OpenRegistry) => {
  const { issuer, audience, subjectPattern, mode, name = subjectPattern.slice(0, 100) } = body;
  const wrong = badIssuer(issuer, oidc.mayBePlain);
  if (wrong) invalid(wrong);
  ctx.app.guard.checkUrl('oidc', issuer);
  const unfit = tooManyWildcards(subjectPattern) ?? overbroadPattern(issuer, subjectPattern);
  if (unfit) invalid(`subjectPattern: ${unfit}`);
  const prefixes = checkPrefixes(body.repoPrefixes);

  return ctx.write(async (tx) => {
    const found = await lockRegistry(tx, ctx, params.slug);
    const rule = await createRule(tx, ctx.org, found.id, { name, issuer, audience, subject_pattern: subjectPattern, mode, prefixes });
    await audit(tx, ctx, 'registry.oidc.create', found, { rule: rule.id, issuer, audience, subjectPattern, mode, repoPrefixes: prefixes });
    return created(ruleView(rule), `/registry/registries/${found.slug}/oidc-rules/${rule.id}`);
  });
});
