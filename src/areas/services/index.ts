import { defineArea } from '../area.ts';
import { servicesOverview } from './engine/ports/overview.ts';
import { servicesSearch } from './engine/ports/search.ts';
import { listServices } from './store/services.ts';

export { createService, deleteService, renameService } from './engine/catalog.ts';
export { publicChanged, publicTopic } from './engine/public.ts';
export { listServices, lockService, namedServices, type ServiceRow, serviceById, shareService } from './store/services.ts';

/** The service catalog of uptime, on-call and status pages. Uptime and on-call define its operations; it imports no other area. */
export const services = defineArea({
  name: 'services',
  operations: [],
  migrations: { schema: 'services', folder: new URL('./migrations/', import.meta.url) },
  overview: [servicesOverview],
  search: [servicesSearch],
  resources: [
    { service: 'uptime', permission: 'uptime.service.read', list: listServices },
    { service: 'oncall', permission: 'oncall.service.read', list: listServices },
  ],
});
