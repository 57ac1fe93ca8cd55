import type { App } from '../../../kernel/app.ts';

const sealContext = 'oncall.ack-link';

/** A link that acknowledges as the paged person. The token is sealed, so a link cannot be forged for another page. */
export const ackUrl = (app: App, org: string, pageId: string): string =>
  `${app.publicUrl()}/oncall/ack/${app.secrets.seal(`${org} ${pageId}`, sealContext).toString('base64url')}`;

/** The page of a link; undefined if the token is not ours. */
export function readAckLink(app: App, token: string): { org: string; pageId: string } | undefined {
  try {
    const [org, pageId] = app.secrets.unseal(Buffer.from(token, 'base64url'), sealContext).split(' ');
    return org && pageId ? { org, pageId } : undefined;
  } catch {
    return undefined;
  }
}
