import { countQueue, freeSender, mailOnAbsentDisks, posture, showSenders } from '../areas/email/index.ts';
import { operator } from '../identity/audit.ts';
import { findOrganization } from './organization.ts';
import { type OutputOptions, printRows } from './output.ts';
import type { Session } from './session.ts';

interface Where {
  organization?: string;
}

export async function setQuota({ db, config }: Session, quota: number | null, o: Where) {
  const { slug } = await db.write(async (tx) => {
    const org = await findOrganization(tx, o.organization);
    await posture.setDailyQuota(tx, operator(org.id), quota);
    return org;
  });
  console.log(`${slug} may send to ${quota ?? config.email_daily_quota} recipients a day${quota === null ? ', as everybody' : ''}`);
}

export async function pause({ db }: Session, o: Where & { reason: string }) {
  const { slug, isNew } = await db.write(async (tx) => {
    const org = await findOrganization(tx, o.organization);
    return { slug: org.slug, isNew: await posture.pauseSending(tx, operator(org.id), o.reason) };
  });
  console.log(isNew ? `${slug} sends nothing from now on; what is queued waits` : `${slug} was paused already; the first reason stays`);
}

export async function resume({ db }: Session, o: Where) {
  const { slug, wasPaused } = await db.write(async (tx) => {
    const org = await findOrganization(tx, o.organization);
    return { slug: org.slug, wasPaused: await posture.resumeSending(tx, operator(org.id)) };
  });
  console.log(wasPaused ? `${slug} sends again; what waited goes on` : `${slug} was not paused`);
}

export async function showQueue({ db }: Session, o: OutputOptions) {
  const [found, away] = await db.read((tx) => Promise.all([countQueue(tx), mailOnAbsentDisks(tx)]));
  const onAbsentDisks = away.map((a) => ({
    organization: a.org_id,
    state: 'on an absent disk',
    recipients: a.recipients,
    'oldest due': `${Math.round(a.oldest_seconds)} s`,
    'last error': `in the data directory ${a.node}, last seen at ${a.seen_at}; given up at ${a.gone_at} unless a server runs on it by then`,
  }));
  const shown = found.map((q) => ({
    organization: q.org_id,
    state: q.state,
    recipients: q.recipients,
    'oldest due': `${Math.round(q.oldest_seconds)} s`,
    'last error': q.last_error ?? undefined,
  }));
  printRows(o, [...shown, ...onAbsentDisks], 'nothing is on its way');
}

export async function showInbound({ db, config }: Session, o: Where & OutputOptions) {
  const found = await db.read(async (tx) => showSenders(tx, (await findOrganization(tx, o.organization)).id));
  const quota = config.email_inbound_quota_bytes;
  const shown = found.map(({ sender, bytes }) => ({ sender, bytes, 'of quota': `${Math.round((1000 * bytes) / quota) / 10} %` }));
  printRows(o, shown, 'nothing arrived in the last 30 days');
}

export async function freeInbound({ db }: Session, o: Where & { from: string }) {
  const org = await db.read((tx) => findOrganization(tx, o.organization));
  const { messages, bytes } = await freeSender((work) => db.write(work), operator(org.id), o.from);
  console.log(`${org.slug} has ${bytes} bytes more for mail: the content of ${messages} messages from ${o.from} is gone`);
}
