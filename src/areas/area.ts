import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Operation } from '../identity/operation.ts';
import type { Loader, Principals } from '../identity/principal.ts';
import type { Kind } from '../identity/token-format.ts';
import type { App, Ports, ResourceSource } from '../kernel/app.ts';
import type { Tx } from '../kernel/db.ts';
import type { RawHandler } from '../kernel/http/server.ts';
import type { Job, Task } from '../kernel/jobs/index.ts';
import type { Migrations } from '../kernel/migrate.ts';

/** A column of secrets that we must use again; a change of the key seals it anew. */
export interface Sealed {
  /** With its schema: `email.webhook`. */
  table: string;
  /** A bytea, sealed with the place `table.column.id`. */
  column: string;
  /** The column, or an expression in brackets, whose value stands in that place; unique. */
  id: string;
}

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
  ports?: Partial<Pick<Ports, 'monitorsOf' | 'policiesOf' | 'observedOf' | 'maintenanceOf'>>;
  /** Listeners and loops of its own; stopped in reverse order of starting. */
  start?: (app: App) => Promise<{ stop(): Promise<void> }>;
  /** Keys of everything in the storage that the rows of this snapshot name: what a backup must hold. In portions, a query each. */
  stored?: (tx: Tx) => AsyncIterable<string>;
  sealed?: Sealed[];
  /** Routes beyond the control API: pages for people. */
  pages?: (server: FastifyInstance, app: App) => void;
}

export const defineArea = (area: Area): Area => area;
