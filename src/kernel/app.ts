import type { Permission } from '../../contract/permissions.ts';
import type { Caches } from './cache.ts';
import type { Config } from './config.ts';
import type { Connection, Db, Tx } from './db.ts';
import type { Guard } from './guard/index.ts';
import type { Peers } from './http/peer.ts';
import type { Waker } from './jobs/wake.ts';
import type { Listener } from './listen.ts';
import type { Logger } from './log.ts';
import type { Mail } from './mail.ts';
import type { Secrets } from './secrets.ts';
import type { Visible } from './sql.ts';
import type { Storage } from './storage/index.ts';

/** Something a role can be narrowed to. */
export interface Resource {
  service: string;
  id: string;
  name: string;
}

/** The payment provider, as far as the product needs it. */
export interface Payment {
  /** Whether the organization has an active payment method. */
  active(tx: Tx, org: { id: string; slug: string }): Promise<boolean>;
  /** Tells the provider the billing address; 409 when it belongs to another of its customers. */
  setBillingEmail(org: { id: string; slug: string }, email: string): Promise<void>;
}

/** What uptime knows of one service. Days and months are calendar ones in UTC, oldest first; those without a monitor are absent. */
export interface Observed {
  /** `pending`: it has monitors, but none says anything yet. */
  state: 'up' | 'down' | 'pending';
  days: { date: string; watchedSeconds: number; downSeconds: number }[];
  months: { month: string; watchedSeconds: number; downSeconds: number }[];
}

export interface Maintenance {
  id: string;
  serviceId: string;
  title: string;
  startsAt: string;
  endsAt: string;
}

/** Where areas meet without importing each other: each brings what it has, serve gathers it. */
export interface Ports {
  payment: Payment;
  /** Live resources of an organization that scopes can name. */
  resources: ResourceSource[];
  /** What still refers to a service, in words: asked before it is deleted. */
  references: ((tx: Tx, org: string, serviceId: string) => Promise<string[]>)[];
  /** How many live monitors each of these services has: uptime's to say. */
  monitorsOf(tx: Tx, org: string, serviceIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Which escalation policy each of these services has: on-call's to say. */
  policiesOf(tx: Tx, org: string, serviceIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** How services fared in the last so many days, months as far back as 400 days: uptime's to say. Absent: no monitor. */
  observedOf(tx: Tx, org: string, serviceIds: readonly string[], days: number): Promise<ReadonlyMap<string, Observed>>;
  /** Maintenance under way, ahead, or over for less than so many days, of these services; soonest first: uptime's to say. */
  maintenanceOf(tx: Tx, org: string, serviceIds: readonly string[], pastDays: number): Promise<Maintenance[]>;
}

export interface ResourceSource {
  service: string;
  permission: Permission;
  list(tx: Tx, org: string, visible: Visible): Promise<{ id: string; name: string }[]>;
}

/** What every part of a running process leans on. Built once in serve, passed down; there is no global state. */
export interface App {
  config: Config;
  db: Db;
  connection: Connection;
  listener: Listener;
  caches: Caches;
  /** Carries `wake` from committed transactions to workers here and elsewhere. */
  waker: Waker;
  /** The only way out for connections that users cause. */
  guard: Guard;
  /** Image layers and mail bodies: files, or S3. */
  storage: Storage;
  secrets: Secrets;
  mail: Mail;
  /** Where requests come from, with the operator's proxies. */
  peers: Peers;
  log: Logger;
  version: string;
  /** Where the outside reaches us, without a trailing slash. Known once the port is bound. */
  publicUrl(): string;
  ports: Ports;
  /** Tests hold every row and every answer against its schema. */
  strict: boolean;
}
