import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { CertificateIdentity } from '../driver.ts';

/** What a listener shows and asks for; all in PEM. */
export interface DoorKeys {
  certificate: string;
  key: string;
  /** Whoever shows a certificate must have it from here, */
  authority: string;
  /** or from the authority between our own programs, if the cluster has one. */
  house?: string;
}

/** Who is at a listener, as far as its connection tells. */
export interface DoorCaller {
  identity: CertificateIdentity | undefined;
  /** Its connection showed a certificate of the cluster, or a token that the cluster took. */
  isKnown: boolean;
}

export interface Served {
  id: string;
  listen: { host: string; port: number };
  /** With one port for all clusters: the name by which this one is asked for. */
  serverName: string | undefined;
  keys: DoorKeys;
  /** Connections at once. */
  most: () => number;
  /** Requests at once. */
  inflight: () => number;
  serve(request: IncomingMessage, response: ServerResponse, caller: DoorCaller): void;
  /** What is to become something else than HTTP; absent: it is served as a request. */
  talk?(request: IncomingMessage, socket: Duplex, head: Buffer, caller: DoorCaller): void;
}

/** One cluster's listener. */
export interface Door {
  port: number;
  /** New connections see these from now on. */
  renew(keys: DoorKeys): void;
  /** Ends connections that showed one of these certificates. */
  cut(fingerprints: ReadonlySet<string>): void;
  close(): Promise<void>;
}

/** Opens listeners; planes/front does it. */
export interface Front {
  open(served: Served): Promise<Door>;
  stop(): Promise<void>;
}
