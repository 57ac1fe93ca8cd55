import type { RestoreHold } from './backup/restore-hold.ts';
import type { Caches } from './cache.ts';
import type { Config } from './config.ts';
import type { Connection, Db } from './db/index.ts';
import type { Dns } from './dns/index.ts';
import type { ByteBudget, FairSemaphore, LoopWatch, Refusals } from './fairness/index.ts';
import type { Guard } from './guard/index.ts';
import type { Peers } from './http/peer.ts';
import type { Waker } from './jobs/wake.ts';
import type { ListeningSockets } from './lifecycle/listening-sockets.ts';
import type { Listener } from './listen.ts';
import type { Logger } from './log.ts';
import type { ProductMail } from './mail.ts';
import type { Secrets } from './secrets.ts';
import type { Storage } from './storage/index.ts';
import type { Presented } from './tls/index.ts';

/** The shared services of a running process. Built once in serve and passed down; there is no global state. */
export interface App {
  config: Config;
  db: Db;
  connection: Connection;
  listener: Listener;
  caches: Caches;
  /** Carries `wake` from committed transactions to the workers of this process and of others. */
  waker: Waker;
  /** Every connection to an address that a user chose goes through here. */
  guard: Guard;
  /** DNS lookups of mail servers, text records and keys. */
  dns: Dns;
  /** Image layers and mail bodies: files, or S3. */
  storage: Storage;
  secrets: Secrets;
  mail: ProductMail;
  /** After a restore: nothing leaves the server until the operator confirms. */
  hold: RestoreHold;
  /** The address of a request's client, behind the operator's proxies. */
  peers: Peers;
  /** Measures which work holds the event loop, and for how long. */
  watch: LoopWatch;
  /** Requests in flight, by organization. Requests beyond the organization's share wait. */
  requests: FairSemaphore;
  /** The same for requests that hold the event loop long, such as a body of megabytes. */
  heavy: FairSemaphore;
  /** Counts the organizations that were refused because their share was used up. */
  refusals: Refusals;
  /** The memory budget for request bodies, divided between callers. */
  bodies: ByteBudget;
  /** What listeners present in TLS handshakes. */
  presented: Presented;
  /** Opens the sockets on which clients reach this process. */
  sockets: ListeningSockets;
  /** Aborted once the server accepts no more requests: answers that wait for something are given now, and streams end. */
  ending: AbortSignal;
  /** What the server before this one left, by name: see `Ending.leave`. Empty at an ordinary start. */
  handedOver: ReadonlyMap<string, unknown>;
  log: Logger;
  /** This process among all servers of the database: in `kernel.server`, and in the name of its listening connection. */
  process: string;
  /** With the build behind a plus. */
  version: string;
  /** The public address, without a trailing slash. Known once the port is bound. */
  publicUrl(): string;
  /** In tests: every row and every response is checked against its schema. */
  strict: boolean;
}
