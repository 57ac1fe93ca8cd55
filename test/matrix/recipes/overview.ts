import { run } from '../../../src/kernel/db/index.ts';
import type { Maker, Recipe, Recipes, Thing } from '../recipe.ts';
import { clusters } from './clusters.ts';
import { email } from './email.ts';
import { iam } from './iam.ts';
import { oncall } from './oncall.ts';
import { organization } from './organization.ts';
import { registry } from './registry.ts';
import { status } from './status.ts';
import { tokens } from './tokens.ts';
import { uptime } from './uptime.ts';

/** What the list of this recipe shows. */
const of = ({ lists }: Recipe = {}): Maker => lists!;

const monitorThatIsDown: Maker = async (kitchen) => {
  const its = await of(uptime.listMonitors)(kitchen);
  await kitchen.qd.app.db.write(async (tx) => {
    await run(tx)`update uptime.monitor set enabled = true, vantages = '{nowhere}' where id = ${its.params.id}`;
    await run(tx)`update uptime.monitor_state set state = 'down', since = kernel.now() where monitor_id = ${its.params.id}`;
  });
  return its;
};

/** Found by what addresses it: who may read the thing finds it, and no other caller. */
const search = (list: Recipe | undefined): Recipe => ({
  lists: of(list),
  query: (thing: Thing | undefined) => ({ q: Object.values(thing!.params).at(-1)! }),
});

export const overview: Recipes = {
  getOverview: { lists: of(oncall.listIncidents), cases: { 'a monitor that is down': { lists: monitorThatIsDown } } },
  searchThings: {
    ...search(oncall.listIncidents),
    cases: {
      'a service': search(oncall.listOncallServices),
      'a schedule': search(oncall.listSchedules),
      'a policy': search(oncall.listEscalationPolicies),
      'an alert source': search(oncall.listAlertSources),
      'a monitor': search(uptime.listMonitors),
      "a service's monitor": search(uptime.listMonitors!.cases!["a service's"]),
      'a status page': search(status.listStatusPages),
      'a registry': search(registry.listRegistries),
      'a repository': search(registry.listRegistryRepositories),
      'a domain': search(email.listDomains),
      'a webhook': search(email.listWebhooks),
      'a route': search(email.listRoutes),
      'a message': search(email.listMessages),
      'a cluster': search(clusters.listClusters),
      'a member': search(organization.listMembers),
      'a role': search(iam.listRoles),
      "the maker's token": search(tokens.listTokens),
    },
  },
};
