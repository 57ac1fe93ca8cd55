import type { App } from '../../../../kernel/app.ts';
import { channelNamed, clockMoved } from '../../../../kernel/jobs/index.ts';
import { house, onBehalf } from '../../../../kernel/shares/index.ts';
import type { Place, Spool } from '../../../../kernel/spool/index.ts';
import type { Sender } from '../outgoing.ts';
import { claimMore, makeClaims } from './claim.ts';
import { type LoadSigning, makeContents } from './content.ts';
import { type Fated, fail, fateOf } from './fate.ts';
import { openJournal, replayJournals } from './journal.ts';
import { renewHeld } from './renew.ts';
import { makeSettler, settleFates } from './settle.ts';

/** A recipient that this process has under its lease. */
export interface Born {
  id: number;
  lease: string;
  org: string;
  messageId: string;
  domainId: string;
  address: string;
  tries: number;
  /** Where the message is, and what signing needs to know of it. */
  place: Place;
  headerBytes: number;
  bodyHash: Buffer;
  /** The message itself, if it just came in. */
  inline?: Buffer;
}

/** Recipients on their way: those that were just accepted, and those that rows wait for. It works on a bounded number, and the rest waits in rows. */
export interface Queue {
  /** Whether this process goes on with a recipient that is being accepted; if so, room for it is taken. */
  reserve(org: string, domain: string): boolean;
  release(org: string, domain: string): void;
  /** Goes on with what was reserved. */
  begin(born: readonly Born[]): void;
  /** How many it works on, in all and of each organization. */
  readonly held: number;
  readonly heldOf: ReadonlyMap<string, number>;
  /** Recipients of which the database took no outcome: their lease was somebody else's by then. */
  readonly lost: number;
  stop(): Promise<void>;
}

export interface QueueOptions {
  app: App;
  spool: Spool;
  node: string;
  /** For the journal. */
  folder: string;
  sender: Sender;
  loadSigning: LoadSigning;
  /** What stands in MAIL FROM for a recipient of a message from this domain. */
  returnPath(recipient: number, domain: string): string;
  /** Our name in what we add to the message. */
  hostname: string;
  /** The other side is a smart host, which says nothing of the recipient. */
  isRelayed: boolean;
  mostHeld?: number;
}

/** Told when there is something to send that this process may not know of. */
export const queueChannel = channelNamed('email.queue');

/** Bodies of messages that just came in are kept in memory up to so many bytes; others are read again. */
const mostInlineBytes = 32 * 2 ** 20;

const stopGraceMs = 8_000;

/** No queue here: another process has the role. */
export const elsewhere: Pick<Queue, 'reserve' | 'release' | 'begin'> = { reserve: () => false, release: () => {}, begin: () => {} };

export async function startQueue(options: QueueOptions): Promise<Queue> {
  const { app, sender, mostHeld = 2_000 } = options;
  await replayJournals(options.folder, (fates) => settleFates(app, fates));
  const journal = await openJournal(options.folder);
  const items = new Map<number, Born>();
  const heldOf = new Map<string, number>();
  let held = 0;
  let inlineBytes = 0;
  let stopping = false;
  let lost = 0;
  const contents = makeContents(options);

  const hold = (org: string) => {
    held++;
    heldOf.set(org, (heldOf.get(org) ?? 0) + 1);
  };
  const letGo = (org: string) => {
    held--;
    const left = heldOf.get(org)! - 1;
    if (left > 0) heldOf.set(org, left);
    else heldOf.delete(org);
    claims.nudge();
  };
  const settler = makeSettler(app, (fated, isLost) => {
    const { item, fate } = fated;
    if (isLost) lost++;
    if (isFinal(fate.state)) journal.settled(1);
    items.delete(item.id);
    letGo(item.org);
  });

  const settle = (fated: Fated) => {
    if (isFinal(fated.fate.state)) journal.note(fated.fate);
    inlineBytes -= fated.item.inline?.length ?? 0;
    contents.forget(fated.item);
    settler.add(fated);
  };
  const work = async (item: Born) => {
    try {
      const outgoing = await contents.outgoing(item);
      settle(
        outgoing ? fateOf(item, await sender.send(outgoing), options.isRelayed) : fail(item, 'the domain that it is from was deleted'),
      );
    } catch (error) {
      app.log.warn({ err: error, message: item.messageId }, 'a message could not be made ready for sending');
      settle(fateOf(item, { kind: 'waits', afterSeconds: 60, told: { stage: 'connect', response: 'it could not be read here' } }, false));
    }
  };
  const begin = (born: readonly Born[]) => {
    for (const item of born) {
      const isKept = item.inline && inlineBytes + item.inline.length <= mostInlineBytes;
      const { inline: _, ...bare } = item;
      const kept = isKept ? item : bare;
      if (isKept) inlineBytes += item.inline!.length;
      items.set(item.id, kept);
      void onBehalf({ ...house, act: 'email.send' }, () => work(kept), app.watch);
    }
  };

  const perOrg = Math.ceil(mostHeld / 2);
  const turn = { afterOrg: '' };
  const claims = makeClaims(options, async () => {
    const room = stopping ? 0 : mostHeld - held;
    if (room <= 0) return 'full';
    const { found, mayBeMore } = await claimMore(options, { turn, items, heldOf, perOrg, room });
    for (const { org } of found) hold(org);
    begin(found);
    return mayBeMore ? 'more' : 'none';
  });
  const renewal = renewHeld(app, items);
  const unhear = [queueChannel, clockMoved].map((channel) => app.waker.hear(channel, claims.nudge));
  unhear.push(app.waker.hear(clockMoved, renewal.now));

  return {
    reserve(org, domain) {
      const isRoom = !stopping && held < mostHeld && (heldOf.get(org) ?? 0) < perOrg && sender.restOf(domain, org) === 0;
      if (isRoom) hold(org);
      return isRoom;
    },
    release: (org) => letGo(org),
    begin,
    get held() {
      return held;
    },
    heldOf,
    get lost() {
      return lost;
    },
    async stop() {
      stopping = true;
      for (const forget of unhear) forget();
      await claims.stop();
      await sender.stop(stopGraceMs);
      await settler.stop();
      renewal.stop();
      await journal.close();
    },
  };
}

const isFinal = (state: string) => state !== 'deferred' && state !== 'queued';
