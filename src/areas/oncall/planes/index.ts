import type { FastifyInstance } from 'fastify';
import type { App } from '../../../kernel/app.ts';
import { ackPage } from './ack-page.ts';
import { twilioCallbacks } from './twilio/callbacks.ts';

export function pages(server: FastifyInstance, app: App) {
  ackPage(server, app);
  twilioCallbacks(server, app);
}
