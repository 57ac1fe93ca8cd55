import type { Area } from '../../../area.ts';
import { agentHandler } from './handler.ts';
import { byToken } from './identify.ts';

/** Agents elsewhere, on the main port. */
export const agents: NonNullable<Area['raw']> = (app) => agentHandler(app, byToken(app));
