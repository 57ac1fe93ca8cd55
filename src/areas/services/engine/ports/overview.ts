import type { OverviewSource } from '../../../ports.ts';
import { hasService } from '../../store/services.ts';

/** Uptime and on-call share services: the right to make one in either is enough. */
export const servicesOverview: OverviewSource = {
  async read(tx, { org, reach, principal }) {
    const mayCreate =
      reach('oncall.service.write') === '*' || (principal.entitlements.has('uptime') && reach('uptime.service.write') === '*');
    return mayCreate ? { firstSteps: [{ step: 'service', done: await hasService(tx, org) }] } : {};
  },
};
