import { clusters } from './clusters.ts';
import type { Op } from './common.ts';
import { email } from './email.ts';
import { iam } from './iam.ts';
import { oncall } from './oncall.ts';
import { organization } from './organization.ts';
import { registry } from './registry.ts';
import { statusPages } from './status-pages.ts';
import { tokens } from './tokens.ts';
import { uptime } from './uptime.ts';

/** Every operation of the control API, served or not. */
export const contract: Op[] = [tokens, iam, organization, registry, email, oncall, clusters, uptime, statusPages].flatMap((ops): Op[] =>
  Object.values(ops),
);
