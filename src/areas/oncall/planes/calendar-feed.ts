import type { FastifyInstance } from 'fastify';
import { makeAttempts, tooMany } from '../../../identity/attempts.ts';
import { rateLimit } from '../../../identity/rate-limit.ts';
import { hashKey, kindOf } from '../../../identity/token-format.ts';
import type { App } from '../../../kernel/app.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { renderCalendarFeed } from '../engine/calendar/feed.ts';
import { scheduleByLink } from '../store/calendar-links.ts';

/** Requests per link. Calendar programs poll hourly, and a person may have several. */
const perMinute = 10;

/** The feed for calendar programs. The address itself is the secret. */
export function calendarFeed(server: FastifyInstance, app: App) {
  const attempts = makeAttempts(app);
  const links = rateLimit(perMinute);
  server.get<{ Params: { file: string } }>('/oncall/calendar/:file', async (request, reply) => {
    const key = request.params.file.replace(/\.ics$/, '');
    if (kindOf(key) !== 'cal') {
      attempts.failed(request.raw);
      throw gone();
    }
    const hash = hashKey(key);
    const name = hash.toString('base64');
    const { allowed, resetSeconds } = links.take(name);
    if (!allowed) throw tooMany('this calendar was asked for too often', resetSeconds);
    const feed = await attempts.lookUp(request.raw, name, () =>
      app.db.read(async (tx) => {
        const shown = await scheduleByLink(tx, hash);
        return shown && renderCalendarFeed(tx, shown.org_id, shown.schedule_id);
      }),
    );
    if (feed === undefined) throw gone();
    return reply.type('text/calendar; charset=utf-8').header('Cache-Control', 'private, max-age=300').send(feed);
  });
}

const gone = () => new Refusal(404, 'not_found', 'there is no such calendar, or its link was revoked; ask for a new one');
