import type { App } from '../../../kernel/app.ts';
import type { Db, Tx } from '../../../kernel/db/index.ts';
import type { Means } from '../clients/channels/channel.ts';
import { type ChannelName, channels, type Reach } from '../rules/channels.ts';
import { type ProviderRow, provider, takenIds } from '../store/provider.ts';
import { isStopped } from '../store/settings.ts';
import { describeAlerts } from './pages/describe-alerts.ts';
import { openAccount } from './provider.ts';

type Settings = Pick<App, 'config' | 'mail' | 'secrets'>;

const providerState = (found: ProviderRow | undefined): Reach['provider'] => (!found ? 'none' : found.broken === null ? 'works' : 'broken');

/** For whoever knows the rest of several people of one organization: each of them as they could be reached now. */
export async function reachOfKnown(tx: Tx, app: Pick<App, 'mail'>, org: string) {
  const common = { provider: providerState(await provider(tx, org)), relay: app.mail.leaves() };
  return ({ email, phone, stopped }: Pick<Reach, 'email' | 'phone' | 'stopped'>): Reach => ({ ...common, email, phone, stopped });
}

/** For whoever looks at several people of one organization: each of them as they could be reached now. */
export async function reachOfMembers(tx: Tx, app: Pick<App, 'mail'>, org: string) {
  const reachOf = await reachOfKnown(tx, app, org);
  return async ({ id, email, phone }: { id: string; email: string; phone: string | null }): Promise<Reach> =>
    reachOf({ email, phone, stopped: await isStopped(tx, org, id) });
}

/** Somebody who saves their settings: doing so lifts an earlier STOP. */
export const reachOnceSaved = async (
  tx: Tx,
  app: Pick<App, 'mail'>,
  org: string,
  person: { email: string; phone: string | null },
): Promise<Reach> => ({ ...person, stopped: false, provider: providerState(await provider(tx, org)), relay: app.mail.leaves() });

export interface Way {
  reach: Reach;
  means: Means;
}

/** The way that a page about to go out takes, at this moment: its address is the one of the step that fired. */
export async function findWay(
  db: Db,
  app: Settings,
  org: string,
  page: { channel: ChannelName; user_id: string; incident_id: string; address: string | null },
): Promise<Way> {
  const { goesTo } = channels[page.channel];
  const [account, stopped] =
    goesTo === 'phone' ? await db.read((tx) => Promise.all([provider(tx, org), isStopped(tx, org, page.user_id)])) : [undefined, false];
  // What was known a moment ago may keep no page back: the sender's domain may have been verified since.
  const relay = app.mail.leaves() || (goesTo === 'email' && ((await app.mail.look?.()) ?? false));
  return {
    reach: { email: null, phone: null, [goesTo]: page.address, stopped, provider: providerState(account), relay },
    means: {
      account: account && openAccount(app, org, account),
      claimed: (providerIds) => db.read((tx) => takenIds(tx, org, providerIds)),
      // A page matters more than what it tells.
      alerts: () => db.read((tx) => describeAlerts(tx, org, page.incident_id)).catch(() => ({ alerts: [], moreAlerts: 0 })),
    },
  };
}
