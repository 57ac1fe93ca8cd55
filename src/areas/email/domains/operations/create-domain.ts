import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { created, operation } from '../../../../identity/operation.ts';
import { invalid } from '../../../../kernel/errors.ts';
import type { OpenEmail } from '../../open.ts';
import * as domains from '../engine/claims.ts';
import { mailHostOf } from '../engine/mail-host.ts';
import { readDomainName } from '../rules/domain-name.ts';
import { domainView } from '../views/domain.ts';

export const createDomain = operation(email.createDomain, async ({ ctx, body }, { makeKeys }: OpenEmail) => {
  const read = readDomainName(body.name);
  if ('why' in read) return invalid(read.why);
  const { name } = read;
  // Making keys is slow, so it runs before the transaction takes a connection, and only if the name is free.
  const isFree = await ctx.read((tx) => domains.isFree(tx, ctx.org, name));
  const keys = isFree ? await makeKeys(ctx.org) : undefined;
  return ctx.write(async (tx) => {
    const made = await domains.createDomain(tx, ctx.app, ctx.org, name, keys);
    await audit(tx, ctx, 'email.domain.create', made, { name });
    return created(domainView(made, mailHostOf(ctx.app)), `/email/domains/${made.id}`);
  });
});
