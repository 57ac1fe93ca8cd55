import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Operation } from '../identity/operation.ts';
import type { Payment } from '../identity/payment.ts';
import type { Loader, Principals } from '../identity/principal.ts';
import type { ResourceSource } from '../identity/resources.ts';
import type { Kind } from '../identity/token-format.ts';
import type { App } from '../kernel/app.ts';
import type { Tx } from '../kernel/db/index.ts';
import type { Plane } from '../kernel/http/plane.ts';
import type { Job, Task } from '../kernel/jobs/index.ts';
import type { Ending } from '../kernel/lifecycle/ending.ts';
import type { Migrations } from '../kernel/migrate.ts';
import type { Role } from '../kernel/roles.ts';
import type { OverviewSource, Ports, SearchSource, StorySource } from './ports.ts';

/** A column of secrets that we must use again; a change of the key seals it anew. */
export interface Sealed {
  /** With its schema: `email.webhook`. */
  table: string;
  /** A bytea, sealed with the place `table.column.id`. */
  column: string;
  /** The column, or an expression in brackets, whose value stands in that place; unique. */
  id: string;
}

/** Schemas that other programs keep in our database for an area: a backup holds their tables beside the area's own. */
export interface ForeignSchemas {
  /** A regular expression of PostgreSQL and of JavaScript that their names match, and no schema of ours. */
  pattern: string;
  /** Statements that make an empty one, as its program would. */
  make(schema: string): string;
  /** The one table of it that a backup holds, with the types that each of its columns may have, and its key. */
  table: { name: string; columns: Readonly<Record<string, readonly string[]>>; key: string; sequence: string };
}

/** What a process lends an area that is opened in it. */
export interface Host {
  app: App;
  /** The roles of this process. */
  roles: ReadonlySet<Role>;
  principals: Principals;
  /** What roles can be narrowed to, of every area. */
  resources: readonly ResourceSource[];
  /** What every area answers of the questions that one asks all others. */
  ports: Ports;
  payment: Payment;
}

/** What runs by itself until it is stopped. */
export interface Running {
  /** Before a stop that no next server of this data directory waits for: gives to other servers what they can go on with. Clients are served meanwhile. */
  passOn?(): Promise<void>;
  /** Accepts no more from clients, and tells those that it has to come again; `stop` follows. For parts that listen. */
  drain?(ending: Ending): Promise<void>;
  stop(ending: Ending): Promise<void>;
}

/** What runs by itself, and has clients. */
export type ListeningPart = Running & Required<Pick<Running, 'drain'>>;

/** An area in a running process: made once, by its open.ts. */
export interface Opened<Own> {
  /** Its running state; handed to each of its operations, jobs and tasks as their second argument. */
  own: Own;
  /** Protocols of its own on the main port, each served by the processes that have its role. */
  planes?: readonly Plane[];
  /** Routes beside the control API, for people and for callbacks (role `api`). */
  routes?: (server: FastifyInstance) => void;
  /** What runs by itself for a role: begun once everything is open. The roles worker and prober stop first, then the others in reverse order. */
  runs?: Partial<Record<Role, () => Promise<Running>>>;
  /** Numbers of its own, for /metrics. */
  metrics?: (registry: Registry) => void;
  /** Ends what opening began, after everything that runs has stopped. */
  stop?: (ending: Ending) => Promise<void>;
}

/** One area of the product, as its index.ts shows it to the rest: static data, and how to open it. */
export interface Area<Own = never> {
  name: string;
  /** The control API's (role `api`). */
  operations: readonly Operation<Own>[];
  migrations?: Migrations;
  /** What of its own a role can be narrowed to. */
  resources?: readonly ResourceSource[];
  /** Its parts of what needs a person now. */
  overview?: readonly OverviewSource<Own>[];
  /** How its things are found by name. */
  search?: readonly SearchSource<Own>[];
  /** What it can tell of an incident. */
  story?: readonly StorySource<Own>[];
  /** Credentials of its own that present themselves as bearer keys. */
  loaders?: Partial<Record<Kind, Loader>>;
  /** Durable work of its own (role `worker`). */
  jobs?: readonly Job<never, Own>[];
  tasks?: readonly Task<Own>[];
  /** Keys of everything in the storage that the rows of this snapshot name: what a backup must hold. In portions, a query each. */
  stored?: (tx: Tx) => AsyncIterable<string>;
  sealed?: readonly Sealed[];
  foreignSchemas?: ForeignSchemas;
  open?: (host: Host) => Opened<Own> | Promise<Opened<Own>>;
}

/** Its operations, jobs and tasks ask for nothing that its `open` does not make: else this does not compile. */
export const defineArea = <Own = undefined>(area: Area<Own>): Area<Own> => area;

/** Areas of different states side by side. */
export type AnyArea = Omit<Area<never>, 'open'> & { open?: (host: Host) => Opened<unknown> | Promise<Opened<unknown>> };
