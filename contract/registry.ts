import { area } from './common.ts';
import { accessOps } from './registry/access.ts';
import { imageOps } from './registry/images.ts';
import { oidcOps } from './registry/oidc.ts';
import { registryOps } from './registry/registries.ts';
import { upstreamOps } from './registry/upstreams.ts';

export const registry = area(
  {
    name: 'registry',
    label: 'Container registry',
    description: 'Container image registries, their images, keys and logins, OIDC access for CI, and the pull-through cache',
    unauthenticated: 'unauthenticated',
    away: 503,
  },
  { ...registryOps, ...imageOps, ...accessOps, ...oidcOps, ...upstreamOps },
);
