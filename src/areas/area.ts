import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Loader, Principals } from '../identity/principal.ts';
import type { Operation } from '../identity/operation.ts';
import type { Kind } from '../identity/token-format.ts';
import type { App, Ports, ResourceSource } from '../kernel/app.ts';
import type { RawHandler } from '../kernel/http/server.ts';
import type { Job, Task } from '../kernel/jobs/index.ts';
import type { Migrations } from '../kernel/migrate.ts';

/** One area of the product, as its index.ts shows it to the rest. */
export interface Area {
  name: string;
  operations: Operation[];
  migrations?: Migrations;
  resources?: ResourceSource[];
  references?: Ports['references'];
  /** Credentials of its own that present themselves as bearer keys. */
  loaders?: Partial<Record<Kind, Loader>>;
  /** Durable work of its own. */
  jobs?: Job[];
  tasks?: Task[];
  /** Protocols that stream on the main port, before the control API sees a request. */
  raw?: (app: App, principals: Principals) => RawHandler;
  /** Numbers of its own, for /metrics. */
  metrics?: (registry: Registry, app: App) => void;
  /** What it adds to the ports that other areas ask. */
  ports?: Partial<Pick<Ports, 'monitorsOf' | 'policiesOf'>>;
  /** Listeners and loops of its own; stopped in reverse order of starting. */
  start?: (app: App) => Promise<{ stop(): Promise<void> }>;
  /** Routes beyond the control API: pages for people. */
  pages?: (server: FastifyInstance, app: App) => void;
}

export const defineArea = (area: Area): Area => area;
