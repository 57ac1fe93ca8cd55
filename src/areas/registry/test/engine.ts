import type { App } from '../../../kernel/app.ts';
import { metricsOf } from '../engine/metrics.ts';
import { makePullThrough, makeUpstreams } from '../engine/pull-through/index.ts';
import { type Engine, settingsOf } from '../engine/settings.ts';

/** What the acts of a running server lean on. */
export const engineOf = (app: App): Engine => ({ app, settings: settingsOf(app) });

export const pullThroughOf = (app: App) => makePullThrough(makeUpstreams(engineOf(app), metricsOf(app)));
