import type { App } from '../../../kernel/app.ts';

export interface RegistrySettings {
  /** How long a blob that no image needs stays after somebody was last told that it is here. */
  gcDelaySeconds: number;
  /** How long an upload waits for its next byte's request. */
  uploadSeconds: number;
  maxManifestBytes: number;
  /** A body in which nothing moves for so long is given up. */
  idleMs: number;
}

const changed = new WeakMap<App, Partial<RegistrySettings>>();

export const settingsOf = (app: App): RegistrySettings => ({
  gcDelaySeconds: app.config.registry_gc_delay_seconds,
  uploadSeconds: app.config.registry_upload_seconds,
  maxManifestBytes: 4 * 1024 * 1024,
  idleMs: 60_000,
  ...changed.get(app),
});

/** For one running server: tests have no day to wait for. */
export const changeSettings = (app: App, some: Partial<RegistrySettings>) => void changed.set(app, { ...changed.get(app), ...some });
