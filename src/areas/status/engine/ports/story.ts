import type { StorySource, Told } from '../../../ports.ts';
import { type MailingRow, mailingsOf } from '../../store/mailings.ts';

export const statusStory: StorySource = {
  async read(tx, { org, reach }, _own, { mailed }) {
    if (reach('oncall.page.read') !== '*') return { withheld: [{ what: 'mails to subscribers', permission: 'oncall.page.read' }] };
    return { entries: (await mailingsOf(tx, org, mailed)).map(tellMailing) };
  },
};

const mails = (count: number) => (count === 1 ? '1 mail' : `${count} mails`);

function tellMailing({ event_id, first_at, last_at, queued, sent, failed, dropped }: MailingRow): Told {
  const isEnd = event_id.startsWith('inc_');
  const waiting = Math.max(0, queued - sent - failed - dropped);
  const tookSeconds = Math.round((Date.parse(last_at) - Date.parse(first_at)) / 1_000);
  const others = [
    ...(sent && tookSeconds > 0 ? [`the last one after ${tookSeconds} s`] : []),
    ...(failed ? [`${failed} failed`] : []),
    ...(waiting ? [`${waiting} waiting`] : []),
    ...(dropped ? [`${dropped} not needed any more`] : []),
  ];
  return {
    at: first_at,
    kind: 'mails',
    title: `${mails(sent)} to subscribers left about ${isEnd ? 'the end' : 'the update'}`,
    ...(others.length ? { detail: others.join(', ') } : {}),
    ref: { kind: isEnd ? 'incident' : 'incidentUpdate', id: event_id, parents: [] },
  };
}
