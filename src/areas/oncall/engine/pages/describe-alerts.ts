import type { Tx } from '../../../../kernel/db/index.ts';
import { asLink, type PageContent, pageLimits } from '../../rules/page-mail.ts';
import { alertsForPage } from '../../store/page-alerts.ts';

/** The firing alerts of an incident, limited to what a page shows. */
export async function describeAlerts(tx: Tx, org: string, incidentId: string): Promise<Pick<PageContent, 'alerts' | 'moreAlerts'>> {
  const found = await alertsForPage(tx, org, incidentId, pageLimits);
  return {
    alerts: found.map((a) => ({
      title: a.title,
      labels: a.labels,
      moreLabels: a.more_labels,
      runbook: asLink(a.runbook),
      source: asLink(a.generator_url),
    })),
    moreAlerts: Math.max(0, (found[0]?.firing ?? 0) - found.length),
  };
}
