import { AsyncLocalStorage } from 'node:async_hooks';
import { buffer } from 'node:stream/consumers';
import type { Spool } from '../../../../kernel/spool/index.ts';
import { type SigningKey, signHeaders } from '../../clients/dkim.ts';
import { domainOf } from '../../rules/envelope.ts';
import type { Content, Outgoing } from '../outgoing.ts';
import type { Born } from './index.ts';

/** With what messages of a domain are signed. */
export interface Signing {
  domain: string;
  keys: readonly SigningKey[];
}

/** Undefined: the domain is gone. */
export type LoadSigning = (domainId: string) => Promise<Signing | undefined>;

interface ContentsOptions {
  spool: Spool;
  loadSigning: LoadSigning;
  returnPath(recipient: number, messageId: string, domain: string): string;
  hostname: string;
}

/** Larger ones are not read into memory. */
const mostBuffered = 512 * 1024;

export type Contents = ReturnType<typeof makeContents>;

/** Makes of a recipient what goes over the wire. A message is signed once, however many recipients are being sent to. */
export function makeContents(options: ContentsOptions) {
  const { spool, loadSigning, returnPath } = options;
  /** Of messages that are being sent: to which recipients, and what was signed for them. */
  const underWay = new Map<string, { recipients: Set<number>; head?: Promise<Buffer> | undefined }>();

  const headOf = (item: Born, raw: () => Promise<Buffer>): Promise<Buffer> => {
    const known = underWay.get(item.messageId);
    if (known?.head) return known.head;
    const head = makeHead(options, item, raw);
    if (!known) return head; // its last recipient was refused while it was read
    known.head = head;
    // One that failed is made again for the next attempt.
    head.catch(() => {
      known.head = undefined;
    });
    return head;
  };
  return {
    /** Undefined: the domain that it is from was deleted. */
    async outgoing(item: Born): Promise<Outgoing | undefined> {
      const signing = await loadSigning(item.domainId);
      if (!signing) return undefined;
      const { domain } = signing;
      const { recipients } = underWay.get(item.messageId) ?? { recipients: new Set<number>() };
      if (recipients.size === 0) underWay.set(item.messageId, { recipients });
      recipients.add(item.id);
      return {
        org: item.org,
        messageId: item.messageId,
        address: item.address,
        domain: domainOf(item.address),
        returnPath: returnPath(item.id, item.messageId, domain),
        tries: item.tries,
        bytes: item.place.bytes,
        // In its own organization's name, whoever's mail opened the session that it goes by.
        content: AsyncLocalStorage.bind(() => loadContent(spool, item, headOf)),
      };
    },
    /** This recipient needs it no more. */
    forget(item: Born) {
      const known = underWay.get(item.messageId);
      known?.recipients.delete(item.id);
      if (known?.recipients.size === 0) underWay.delete(item.messageId);
    },
  };
}

async function loadContent(
  spool: Spool,
  item: Born,
  headOf: (item: Born, header: () => Promise<Buffer>) => Promise<Buffer>,
): Promise<Content> {
  if (item.inline) {
    const { inline, headerBytes } = item;
    return { head: await headOf(item, async () => inline.subarray(0, headerBytes)), body: inline };
  }
  const { place, headerBytes } = item;
  if (place.bytes <= mostBuffered) {
    const whole = await readAll(spool, place);
    return { head: await headOf(item, async () => whole.subarray(0, headerBytes)), body: whole };
  }
  const head = await headOf(item, () => readAll(spool, { ...place, bytes: headerBytes }));
  const body = await spool.read(place);
  if (!body) throw new Error('its content is not in the storage');
  return { head, body };
}

async function readAll(spool: Spool, place: Born['place']): Promise<Buffer> {
  const stream = await spool.read(place);
  if (!stream) throw new Error('its content is not in the storage');
  return buffer(stream);
}

async function makeHead({ loadSigning, hostname }: ContentsOptions, item: Born, header: () => Promise<Buffer>): Promise<Buffer> {
  const signing = await loadSigning(item.domainId);
  if (!signing) throw new Error('the domain it is from was deleted');
  return signMessage({ signing, hostname, id: item.messageId, at: new Date(item.at), header: await header(), bodyHash: item.bodyHash });
}

/** What is put before a message: signatures, and where it went through. */
export async function signMessage(message: {
  signing: Signing;
  hostname: string;
  id: string;
  at: Date;
  header: Buffer;
  bodyHash: Buffer;
}): Promise<Buffer> {
  const { signing, hostname, id, at, header, bodyHash } = message;
  const signatures = await signHeaders({ headerBytes: header, bodyHash, ...signing, at: Math.floor(at.getTime() / 1000) });
  const trace = `Received: by ${hostname} (Quarterdeck) id ${id};\r\n ${at.toUTCString().replace('GMT', '+0000')}\r\n`;
  return Buffer.from(signatures + trace, 'latin1');
}
