import { account } from './account.ts';
import { clusters } from './clusters.ts';
import type { Op } from './common.ts';
import { email } from './email.ts';
import { iam } from './iam.ts';
import { live } from './live.ts';
import { oncall } from './oncall.ts';
import { organization } from './organization.ts';
import { overview } from './overview.ts';
import { registry } from './registry.ts';
import { statusPages } from './status-pages.ts';
import { tokens } from './tokens.ts';
import { uptime } from './uptime.ts';

/** Every operation of the control API, served or not. */
export const contract: Op[] = [
  tokens,
  iam,
  organization,
  account,
  registry,
  email,
  oncall,
  clusters,
  uptime,
  statusPages,
  overview,
  live,
].flatMap((ops): Op[] => Object.values(ops));
