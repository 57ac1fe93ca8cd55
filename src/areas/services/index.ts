import { defineArea } from '../area.ts';
import { createOncallService } from './operations/create-oncall-service.ts';
import { createUptimeService } from './operations/create-uptime-service.ts';
import { deleteUptimeService } from './operations/delete-uptime-service.ts';
import { listOncallServices } from './operations/list-oncall-services.ts';
import { listUptimeServices } from './operations/list-uptime-services.ts';
import { renameUptimeService } from './operations/rename-uptime-service.ts';
import { services as list } from './store.ts';

export { publicChanged, publicTopic } from './public.ts';
export { type ServiceRow, shareService } from './store.ts';

export const services = defineArea({
  name: 'services',
  operations: [listUptimeServices, createUptimeService, renameUptimeService, deleteUptimeService, listOncallServices, createOncallService],
  migrations: { schema: 'services', folder: new URL('./migrations/', import.meta.url) },
  resources: [
    { service: 'uptime', permission: 'uptime.service.read', list },
    { service: 'oncall', permission: 'oncall.service.read', list },
  ],
});
