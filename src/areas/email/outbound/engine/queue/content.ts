import { AsyncLocalStorage } from 'node:async_hooks';
import { buffer } from 'node:stream/consumers';
import type { Spool } from '../../../../../kernel/spool/index.ts';
import { domainOf } from '../../../rules/envelope.ts';
import { signHeaders } from '../../clients/dkim.ts';
import type { Content, Outgoing } from '../outgoing.ts';
import type { LeasedRecipient, LoadSigning, Signing } from './types.ts';

interface ContentsOptions {
  spool: Spool;
  loadSigning: LoadSigning;
  returnPath(recipient: number, messageId: string, domain: string): string;
  hostname: string;
}

/** Larger messages are streamed. */
const maxBufferedBytes = 512 * 1024;

export type Contents = ReturnType<typeof makeContents>;

/** Builds the message for one recipient. A message is signed once for all its recipients in flight. */
export function makeContents(options: ContentsOptions) {
  const { spool, loadSigning, returnPath } = options;
  /** By message id: its recipients in flight, and their shared signed head. */
  const inFlight = new Map<string, { recipients: Set<number>; head?: Promise<Buffer> | undefined }>();

  const headOf = (item: LeasedRecipient, raw: () => Promise<Buffer>): Promise<Buffer> => {
    const entry = inFlight.get(item.messageId);
    if (entry?.head) return entry.head;
    const head = makeHead(options, item, raw);
    if (!entry) return head; // its last recipient was refused while the content was read
    entry.head = head;
    // The next attempt signs again after a failure.
    head.catch(() => {
      entry.head = undefined;
    });
    return head;
  };
  return {
    /** Undefined: the sending domain was deleted. */
    async outgoing(item: LeasedRecipient): Promise<Outgoing | undefined> {
      const signing = await loadSigning(item.domainId);
      if (!signing) return undefined;
      const { domain } = signing;
      const { recipients } = inFlight.get(item.messageId) ?? { recipients: new Set<number>() };
      if (recipients.size === 0) inFlight.set(item.messageId, { recipients });
      recipients.add(item.id);
      return {
        org: item.org,
        messageId: item.messageId,
        address: item.address,
        domain: domainOf(item.address),
        returnPath: returnPath(item.id, item.messageId, domain),
        tries: item.tries,
        bytes: item.position.bytes,
        // Charged to the message's own organization, although another organization's mail may have opened the session.
        content: AsyncLocalStorage.bind(() => loadContent(spool, item, headOf)),
      };
    },
    /** The recipient is settled and no longer needs the signed head. */
    forget(item: LeasedRecipient) {
      const entry = inFlight.get(item.messageId);
      entry?.recipients.delete(item.id);
      if (entry?.recipients.size === 0) inFlight.delete(item.messageId);
    },
  };
}

async function loadContent(
  spool: Spool,
  item: LeasedRecipient,
  headOf: (item: LeasedRecipient, header: () => Promise<Buffer>) => Promise<Buffer>,
): Promise<Content> {
  if (item.inline) {
    const { inline, headerBytes } = item;
    return { head: await headOf(item, async () => inline.subarray(0, headerBytes)), body: inline };
  }
  const { position, headerBytes } = item;
  if (position.bytes <= maxBufferedBytes) {
    const whole = await readAll(spool, position);
    return { head: await headOf(item, async () => whole.subarray(0, headerBytes)), body: whole };
  }
  const head = await headOf(item, () => readAll(spool, { ...position, bytes: headerBytes }));
  const body = await spool.read(position);
  if (!body) throw new Error('its content is not in the storage');
  return { head, body };
}

async function readAll(spool: Spool, position: LeasedRecipient['position']): Promise<Buffer> {
  const stream = await spool.read(position);
  if (!stream) throw new Error('its content is not in the storage');
  return buffer(stream);
}

async function makeHead({ loadSigning, hostname }: ContentsOptions, item: LeasedRecipient, header: () => Promise<Buffer>): Promise<Buffer> {
  const signing = await loadSigning(item.domainId);
  if (!signing) throw new Error('the domain it is from was deleted');
  return signMessage({
    signing,
    hostname,
    id: item.messageId,
    at: new Date(item.leasedAt),
    header: await header(),
    bodyHash: item.bodyHash,
  });
}

/** The DKIM signatures and the Received field that precede a message. */
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
