import type { Report } from '../../rules/report/index.ts';
import type { Reporter } from '../../rules/report/reporter.ts';

// What the process and its reading threads say to each other.

/** A message to be read. */
export interface Reading {
  /** `report`: it came to a return path of ours. */
  kind: 'mail' | 'report';
  raw: Uint8Array;
  /** From whom it came, for SPF. */
  from: { ip: string; helo: string; sender: string };
  mailHost: string;
}

export type ToThread =
  | { type: 'read'; id: number; reading: Reading }
  | { type: 'dns'; id: number; answer: { records: unknown[] } | { code: string } }
  | { type: 'ping'; id: number };

export type FromThread =
  /** As far as it came: what is known if it never ends. */
  | { type: 'part'; id: number; part: Partial<ReadMail> }
  | { type: 'done'; id: number; result: ReadResult }
  | { type: 'failed'; id: number; why: string }
  | { type: 'dns'; id: number; reading: number; name: string; rrtype: string }
  | { type: 'pong'; id: number };

export type ReadResult =
  | { kind: 'mail'; mail: ReadMail }
  /** `reporter`: of a complaint, whether its sender is known to have sent it. */
  | { kind: 'report'; report: Report; reporter?: Reporter };

/** What a message says, each part within bounds. */
export interface ReadMail {
  from: string;
  to: string[];
  cc: string[];
  subject: string | null;
  headers: { messageId?: string; inReplyTo?: string; references?: string; date?: string };
  text: string | null;
  html: string | null;
  attachments: Attachment[];
  /** Something was left out: longer, or more of it, than is told. */
  isTruncated: boolean;
  authentication: Authentication;
  /** Why not all of it could be read. */
  problem: string | null;
}

export interface Attachment {
  filename: string | null;
  contentType: string;
  sizeBytes: number;
  contentId?: string;
}

/** By SPF, DKIM, DMARC and ARC: who stands behind it. */
export interface Authentication {
  spf: { result: string; domain?: string };
  dkim: { result: string; domain?: string; selector?: string; aligned?: boolean }[];
  dmarc: { result: string; domain?: string; policy?: string };
  arc: { result: string };
}

/** Of a message of which nothing could be read. */
export const unreadMail = (problem: string, known: Partial<ReadMail> = {}): ReadMail => ({
  ...{ from: '', to: [], cc: [], subject: null, headers: {}, text: null, html: null, attachments: [], isTruncated: true },
  authentication: unknownAuthentication(),
  ...known,
  problem,
});

/** Nobody could tell. */
const unknownAuthentication = (): Authentication => ({
  spf: { result: 'temperror' },
  dkim: [],
  dmarc: { result: 'temperror' },
  arc: { result: 'none' },
});
