import type { RestoreHold } from './backup/restore-hold.ts';
import type { Caches } from './cache.ts';
import type { Config } from './config.ts';
import type { Connection, Db } from './db/index.ts';
import type { Dns } from './dns/index.ts';
import type { ByteBudget, FairSemaphore, LoopWatch, Refusals } from './fairness/index.ts';
import type { Guard } from './guard/index.ts';
import type { Peers } from './http/peer.ts';
import type { Waker } from './jobs/wake.ts';
import type { Listener } from './listen.ts';
import type { Logger } from './log.ts';
import type { ProductMail } from './mail.ts';
import type { Secrets } from './secrets.ts';
import type { Storage } from './storage/index.ts';

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
  /** Mail servers, text and keys in the DNS. */
  dns: Dns;
  /** Image layers and mail bodies: files, or S3. */
  storage: Storage;
  secrets: Secrets;
  mail: ProductMail;
  /** Whether everything that leaves waits for the operator. */
  hold: RestoreHold;
  /** Where requests come from, with the operator's proxies. */
  peers: Peers;
  /** Who holds the event loop, and for how long. */
  watch: LoopWatch;
  /** Requests under way, by organization: those beyond its share wait for each other. */
  requests: FairSemaphore;
  /** The same for what holds the event loop long, such as a body of megabytes. */
  heavy: FairSemaphore;
  /** Who was refused because a share was used up. */
  refusals: Refusals;
  /** Bytes in memory that callers make us hold, shared between them. */
  bodies: ByteBudget;
  log: Logger;
  version: string;
  /** Where the outside reaches us, without a trailing slash. Known once the port is bound. */
  publicUrl(): string;
  /** Tests hold every row and every answer against its schema. */
  strict: boolean;
}
