import type { Failing } from '../../../../../../contract/overview.ts';
import { maxListed, type OverviewSource } from '../../../../ports.ts';
import { failingWebhooks } from '../../store/ports/overview.ts';
import { byHand } from '../endpoints.ts';

export const webhooksOverview: OverviewSource = {
  entitlement: 'email',
  async read(tx, { org, reach }) {
    if (reach('email.webhook.read') !== '*') return {};
    const found = await failingWebhooks(tx, org, byHand, maxListed);
    const items = found.map(({ id, url, since, is_disabled, disabled_reason }): Failing => {
      const reason = is_disabled ? `disabled: ${disabled_reason ?? 'no reason is known'}` : 'every delivery fails; look at its deliveries';
      return { kind: 'webhook', id, name: url, since, reason };
    });
    return { failing: { items, total: found[0]?.total ?? 0 } };
  },
};
