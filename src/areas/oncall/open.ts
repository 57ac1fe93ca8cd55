import type { Host, Opened } from '../area.ts';
import { type Channels, makeChannels } from './clients/channels/index.ts';
import { makeAnswerFor } from './engine/pages/answer-for.ts';
import { makeSigners } from './engine/provider.ts';
import type { WalkOn } from './engine/step.ts';
import { makeTurns, type Turns } from './engine/turns.ts';
import { walkOn } from './engine/walk/walk-on.ts';
import { measure } from './metrics.ts';
import { ackPage } from './planes/ack-page.ts';
import { calendarFeed } from './planes/calendar-feed.ts';
import { twilioCallbacks } from './planes/twilio/callbacks.ts';

/** On-call's running state. */
export interface OpenOncall {
  /** By which pages go out. */
  channels: Channels;
  /** One delivery for a service at a time. */
  inTurn: Turns;
  /** What the job of a step does. */
  walkOn: WalkOn;
}

export function openOncall({ app }: Host): Opened<OpenOncall> {
  const signers = makeSigners(app);
  return {
    own: { channels: makeChannels(app), inTurn: makeTurns(), walkOn },
    routes: (server) => {
      const answerFor = makeAnswerFor(app);
      ackPage(server, app, answerFor);
      calendarFeed(server, app);
      twilioCallbacks(server, app, signers, answerFor);
    },
    metrics: (registry) => measure(registry, app),
  };
}
