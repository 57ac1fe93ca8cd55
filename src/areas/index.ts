import { account } from './account/index.ts';
import type { AnyArea } from './area.ts';
import { certificates } from './certificates/index.ts';
import { clusters } from './clusters/index.ts';
import { consoleArea } from './console/index.ts';
import { email } from './email/index.ts';
import { iam } from './iam/index.ts';
import { live } from './live/index.ts';
import { oncall } from './oncall/index.ts';
import { organization } from './organization/index.ts';
import { overview } from './overview/index.ts';
import { registry } from './registry/index.ts';
import { services } from './services/index.ts';
import { status } from './status/index.ts';
import { tokens } from './tokens/index.ts';
import { uptime } from './uptime/index.ts';

/** Every area of the product. A new one is a folder and a line here. Status pages first: on a host of their own nothing else answers. */
export const areas: readonly AnyArea[] = [
  status,
  certificates,
  tokens,
  iam,
  organization,
  account,
  services,
  registry,
  email,
  clusters,
  uptime,
  oncall,
  overview,
  live,
  consoleArea,
];
