import type { App } from '../../../kernel/app.ts';
import type { Config } from '../../../kernel/config.ts';

export interface RegistrySettings {
  /** How long an unneeded blob stays after a client was last told that it exists. */
  gcDelaySeconds: number;
  /** How long an upload can be continued after its last request. */
  uploadSeconds: number;
  maxManifestBytes: number;
  /** A transfer without progress for this long is aborted. */
  idleMs: number;
  /** An upstream slower than this, over each `windowMs` that a download waits for it, is given up. */
  minUpstreamRate: MinRate;
}

export interface MinRate {
  windowMs: number;
  bytesPerSecond: number;
}

export const makeSettings = (config: Config): RegistrySettings => ({
  gcDelaySeconds: config.registry_gc_delay_seconds,
  uploadSeconds: config.registry_upload_seconds,
  maxManifestBytes: 4 * 1024 * 1024,
  idleMs: 60_000,
  minUpstreamRate: { windowMs: 60_000, bytesPerSecond: 16 * 1024 },
});

/** What every operation on a registry needs. */
export interface Engine {
  app: App;
  settings: RegistrySettings;
}
