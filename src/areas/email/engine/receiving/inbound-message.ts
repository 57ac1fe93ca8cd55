import type { App } from '../../../../kernel/app.ts';
import { channelNamed } from '../../../../kernel/jobs/index.ts';
import type { Spool } from '../../../../kernel/spool/index.ts';
import type { Envelope } from '../../rules/receiving.ts';
import type { Destination } from './book.ts';
import type { LeasedArrival } from './in-flight.ts';

/** Told when something has arrived that nobody goes on with yet. */
export const arrivalsChannel = channelNamed('email.arrivals');

/** A message as a door took it in: for whom it is was decided there. */
export interface InboundMessage {
  envelope: Omit<Envelope, 'rcptTo'>;
  /** The network address that it came from, as senders are counted. */
  sender: string;
  /** By route, or one report. */
  destinations: readonly { destination: Extract<Destination, { org: string }>; addresses: string[] }[];
  content: Buffer | { key: string; bytes: number };
}

/** Who reads what is taken in. */
export interface ArrivalWorker {
  /** Whether this process goes on with what is being taken in; if so, room for it is taken. */
  reserve(org: string): boolean;
  release(org: string): void;
  /** Goes on with what was reserved. */
  start(arrivals: readonly LeasedArrival[]): void;
}

export interface InboundIntakeOptions {
  app: App;
  /** Of its own: the other one is written to by those who send. */
  spool: Spool;
  node: string;
  /** Whoever reads in this process, if anybody does now. */
  arrivalWorker: () => ArrivalWorker;
}
