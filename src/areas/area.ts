import type { FastifyInstance } from 'fastify';
import type { Loader } from '../identity/principal.ts';
import type { Operation } from '../identity/operation.ts';
import type { Kind } from '../identity/token-format.ts';
import type { App, Ports, ResourceSource } from '../kernel/app.ts';
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
  /** Routes beyond the control API: pages for people. */
  pages?: (server: FastifyInstance, app: App) => void;
}

export const defineArea = (area: Area): Area => area;
