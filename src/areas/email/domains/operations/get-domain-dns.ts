import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { now } from '../../../../kernel/time.ts';
import { findDomain } from '../engine/claims.ts';
import { lookUpRecords } from '../engine/look-up.ts';
import { observationView } from '../views/domain.ts';

export const getDomainDns = operation(email.getDomainDns, async ({ ctx, params }) => {
  const [domain, checkedAt] = await ctx.read((tx) => Promise.all([findDomain(tx, ctx, params.id), now(tx)]));
  const observations = await lookUpRecords(ctx.app, domain);
  return ok({ records: observations.map((observation) => observationView(observation, checkedAt)) });
});
