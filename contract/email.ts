import { area } from './common.ts';
import { domainOps } from './email/domains.ts';
import { keyOps } from './email/keys.ts';
import { messageOps } from './email/messages.ts';
import { routeOps } from './email/routes.ts';
import { sendOps } from './email/send.ts';
import { suppressionOps } from './email/suppressions.ts';
import { webhookOps } from './email/webhooks.ts';

export const email = area(
  {
    name: 'email',
    label: 'Email',
    description: 'Sending domains, send keys, inbound routes, the message log, suppressions and webhooks',
    unauthenticated: 'no valid session',
    away: 502,
    errors: {
      403: 'email is not enabled for the organization (private beta), or the caller lacks the permission, possibly on this domain',
      404: 'unknown, or not of this organization, or content past its retention window',
      502: 'the email backend is unreachable',
    },
  },
  { ...keyOps, ...routeOps, ...domainOps, ...messageOps, ...suppressionOps, ...webhookOps, ...sendOps },
);
