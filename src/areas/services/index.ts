import { defineArea } from '../area.ts';
import { createOncallService } from '../oncall/operations/create-oncall-service.ts';
import { createUptimeService } from '../uptime/operations/create-uptime-service.ts';
import { deleteUptimeService } from '../uptime/operations/delete-uptime-service.ts';
import { listOncallServices } from '../oncall/operations/list-oncall-services.ts';
import { listUptimeServices } from '../uptime/operations/list-uptime-services.ts';
import { renameUptimeService } from '../uptime/operations/rename-uptime-service.ts';
import { services as list } from './store/services.ts';

export { publicChanged, publicTopic } from './engine/public.ts';
export { type ServiceRow, shareService } from './store/services.ts';

export const services = defineArea({
  name: 'services',
  operations: [listUptimeServices, createUptimeService, renameUptimeService, deleteUptimeService, listOncallServices, createOncallService],
  migrations: { schema: 'services', folder: new URL('./migrations/', import.meta.url) },
  resources: [
    { service: 'uptime', permission: 'uptime.service.read', list },
    { service: 'oncall', permission: 'oncall.service.read', list },
  ],
});
