import assert from 'node:assert/strict';
import type { Someone } from '../../../../../test/harness/index.ts';
import { pushedImage } from '../../../../../test/matrix/recipes/image.ts';
import { run } from '../../../../kernel/db/index.ts';
import { agent, monitor } from '../../../uptime/test/support.ts';
import { covered, eventually, made, mails, once, unresolved, type Ward } from '../support.ts';

/** A schedule of two people, the first of whom can only be reached by SMS, which fails without a provider. */
async function rotation(qd: Ward, first: Someone, second: Someone) {
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
      values (${qd.owner.orgId}, ${first.userId}, '+33612345678', '[{"channel":"sms","delaySeconds":0}]', kernel.now())`,
  );
  const schedule = await made(
    qd.owner.post('/oncall/schedules', {
      name: 'night',
      timezone: 'UTC',
      handoff: { interval: 'weekly', time: '00:00' },
      participants: [
        { userId: first.userId, label: 'Ada' },
        { userId: second.userId, label: 'Bo' },
      ],
    }),
  );
  return covered(qd.owner, { steps: [[{ kind: 'schedule', id: schedule.id, label: '' }, 3600]] });
}

async function subscribed(qd: Ward, slug: string, address: string) {
  await fetch(`${qd.url}/status/${slug}/subscribe`, { method: 'POST', body: new URLSearchParams({ address }) });
  const [mail] = await mails(qd.smtp, address, 1);
  const link = /http:\S+\/confirm\/[\w-]+/.exec(mail!.data.replaceAll('=\r\n', ''))![0];
  assert.equal((await fetch(link, { method: 'POST' })).status, 200);
}

/** A service with a policy, a status page with a subscriber, two monitoring vantages, and what changed in the hour before. */
export async function beforeTheIncident(qd: Ward, { name = 'checkout' } = {}) {
  const { owner } = qd;
  const [ada, bo] = [await qd.member(owner, 'member', 'ada@example.com'), await qd.member(owner, 'member', 'bo@example.com')];
  const { service } = await rotation(qd, ada, bo);
  await made(owner.post('/status-pages', { slug: 'acme', title: 'Acme', serviceIds: [service.id] }));
  await subscribed(qd, 'acme', 'reader@example.com');
  const registry = await made(owner.post('/registry/registries', { slug: 'shop', displayName: 'Shop' }));
  const push = () => pushedImage({ qd, at: owner } as never, { params: { slug: registry.slug } });
  const { repo, tag } = await push();
  const [berlin, oslo] = [await agent(qd, 'berlin'), await agent(qd, 'oslo')];
  const watched = await monitor(owner, ['berlin', 'oslo'], { serviceId: service.id });
  await made(owner.patch(`/uptime/monitors/${watched.id}`, { name }));
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into uptime.maintenance (org_id, id, service_id, title, starts_at, ends_at, created_at)
      values (${owner.orgId}, kernel.new_id('mnt'), ${service.id}, 'new cables', kernel.now() - interval '50 minutes', kernel.now() - interval '20 minutes', kernel.now())`,
  );
  const each = [berlin, oslo, berlin, oslo];
  return {
    ada,
    bo,
    service,
    watched,
    pushed: { repo, tag },
    push,
    /** The monitor goes down: the first contact cannot be reached, the second one is. */
    break: async (): Promise<string> => {
      for (const vantage of each) await vantage.fail(watched, { errorDetail: 'the connection was refused' });
      const { id } = await eventually(async () => (await unresolved(owner))[0]);
      await mails(qd.smtp, 'bo@example.com', 1);
      return id;
    },
    /** Mails to the subscriber so far, the confirmation included. */
    mailed: (count: number) => mails(qd.smtp, 'reader@example.com', count),
    mend: async (id: string) => {
      for (const vantage of each) await vantage.pass(watched);
      await once(owner, id, (incident) => incident.status === 'resolved');
      await mails(qd.smtp, 'reader@example.com', 3);
    },
  };
}
