import type { App } from '../../../kernel/app.ts';
import type { Db, Tx } from '../../../kernel/db/index.ts';
import type { SendContext } from '../clients/channels/channel.ts';
import { type Addresses, noAddresses } from '../rules/addresses.ts';
import { type ChannelName, channels, type Reachability } from '../rules/channels.ts';
import { claimedProviderIds, type ProviderRow, provider } from '../store/provider.ts';
import { isStopped } from '../store/settings.ts';
import { describeAlerts } from './pages/describe-alerts.ts';
import { openAccount } from './provider.ts';

type Settings = Pick<App, 'config' | 'mail' | 'secrets'>;

const providerState = (found: ProviderRow | undefined): Reachability['provider'] =>
  !found ? 'none' : found.broken === null ? 'works' : 'broken';

/** Reads the state shared by an organization once. The result computes reachability for each person from known settings. */
export async function reachabilityOf(tx: Tx, app: Pick<App, 'config' | 'mail'>, org: string) {
  const common = { provider: providerState(await provider(tx, org)), relay: app.mail.leaves() };
  return (person: Addresses, stopped: boolean): Reachability => ({ ...common, ...person, stopped });
}

/** The same, reading each person's STOP. */
export async function reachabilityOfMembers(tx: Tx, app: Pick<App, 'config' | 'mail'>, org: string) {
  const reachabilityFor = await reachabilityOf(tx, app, org);
  return async (id: string, person: Addresses): Promise<Reachability> => reachabilityFor(person, await isStopped(tx, org, id));
}

/** Reachability of a person who saves settings now, which lifts an earlier STOP. */
export const reachabilityAfterSave = async (
  tx: Tx,
  app: Pick<App, 'config' | 'mail'>,
  org: string,
  person: Addresses,
): Promise<Reachability> => (await reachabilityOf(tx, app, org))(person, false);

export interface PageRoute {
  reach: Reachability;
  context: SendContext;
}

/** The current route of a page that is about to be sent. Its address is the one from when the step fired. */
export async function findRoute(
  db: Db,
  app: Settings,
  org: string,
  page: { channel: ChannelName; user_id: string; incident_id: string; address: string | null },
): Promise<PageRoute> {
  const { goesTo } = channels[page.channel];
  const [account, stopped] =
    goesTo === 'phone' ? await db.read((tx) => Promise.all([provider(tx, org), isStopped(tx, org, page.user_id)])) : [undefined, false];
  // Checks the mail setup again: the sender's domain may have been verified since the last check.
  const relay = app.mail.leaves() || (goesTo === 'email' && ((await app.mail.look?.()) ?? false));
  return {
    reach: { email: null, ...noAddresses, [goesTo]: page.address, stopped, provider: providerState(account), relay },
    context: {
      account: account && openAccount(app, org, account),
      claimedIds: (providerIds) => db.read((tx) => claimedProviderIds(tx, org, providerIds)),
      // A page is sent without its alerts if they cannot be read.
      loadAlerts: () => db.read((tx) => describeAlerts(tx, org, page.incident_id)).catch(() => ({ alerts: [], moreAlerts: 0 })),
    },
  };
}
