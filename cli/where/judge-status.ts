import { commandName } from '../command-name.ts';
import type { Status } from './ask-status.ts';
import { isSameRelease } from './same-release.ts';
import { type Line, shortName, sizeInWords, someOf, span } from './words.ts';

/** A report for people: one line for each part, the same order every time. */
export function judgeStatus(status: Status, now: number): Line[] {
  return [
    servers(status),
    database(status),
    monitors(status, now),
    incidents(status, now),
    clusters(status),
    quotas(status),
    ...mail(status),
  ]
    .filter((line) => line !== undefined)
    .concat(onCall(status, now), notAsked(status));
}

export const isWrong = ({ verdict }: Line): boolean => verdict === 'warn' || verdict === 'fail';

function servers({ installation, commandLine }: Status): Line | undefined {
  if (!installation) return undefined;
  const byKind = Map.groupBy(
    installation.servers,
    (each) => `${each.version ?? 'older release'} (${each.roles.join(', ') || 'roles unknown'})`,
  );
  const says = [...byKind].map(([kind, some]) => (some.length > 1 ? `${some.length} × ${kind}` : kind));
  const versions = new Set(installation.servers.map((each) => each.version));
  const notes = [
    ...(versions.size > 1 ? ['servers run different builds'] : []),
    ...(isSameRelease(installation.version, commandLine) ? [] : [`this command line is ${commandLine}`]),
  ];
  return {
    verdict: versions.size > 1 ? 'warn' : 'ok',
    subject: 'servers',
    says: [says.join('; ') || installation.version, ...notes].join('; '),
  };
}

function database({ installation }: Status): Line | undefined {
  if (!installation) return undefined;
  const { database: found, disk, held } = installation;
  const says = `PostgreSQL ${found.version}, ${found.kind}`;
  const line = (verdict: Line['verdict'], note: string): Line => ({ verdict, subject: 'database', says: `${says}${note}` });
  if (disk === 'full') return line('fail', '; the disk of the server is full');
  if (held) return line('fail', '; restored: nothing leaves until `quarterdeck admin restore go`');
  return disk === 'low' ? line('warn', '; the disk of the server is nearly full') : line('ok', '');
}

function monitors({ monitors: found }: Status, now: number): Line | undefined {
  if (!found) return undefined;
  const total = `${found.total}${found.isPartial ? ' and more' : ''}`;
  if (!found.down.length) return { verdict: 'ok', subject: 'monitors', says: found.total ? `none of ${total} is down` : 'none yet' };
  const names = found.down.map(({ name, since }) => `${shortName(name)}${since ? ` (for ${span(Date.parse(since), now)})` : ''}`);
  return { verdict: 'fail', subject: 'monitors', says: `${found.down.length} of ${total} down: ${someOf(names)}` };
}

function incidents({ incidents: found }: Status, now: number): Line | undefined {
  if (!found) return undefined;
  if (!found.length) return { verdict: 'ok', subject: 'incidents', says: 'none is open' };
  const names = found.map(({ title, status, openedAt }) => `${shortName(title)} (${status}, ${span(Date.parse(openedAt), now)})`);
  return {
    verdict: found.some((each) => each.status === 'open') ? 'fail' : 'warn',
    subject: 'incidents',
    says: `${found.length}: ${someOf(names)}`,
  };
}

function clusters({ clusters: found }: Status): Line | undefined {
  if (!found) return undefined;
  if (!found.notReady.length) return { verdict: 'ok', subject: 'clusters', says: found.total ? `all ${found.total} ready` : 'none yet' };
  const isBad = found.notReady.some(({ phase }) => phase === 'failed' || phase === 'degraded');
  const names = found.notReady.map(({ name, phase }) => `${shortName(name)} is ${phase}`);
  return {
    verdict: isBad ? 'fail' : 'ok',
    subject: 'clusters',
    says: `${found.total - found.notReady.length} of ${found.total} ready; ${someOf(names)}`,
  };
}

function quotas({ nearlyFull }: Status): Line | undefined {
  if (!nearlyFull) return undefined;
  if (!nearlyFull.length) return { verdict: 'ok', subject: 'quotas', says: 'nothing is nearly full' };
  const amount = (value: number, unit: string) => (unit === 'bytes' ? sizeInWords(value) : `${value}`);
  const names = nearlyFull.map(({ name, used, limit, unit }) => `${shortName(name)}: ${amount(used, unit)} of ${amount(limit, unit)}`);
  return { verdict: nearlyFull.some(({ used, limit }) => used >= limit) ? 'fail' : 'warn', subject: 'nearly full', says: someOf(names) };
}

function mail({ mail: found, domains }: Status): Line[] {
  const failed: Line[] = domains?.failed.length
    ? [{ verdict: 'warn', subject: 'domains', says: `verification failed: ${someOf(domains.failed.map(shortName))}` }]
    : [];
  if (!found) return failed;
  const waits = found.waiting ? `${found.waiting}${found.isPartial ? ' or more' : ''} messages wait` : 'none waits';
  if (found.paused)
    return [
      { verdict: 'fail', subject: 'mail', says: `sending is paused (${shortName(found.pauseReason ?? 'by the operator')}); ${waits}` },
      ...failed,
    ];
  return [
    { verdict: found.warning ? 'warn' : 'ok', subject: 'mail', says: `${waits}${found.warning ? `; ${found.warning}` : ''}` },
    ...failed,
  ];
}

function onCall({ onCall: found }: Status, now: number): Line[] {
  if (!found) return [];
  if (!found.length) return [{ verdict: 'ok', subject: 'on call', says: 'no schedule yet' }];
  // Those without anyone first: five lines must not hide one.
  const lines = found
    .toSorted((a, b) => Number(Boolean(a.who)) - Number(Boolean(b.who)))
    .slice(0, 5)
    .map(({ schedule, who, until, participants }): Line => {
      const name = shortName(schedule);
      if (who && until)
        return {
          verdict: 'ok',
          subject: 'on call',
          says: `${name}: ${shortName(who)} for ${span(now, Date.parse(until))}, until ${minute(until)}`,
        };
      return { verdict: participants ? 'warn' : 'fail', subject: 'on call', says: `${name}: no one is on call now` };
    });
  const more = found.length - lines.length;
  return more > 0 ? [...lines, { verdict: 'ok', subject: '', says: `${more} more: ${commandName} oncall schedules list` }] : lines;
}

const minute = (time: string) => `${time.slice(0, 10)} ${time.slice(11, 16)}Z`;

function notAsked({ notAsked: all }: Status): Line[] {
  const forbidden = all.filter(({ isForbidden }) => isForbidden);
  const failed = all.filter(({ isForbidden }) => !isForbidden);
  return [
    ...failed.map(({ question, why }): Line => ({ verdict: 'fail', subject: question, says: `no answer: ${why}` })),
    ...(forbidden.length
      ? [
          {
            verdict: '?' as const,
            subject: 'not asked',
            says: `${forbidden.map(({ question }) => question).join(', ')}: ${forbidden[0]!.why}`,
          },
        ]
      : []),
  ];
}
