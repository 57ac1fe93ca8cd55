import { randomInt } from 'node:crypto';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { WantedJob } from '../../../../kernel/jobs/index.ts';
import { addressOf, type ChannelName, channels, pageAsSubject } from '../../rules/channels.ts';
import { type HeldBecause, heldReasons, limitPages } from '../../rules/page-limits.ts';
import type { Rule } from '../../rules/wishes.ts';
import * as limits from '../../store/page-limits.ts';
import { datePages, type Inserted, insertPages, type NewPage, type PageToMake, takenCodes } from '../../store/pages.ts';
import type { Entry } from '../../store/timeline.ts';
import { pageJob } from '../page.ts';
import type { Responder } from './responder.ts';

/** Where in an incident's walk pages are made, and when. */
export interface Occasion {
  incidentId: string;
  round: number;
  pass: number;
  step: number;
  /** Which of the pages to whoever acknowledged, and what it tells; absent in a walk. */
  notice?: { number: number; about: string };
  now: string;
  requestId: string | undefined;
  /** The page before it failed, so it is made whatever the limits say. */
  regardless?: true;
  /** Nobody was paged about the incident before: nothing of it can have been held back either. */
  isFirst?: true;
}

/** What a person did not get, because it would have been too much in a minute. */
export interface Held {
  label: string;
  because: HeldBecause;
  pages: number;
}

/** Where pages are put on record, and how many were held back. */
export interface Ledger {
  insert(pages: readonly NewPage[]): Promise<Inserted>;
  addHeldBack(userId: string, pages: number): Promise<unknown>;
}

const ledgerOf = (tx: Tx, org: string, { incidentId, now }: Occasion): Ledger => ({
  insert: (pages) => insertPages(tx, org, incidentId, now, pages),
  addHeldBack: (userId, pages) => limits.addHeldBack(tx, org, { incidentId, userId }, pages),
});

/** The ledger of an incident that is not on record itself yet: what is put into it is written with the incident. */
export interface KeptLedger extends Ledger {
  pages: PageToMake[];
  heldBack: { userId: string; pages: number }[];
}

export function keepLedger(now: string): KeptLedger {
  const pages: PageToMake[] = [];
  const heldBack: KeptLedger['heldBack'] = [];
  return {
    pages,
    heldBack,
    insert: async (wanted) => {
      const made = datePages(now, wanted);
      pages.push(...made);
      return { made, unwritten: [] };
    },
    addHeldBack: async (userId, count) => heldBack.push({ userId, pages: count }),
  };
}

/**
 * The pages that somebody's rules ask for, as far as the limits allow. Their jobs and the lines for the timeline are the caller's to
 * write, together with what else it has.
 */
export async function makePages(
  tx: Tx,
  org: string,
  occasion: Occasion,
  { member, label, phone, rules, broken }: Responder & { rules: (Rule & { ruleIndex?: number })[] },
  ledger: Ledger = ledgerOf(tx, org, occasion),
): Promise<{ jobs: WantedJob[]; lines: Entry[]; held: Held[] }> {
  const { incidentId, round, pass, step, notice, now, requestId } = occasion;
  const whose = { incidentId, userId: member.id };
  const wanted = rules.map((rule, i) => ({ ruleIndex: i, ...rule }));
  const [{ made, held }, codes] = await Promise.all([
    chooseMade(tx, org, occasion, member.id, wanted),
    freeCodes(tx, org, member.id, rules),
  ]);
  const told = made.length && !occasion.isFirst ? await limits.takeHeldBack(tx, org, whose) : 0;
  const back = [...held.values()].reduce((sum, n) => sum + n, 0);
  if (back) await ledger.addHeldBack(member.id, back);
  const { made: inserted, unwritten } = await ledger.insert(
    made.map(({ channel, delaySeconds, ruleIndex }, i) => ({
      round,
      pass,
      step,
      notice: notice?.number ?? 0,
      about: notice?.about ?? null,
      userId: member.id,
      label,
      channel,
      ruleIndex,
      address: addressOf(channel, { email: member.email, phone }),
      delaySeconds,
      code: codes[i]!,
      heldBack: i === 0 ? told : 0,
    })),
  );
  return {
    jobs: inserted.map(({ id, dueAt }) => ({
      job: pageJob,
      key: id,
      org,
      ...(dueAt > now ? { runAt: dueAt } : {}),
      ...(requestId ? { requestId } : {}),
    })),
    lines: [
      ...inserted
        .filter(({ dueAt }) => dueAt > now)
        .map(({ id, channel, dueAt }) => ({
          kind: 'page_queued',
          message: `${label} gets ${channels[channel].page} at ${dueAt} unless somebody acknowledges`,
          data: { pageId: id, channel, dueAt },
        })),
      ...unwritten.map(({ page: { channel }, why }) => ({
        kind: 'page_failed',
        message: `${pageAsSubject(channel)} to ${label} could not be put on record, so it does not go out: ${why}`,
        data: { channel, userId: member.id, error: why },
      })),
      ...broken.map((why) => ({
        kind: 'page_failed',
        message: `A rule of ${label} cannot be followed: ${why}; they must save their paging settings again`,
        data: { userId: member.id, error: why },
      })),
    ],
    held: [...held].map(([because, pages]) => ({ label, because, pages })),
  };
}

/** Which of the wanted pages the limits allow. What is made in any case is not counted for. */
async function chooseMade<W extends { delaySeconds: number }>(
  tx: Tx,
  org: string,
  { incidentId, now, regardless, isFirst }: Occasion,
  userId: string,
  wanted: readonly W[],
): Promise<{ made: readonly W[]; held: ReadonlyMap<HeldBecause, number> }> {
  // The first page about an incident goes out whatever the limits say.
  if (regardless || (isFirst && wanted.length === 1)) return { made: wanted, held: new Map() };
  const whose = { incidentId, userId };
  const delays = wanted.map((w) => w.delaySeconds);
  const [near, isPaged] = await Promise.all([
    limits.countNear(tx, org, whose, now, delays),
    isFirst ? false : limits.isPaged(tx, org, whose),
  ]);
  return limitPages(wanted, near, !isPaged);
}

/** One line for each person and reason, however many steps held something back. */
export function tellHeld(held: readonly Held[]): Entry[] {
  const groups = Map.groupBy(held, ({ label, because }) => `${because} ${label}`);
  return [...groups.values()].map((group) => {
    const { label, because } = group[0]!;
    const pages = group.reduce((sum, h) => sum + h.pages, 0);
    return {
      kind: 'page_held_back',
      message: `${pages} ${pages > 1 ? 'pages' : 'page'} to ${label} ${pages > 1 ? 'are' : 'is'} held back: ${heldReasons[because]}; the next one says how many`,
      data: { count: pages, because },
    };
  });
}

/** A code of four digits for each rule, naming nothing else of theirs as far as a few guesses find it. */
async function freeCodes(tx: Tx, org: string, userId: string, rules: readonly { channel: ChannelName }[]): Promise<string[]> {
  const guesses = new Set<string>();
  while (guesses.size < rules.length + 8) guesses.add(String(randomInt(10_000)).padStart(4, '0'));
  if (!rules.some((r) => channels[r.channel].coded)) return [...guesses];
  const taken = await takenCodes(tx, org, userId, [...guesses]);
  return [...guesses].sort((a, b) => Number(taken.has(a)) - Number(taken.has(b)));
}
