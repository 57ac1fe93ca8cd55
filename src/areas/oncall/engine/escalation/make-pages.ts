import { randomInt } from 'node:crypto';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { WantedJob } from '../../../../kernel/jobs/index.ts';
import { append } from '../../../../kernel/steps.ts';
import { addressOf, type ChannelName, channels, pageAsSubject } from '../../rules/channels.ts';
import { type HeldReason, heldReasons, limitPages } from '../../rules/page-limits.ts';
import type { Rule } from '../../rules/paging-rules.ts';
import * as limits from '../../store/page-limits.ts';
import { type Inserted, insertPages, type NewPage, type PageToMake, takenCodes, withDueTimes } from '../../store/pages.ts';
import type { TimelineEntry } from '../../store/timeline.ts';
import { pageJob } from '../page.ts';
import type { Responder } from './responder.ts';

/** The position in an incident's escalation for which pages are made, and the time. */
export interface PageOccasion {
  incidentId: string;
  round: number;
  pass: number;
  step: number;
  /** Number and text of a notice to the acknowledger; absent in an escalation. */
  notice?: { number: number; about: string };
  now: string;
  requestId: string | undefined;
  /** The page before it failed, so this page ignores the limits. */
  ignoreLimits?: true;
  /** The incident has no pages yet, so none was held back either. */
  isFirst?: true;
}

/** Pages of a person that the limits held back. */
export interface HeldBack {
  label: string;
  reason: HeldReason;
  pages: number;
}

/** Stores new pages and counts of held-back pages. */
export interface PageWriter {
  insert(pages: readonly NewPage[]): Promise<Inserted>;
  addHeldBack(userId: string, pages: number): Promise<unknown>;
}

const pageWriterFor = (tx: Tx, org: string, { incidentId, now }: PageOccasion): PageWriter => ({
  insert: (pages) => insertPages(tx, org, incidentId, now, pages),
  addHeldBack: (userId, pages) => limits.addHeldBack(tx, org, { incidentId, userId }, pages),
});

/** A writer for an incident that is not stored yet: its pages are inserted with the incident. */
export interface BufferedPageWriter extends PageWriter {
  pages: PageToMake[];
  heldBack: { userId: string; pages: number }[];
}

export function makeBufferedPageWriter(now: string): BufferedPageWriter {
  const pages: PageToMake[] = [];
  const heldBack: BufferedPageWriter['heldBack'] = [];
  return {
    pages,
    heldBack,
    insert: async (wanted) => {
      const made = withDueTimes(now, wanted);
      append(pages, made);
      return { made, unwritten: [] };
    },
    addHeldBack: async (userId, count) => heldBack.push({ userId, pages: count }),
  };
}

/**
 * Makes the pages of a person's rules within the limits. The caller stores the returned jobs and timeline entries together with its own.
 */
export async function makePages(
  tx: Tx,
  org: string,
  occasion: PageOccasion,
  { member, label, addresses, rules, broken }: Responder & { rules: (Rule & { ruleIndex?: number })[] },
  writer: PageWriter = pageWriterFor(tx, org, occasion),
): Promise<{ jobs: WantedJob[]; lines: TimelineEntry[]; held: HeldBack[] }> {
  const { incidentId, round, pass, step, notice, now, requestId } = occasion;
  const pageKey = { incidentId, userId: member.id };
  const wanted = rules.map((rule, i) => ({ ruleIndex: i, ...rule }));
  const [{ made, held }, codes] = await Promise.all([
    applyLimits(tx, org, occasion, member.id, wanted),
    pickReplyCodes(tx, org, member.id, rules),
  ]);
  const heldBefore = made.length && !occasion.isFirst ? await limits.takeHeldBack(tx, org, pageKey) : 0;
  const heldCount = [...held.values()].reduce((sum, n) => sum + n, 0);
  if (heldCount) await writer.addHeldBack(member.id, heldCount);
  const { made: inserted, unwritten } = await writer.insert(
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
      address: addressOf(channel, { email: member.email, ...addresses }),
      delaySeconds,
      code: codes[i]!,
      heldBack: i === 0 ? heldBefore : 0,
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
    held: [...held].map(([reason, pages]) => ({ label, reason, pages })),
  };
}

/** Applies the limits to the wanted pages. Pages that ignore the limits are not counted. */
async function applyLimits<W extends { delaySeconds: number }>(
  tx: Tx,
  org: string,
  { incidentId, now, ignoreLimits: regardless, isFirst }: PageOccasion,
  userId: string,
  wanted: readonly W[],
): Promise<{ made: readonly W[]; held: ReadonlyMap<HeldReason, number> }> {
  // The first page about an incident ignores the limits.
  if (regardless || (isFirst && wanted.length === 1)) return { made: wanted, held: new Map() };
  const pageKey = { incidentId, userId };
  const delays = wanted.map((w) => w.delaySeconds);
  const [nearby, isPaged] = await Promise.all([
    limits.countNearby(tx, org, pageKey, now, delays),
    isFirst ? false : limits.isPaged(tx, org, pageKey),
  ]);
  return limitPages(wanted, nearby, !isPaged);
}

/** One entry per person and reason, even if several steps held pages back. */
export function heldBackEntries(held: readonly HeldBack[]): TimelineEntry[] {
  const groups = Map.groupBy(held, ({ label, reason }) => `${reason} ${label}`);
  return [...groups.values()].map((group) => {
    const { label, reason } = group[0]!;
    const pages = group.reduce((sum, h) => sum + h.pages, 0);
    return {
      kind: 'page_held_back',
      message: `${pages} ${pages > 1 ? 'pages' : 'page'} to ${label} ${pages > 1 ? 'are' : 'is'} held back: ${heldReasons[reason]}; the next one says how many`,
      data: { count: pages, because: reason },
    };
  });
}

/** A four-digit reply code for each rule. Codes of the person's recent pages are avoided, with a few spare guesses. */
export async function pickReplyCodes(tx: Tx, org: string, userId: string, rules: readonly { channel: ChannelName }[]): Promise<string[]> {
  const guesses = new Set<string>();
  while (guesses.size < rules.length + 8) guesses.add(String(randomInt(10_000)).padStart(4, '0'));
  if (!rules.some((r) => channels[r.channel].coded)) return [...guesses];
  const taken = await takenCodes(tx, org, userId, [...guesses]);
  return [...guesses].sort((a, b) => Number(taken.has(a)) - Number(taken.has(b)));
}
