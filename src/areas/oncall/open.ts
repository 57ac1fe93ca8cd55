import type { Host, Opened } from '../area.ts';
import type { Ports } from '../ports.ts';
import { type Channels, makeChannels } from './clients/channels/index.ts';
import { type DeliveryQueue, makeDeliveryQueue } from './engine/delivery-queue.ts';
import { escalate } from './engine/escalation/escalate.ts';
import { makeReplyRunner } from './engine/pages/reply-runner.ts';
import { makeAuthTokenCache } from './engine/provider.ts';
import type { Escalate } from './engine/step.ts';
import { registerMetrics } from './metrics.ts';
import { ackPage } from './planes/ack-page.ts';
import { calendarFeed } from './planes/calendar-feed.ts';
import { twilioCallbacks } from './planes/twilio/callbacks.ts';

/** On-call's running state. */
export interface OpenOncall {
  /** Senders of pages. */
  channels: Channels;
  /** One delivery for a service at a time. */
  deliveryQueue: DeliveryQueue;
  /** The body of the step job. */
  escalate: Escalate;
  /** What other areas tell of an incident. */
  ports: Ports;
}

export function openOncall({ app, ports }: Host): Opened<OpenOncall> {
  const authTokenOf = makeAuthTokenCache(app);
  return {
    own: { channels: makeChannels(app), deliveryQueue: makeDeliveryQueue(), escalate, ports },
    routes: (server) => {
      const runReply = makeReplyRunner(app);
      ackPage(server, app, runReply);
      calendarFeed(server, app);
      twilioCallbacks(server, app, authTokenOf, runReply);
    },
    metrics: (registry) => registerMetrics(registry, app),
  };
}
