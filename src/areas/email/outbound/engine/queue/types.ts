import type { App } from '../../../../../kernel/app.ts';
import type { Spool, SpoolPosition } from '../../../../../kernel/spool/index.ts';
import type { SigningKey } from '../../clients/dkim.ts';
import type { Sender } from '../outgoing.ts';

/** Why a scheduled recipient may no longer be sent to when it falls due. */
export interface SendRefusal {
  state: 'failed' | 'suppressed';
  reason: string;
}

/** A recipient leased by this process. */
export interface LeasedRecipient {
  id: number;
  lease: string;
  org: string;
  messageId: string;
  domainId: string;
  address: string;
  tries: number;
  /** Database time. */
  leasedAt: string;
  /** Where the message's bytes are; the next two fields are what signing needs. */
  position: SpoolPosition;
  headerBytes: number;
  bodyHash: Buffer;
  /** The message's bytes, if they are still in memory from intake. */
  inline?: Buffer;
  /** Another process holds the lease now: if sending has not begun, it must not. */
  isLost?: boolean;
  /** Set for scheduled mail that may no longer be sent. */
  refusal?: SendRefusal;
  /** Monotonic milliseconds. Sending must begin before; afterwards the lease may have lapsed and another process may hold it. */
  sendDeadline: number;
}

/** The DKIM domain and keys for messages of one sending domain. */
export interface Signing {
  domain: string;
  keys: readonly SigningKey[];
}

/** Undefined: the domain was deleted. */
export type LoadSigning = (domainId: string) => Promise<Signing | undefined>;

export interface QueueOptions {
  app: App;
  spool: Spool;
  node: string;
  /** The journal's folder. */
  folder: string;
  sender: Sender;
  loadSigning: LoadSigning;
  /** The MAIL FROM address for a recipient of a message from this domain. */
  returnPath(recipient: number, messageId: string, domain: string): string;
  /** This server's name in the Received field. */
  hostname: string;
  /** A smart host takes all mail: its 250 does not mean that the recipient's server has it. */
  isRelayed: boolean;
  maxInFlight?: number;
  /** Called for every outcome that reached the database. */
  onOutcome?(outcome: string): void;
}
