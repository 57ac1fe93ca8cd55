import type { App } from '../../kernel/app.ts';

export interface RegistrySettings {
  /** How long a blob that no image needs stays after somebody was last told that it is here. */
  gcDelaySeconds: number;
  /** How long an upload waits for its next byte's request. */
  uploadSeconds: number;
  maxManifestBytes: number;
  /** A body in which nothing moves for so long is given up. */
  idleMs: number;
}

const defaults: RegistrySettings = { gcDelaySeconds: 86_400, uploadSeconds: 86_400, maxManifestBytes: 4 * 1024 * 1024, idleMs: 60_000 };
const changed = new WeakMap<App, RegistrySettings>();

export const settingsOf = (app: App): RegistrySettings => changed.get(app) ?? defaults;

/** For one running server: tests have no day to wait for. */
export const changeSettings = (app: App, some: Partial<RegistrySettings>) => void changed.set(app, { ...settingsOf(app), ...some });
