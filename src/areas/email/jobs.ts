import { failMailOfDomain } from './domains/engine/fail-mail.ts';
import { simulateComplaint } from './outbound/engine/simulator.ts';
import { deliverWebhook } from './webhooks/engine/deliver.ts';
import { failDeliveries } from './webhooks/engine/disable.ts';

export const jobs = [failMailOfDomain, deliverWebhook, failDeliveries, simulateComplaint];
