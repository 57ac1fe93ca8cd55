import type { App } from '../../../../kernel/app.ts';
import { asFailure, dislikesCallback, isBroken } from '../twilio/outcome.ts';
import { type ProviderAccount, providerAccount } from '../../engine/provider.ts';
import { markBroken } from '../../store/provider.ts';
import { PageFailed, type PageToSend } from './channel.ts';

export interface Reachable {
  account: ProviderAccount;
  phone: string;
}

/** What sms and voice both need. Wanting is a failure that everybody sees, never a page that quietly stays away. */
export async function reachable(app: App, page: PageToSend): Promise<Reachable> {
  const account = await app.db.read((tx) => providerAccount(tx, app, page.org));
  if (!account)
    throw new PageFailed(
      'no-credential: the organization has no SMS and voice provider; an admin sets one with PUT /api/v1/oncall/provider',
      true,
    );
  if (!page.address) throw new PageFailed(`${page.user.label} has given no phone`, true);
  return { account, phone: page.address };
}

export const callbackUrl = (app: App, page: { org: string; id: string }, what: 'status' | 'gather') =>
  `${app.publicUrl()}/api/v1/oncall/twilio/${page.org}/${page.id}/${what}`;

/** With the reports we want, or without them where the provider cannot reach us: a page matters more than its report. */
export async function handOver(app: App, page: PageToSend, send: (statusCallback: string | undefined) => Promise<string>): Promise<string> {
  try {
    return await send(callbackUrl(app, page, 'status')).catch((error) => {
      if (dislikesCallback(error)) return send(undefined);
      throw error;
    });
  } catch (error) {
    if (isBroken(error)) await app.db.write((tx) => markBroken(tx, page.org, error.message)).catch(() => {});
    throw asFailure(error);
  }
}
