import type { App } from '../../../../kernel/app.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { clockMoved } from '../../../../kernel/jobs/index.ts';
import type { Spool, SpoolPosition } from '../../../../kernel/spool/index.ts';
import { storyOf } from '../../rules/simulator.ts';
import type { Fate } from '../../store/queue.ts';
import type { Holdings } from '../holdings.ts';
import type { Outgoing, Sender } from '../outgoing.ts';
import { simulateAttempt } from '../simulator.ts';
import { queueChannel } from './channel.ts';
import { claimMore, makeClaims, type Turn } from './claim.ts';
import { type Contents, type LoadSigning, makeContents } from './content.ts';
import { type Fated, fail, fateOf, putBack, type Refused, refuse } from './fate.ts';
import { makeHeir } from './heir.ts';
import { makeHoldings } from './holdings.ts';
import { type Journal, openJournal } from './journal.ts';
import { renewHeld } from './renew.ts';
import { makeSettler } from './settle.ts';

/** A recipient that this process has under its lease. */
export interface Born {
  id: number;
  lease: string;
  org: string;
  messageId: string;
  domainId: string;
  address: string;
  tries: number;
  /** When it came under the lease. */
  at: string;
  /** Where the message is, and what signing needs to know of it. */
  place: SpoolPosition;
  headerBytes: number;
  bodyHash: Buffer;
  /** The message itself, if it just came in. */
  inline?: Buffer;
  /** Another process has it: what still waits here must not be sent. */
  isLost?: boolean;
  /** Why it is not sent after all, though its time has come. */
  refusal?: Refused;
  /** By the monotonic clock: a message begins before then, or not at all. Later, another process may have leased it unheard. */
  beginsUntil: number;
}

/** Recipients on their way: those that were just accepted, and those that rows wait for. It works on a bounded number, and the rest waits in rows. */
export interface Queue {
  /** Whether this process goes on with a recipient that is being accepted; if so, room for it is taken. */
  reserve(org: string, domain: string): boolean;
  release(org: string, domain: string): void;
  /** Goes on with what was reserved. */
  begin(born: readonly Born[]): void;
  /** Whether it works on anything. */
  readonly isSending: boolean;
  /** What it works on. */
  readonly held: Pick<Holdings<Born>, 'count' | 'byOrg'>;
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
  returnPath(recipient: number, messageId: string, domain: string): string;
  /** Our name in what we add to the message. */
  hostname: string;
  /** The other side is a smart host, which says nothing of the recipient. */
  isRelayed: boolean;
  mostHeld?: number;
  /** Told of every outcome that is written down. */
  counted?(outcome: string): void;
}

const stopGraceMs = 8_000;

/** No queue here: another process has the role. */
export const elsewhere: Pick<Queue, 'reserve' | 'release' | 'begin' | 'isSending'> = {
  reserve: () => false,
  release: () => {},
  begin: () => {},
  isSending: false,
};

export async function startQueue(options: QueueOptions): Promise<Queue> {
  const { app, sender } = options;
  const journal = openJournal(options.folder);
  const inherit = makeHeir(options, journal);
  await inherit.now();
  const held = makeHoldings(options.mostHeld ?? 2_000);
  const contents = makeContents(options);
  const turn: Turn = { afterOrg: '', paused: new Set(), isBehind: false };
  let lost = 0;

  const settler = makeSettler(app, ({ item, fate, settled }, isLost) => {
    if (isLost) lost++;
    options.counted?.(isLost ? 'lost' : fate.state);
    settled?.();
    held.remove(item);
    // Room is no reason to look if nothing waited for it.
    if (turn.isBehind || !isFinal(fate.state)) claims.nudge();
  });
  const settle = (fated: Fated) => {
    // In the turn in which the other side's answer was read.
    const settled = isFinal(fated.fate.state) ? noteFate(app, journal, fated.fate) : undefined;
    contents.forget(fated.item);
    settler.add(settled ? { ...fated, settled } : fated);
  };
  const isPaused = ({ org }: Born) => turn.paused.has(org);
  const isWanted = (item: Born) => !item.isLost && !isPaused(item) && performance.now() < item.beginsUntil;
  const work = async (item: Born) => {
    if (item.refusal) return settle(refuse(item, item.refusal));
    const fated = isPaused(item) ? putBack(item) : await attempt(options, contents, item, () => isWanted(item));
    // What waited for its turn when its organization was paused has not been begun either.
    settle(isPaused(item) && fated.fate.state === 'deferred' && !fated.fate.counts ? putBack(item) : fated);
  };
  const begin = (born: readonly Born[]) => {
    for (const item of born) {
      const kept = held.add(item);
      void runFor({ org: item.org, operation: 'email.send' }, () => work(kept), app.watch);
    }
  };

  const claims = makeClaims(options, async () => {
    if (app.hold.isHeld) return 'none';
    if (held.room === 0) {
      turn.isBehind = true;
      return 'full';
    }
    await inherit.beforeClaim();
    const { found, mayBeMore } = await claimMore(options, held, turn);
    for (const { org } of found) held.take(org);
    begin(found);
    return mayBeMore ? 'more' : 'none';
  });
  const renewal = renewHeld(app, held.items);
  const unhear = [
    app.waker.hear(queueChannel, claims.nudge),
    ...[inherit.clockMoved, claims.nudge, renewal.now].map((act) => app.waker.hear(clockMoved, act)),
  ];

  return {
    reserve: (org, domain) => !app.hold.isHeld && sender.restOf(domain, org) === 0 && held.reserve(org),
    release: (org) => held.release(org),
    begin,
    held,
    get isSending() {
      return held.count > 0;
    },
    get lost() {
      return lost;
    },
    async stop() {
      held.close();
      for (const forget of unhear) forget();
      await claims.stop();
      await sender.stop(stopGraceMs);
      await settler.stop();
      renewal.stop();
      journal.close();
    },
  };
}

/** Never rejects: what goes wrong here is a reason to wait. */
async function attempt({ app, sender, isRelayed }: QueueOptions, contents: Contents, item: Born, isWanted: () => boolean): Promise<Fated> {
  try {
    const story = storyOf(item.address);
    if (story) return fateOf(item, simulateAttempt(story, item.tries), false);
    const outgoing = await contents.outgoing(item);
    return outgoing
      ? fateOf(item, await sender.send(whileWanted(outgoing, isWanted)), isRelayed)
      : fail(item, 'the domain that it is from was deleted');
  } catch (error) {
    app.log.warn({ err: error, message: item.messageId }, 'a message could not be made ready for sending');
    return fateOf(
      item,
      { kind: 'waits', afterSeconds: 60, told: { stage: 'here', response: 'it could not be read here; trying again' }, because: 'ours' },
      false,
    );
  }
}

/** Asked when its turn has come, and once more before its content is given: the other side may have taken minutes for the envelope. */
const whileWanted = (outgoing: Outgoing, isWanted: () => boolean): Outgoing => ({
  ...outgoing,
  isWanted,
  content: async () => {
    if (!isWanted()) throw new Error('its lease ended before its content was asked for; another server may have it by now');
    return outgoing.content();
  },
});

/** On a full disk it goes on without: then a process that is killed before the database has it sends it twice. */
function noteFate(app: App, journal: Journal, fate: Fate): (() => void) | undefined {
  try {
    return journal.note(fate);
  } catch (error) {
    app.log.error({ err: error, message: fate.message_id }, 'what became of a message could not be noted on the disk');
    return undefined;
  }
}

const isFinal = (state: string) => state !== 'deferred' && state !== 'queued';
