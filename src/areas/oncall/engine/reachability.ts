import type { App } from '../../../kernel/app.ts';
import type { Db, Tx } from '../../../kernel/db/index.ts';
import type { SendContext } from '../clients/channels/channel.ts';
import { type ChannelName, channels, type Reachability } from '../rules/channels.ts';
import { claimedProviderIds, type ProviderRow, provider } from '../store/provider.ts';
import { isStopped } from '../store/settings.ts';
import { describeAlerts } from './pages/describe-alerts.ts';
import { openAccount } from './provider.ts';

type Settings = Pick<App, 'config' | 'mail' | 'secrets'>;

const providerState = (found: ProviderRow | undefined): Reachability['provider'] =>
  !found ? 'none' : found.broken === null ? 'works' : 'broken';

/** For whoever knows the rest of several people of one organization: each of them as they could be reached now. */
export async function reachabilityOf(tx: Tx, app: Pick<App, 'mail'>, org: string) {
  const common = { provider: providerState(await provider(tx, org)), relay: app.mail.leaves() };
  return ({ email, phone, stopped }: Pick<Reachability, 'email' | 'phone' | 'stopped'>): Reachability => ({
    ...common,
    email,
    phone,
    stopped,
  });
}

/** For whoever looks at several people of one organization: each of them as they could be reached now. */
export async function reachabilityOfMembers(tx: Tx, app: Pick<App, 'mail'>, org: string) {
  const reachOf = await reachabilityOf(tx, app, org);
  return async ({ id, email, phone }: { id: string; email: string; phone: string | null }): Promise<Reachability> =>
    reachOf({ email, phone, stopped: await isStopped(tx, org, id) });
}

/** Somebody who saves their settings: doing so lifts an earlier STOP. */
export const reachabilityAfterSave = async (
  tx: Tx,
  app: Pick<App, 'mail'>,
  org: string,
  person: { email: string; phone: string | null },
): Promise<Reachability> => ({ ...person, stopped: false, provider: providerState(await provider(tx, org)), relay: app.mail.leaves() });

export interface PageRoute {
  reach: Reachability;
  context: SendContext;
}

/** The way that a page about to go out takes, at this moment: its address is the one of the step that fired. */
export async function findRoute(
  db: Db,
  app: Settings,
  org: string,
  page: { channel: ChannelName; user_id: string; incident_id: string; address: string | null },
): Promise<PageRoute> {
  const { goesTo } = channels[page.channel];
  const [account, stopped] =
    goesTo === 'phone' ? await db.read((tx) => Promise.all([provider(tx, org), isStopped(tx, org, page.user_id)])) : [undefined, false];
  // What was known a moment ago may keep no page back: the sender's domain may have been verified since.
  const relay = app.mail.leaves() || (goesTo === 'email' && ((await app.mail.look?.()) ?? false));
  return {
    reach: { email: null, phone: null, [goesTo]: page.address, stopped, provider: providerState(account), relay },
    context: {
      account: account && openAccount(app, org, account),
      claimedIds: (providerIds) => db.read((tx) => claimedProviderIds(tx, org, providerIds)),
      // A page matters more than what it tells.
      loadAlerts: () => db.read((tx) => describeAlerts(tx, org, page.incident_id)).catch(() => ({ alerts: [], moreAlerts: 0 })),
    },
  };
}
