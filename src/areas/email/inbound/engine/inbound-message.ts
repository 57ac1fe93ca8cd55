import type { App } from '../../../../kernel/app.ts';
import type { Spool } from '../../../../kernel/spool/index.ts';
import type { Destination } from '../rules/destination.ts';
import type { Envelope } from '../rules/receiving.ts';
import type { LeasedArrival } from './in-flight.ts';

/** A message that the MX listener received. Its destinations were decided at RCPT. */
export interface InboundMessage {
  envelope: Omit<Envelope, 'rcptTo'>;
  /** The sender's network address, as quotas count it. */
  sender: string;
  /** One entry per route, or one report. */
  destinations: readonly { destination: Extract<Destination, { org: string }>; addresses: string[] }[];
  content: Buffer | { key: string; bytes: number };
}

/** The worker that reads arrivals. */
export interface ArrivalWorker {
  /** Reserves an in-flight slot for an arrival that is being accepted. False: it waits as a row. */
  reserve(org: string): boolean;
  release(org: string): void;
  /** Reads arrivals whose slots were reserved. */
  start(arrivals: readonly LeasedArrival[]): void;
}

export interface InboundIntakeOptions {
  app: App;
  /** Not the spool of outgoing mail, which is written to at the same time. */
  spool: Spool;
  node: string;
  /** This process's arrival reader, or `noArrivalReader`. */
  arrivalWorker: () => ArrivalWorker;
}
