import type { App } from '../../../kernel/app.ts';
import type { Config } from '../../../kernel/config.ts';

export interface RegistrySettings {
  /** How long a blob that no image needs stays after somebody was last told that it is here. */
  gcDelaySeconds: number;
  /** How long an upload waits for its next byte's request. */
  uploadSeconds: number;
  maxManifestBytes: number;
  /** A body in which nothing moves for so long is given up. */
  idleMs: number;
  /** An upstream that sends less than this, over each `windowMs` that a download waits for it, is given up. */
  slowestUpstream: Pace;
}

export interface Pace {
  windowMs: number;
  bytesPerSecond: number;
}

export const makeSettings = (config: Config): RegistrySettings => ({
  gcDelaySeconds: config.registry_gc_delay_seconds,
  uploadSeconds: config.registry_upload_seconds,
  maxManifestBytes: 4 * 1024 * 1024,
  idleMs: 60_000,
  slowestUpstream: { windowMs: 60_000, bytesPerSecond: 16 * 1024 },
});

/** What every act on a registry leans on. */
export interface Engine {
  app: App;
  settings: RegistrySettings;
}
