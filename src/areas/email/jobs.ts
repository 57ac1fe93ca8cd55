import { failMailOfDomain } from './engine/domains/fail-mail.ts';
import { simulateComplaint } from './engine/simulator.ts';
import { deliverWebhook } from './engine/webhooks/deliver.ts';
import { failDeliveries } from './engine/webhooks/disable.ts';

export const jobs = [failMailOfDomain, deliverWebhook, failDeliveries, simulateComplaint];
