import type { App } from '../../../../kernel/app.ts';
import { dataPlaneHost } from '../../views/registry.ts';
import { OciError } from './errors.ts';

/** Tells a client where to fetch a token, and for what. */
export function challenge(app: App, scope: string | undefined, insufficient = false): OciError {
  const parts = [`realm="${app.publicUrl()}/token"`, `service="${dataPlaneHost(app)}"`];
  if (scope) parts.push(`scope="${scope}"`);
  if (insufficient) parts.push('error="insufficient_scope"');
  const sentence = insufficient
    ? 'the token was not issued for this; fetch one with the scope in WWW-Authenticate'
    : 'log in first: docker login, or a token from the realm in WWW-Authenticate';
  return new OciError('UNAUTHORIZED', sentence, { headers: { 'WWW-Authenticate': `Bearer ${parts.join(',')}` } });
}
