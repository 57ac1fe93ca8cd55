import type { EmailStats } from '../../../sdk/browser.ts';
import { serverNow } from '../../data/clock.ts';
import { open, query, setQuery } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { Lines } from '../../plots/lines.tsx';
import { Button } from '../../ui/button.tsx';
import { counted } from '../../ui/counted.ts';
import { FilterSelect } from '../../ui/fields.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useDomains, useSettings } from './readings.ts';

const spans = [30, 90];
const dayMs = 86_400_000;
/** As the server judges: docs/areas/email.md, “Quota and pause”. */
const judgedFrom = 200;
const warnFrom = 0.4;

/** How mail fares: outcomes by day, against the limits at which sending is paused. */
export default function Sending() {
  const why = useWhy();
  const domains = useDomains();
  const domainId = query.value.get('domain') ?? '';
  const days = spans.find((span) => String(span) === query.value.get('days')) ?? spans[0]!;
  const reading = useQuery({
    key: ['mail stats', domainId, days],
    kinds: ['email.message'],
    refreshSeconds: 60,
    ask: (client, signal) =>
      client.email.getEmailStats(
        { from: new Date(serverNow() - (days - 1) * dayMs).toISOString(), ...(domainId ? { domainId } : {}) },
        { signal },
      ),
  });
  const stats = reading.data;
  return (
    <Page
      title="Sending"
      actions={
        <Button kind="primary" why={why('listSendKeys')} onPress={() => open('/email/keys')}>
          Send from a program
        </Button>
      }
      code={[{ operation: 'getEmailStats', input: domainId ? { domainId } : {} }, { operation: 'getEmailSettings' }]}
    >
      <Settings />
      <search class="toolbar">
        <FilterSelect
          label="Domain"
          all="All domains"
          value={domainId}
          onChange={(id) => setQuery('domain', id)}
          options={(domains.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        />
        <span class="buttons">
          {spans.map((span) => (
            <Button key={span} small pressed={span === days} onPress={() => setQuery('days', span === spans[0] ? undefined : String(span))}>
              {span} days
            </Button>
          ))}
        </span>
      </search>
      {!stats ? <Waiting reading={reading} what="domain" /> : <Outcomes stats={stats} />}
    </Page>
  );
}

function Outcomes({ stats: { days, pause, from } }: { stats: EmailStats }) {
  const at = (date: string) => Date.parse(date) / 1000;
  const series = (name: string, pick: (day: EmailStats['days'][number]) => number) => ({
    name,
    points: days.map((day) => ({ t: at(day.date), value: pick(day), up: 1 })),
  });
  const sum = (pick: (day: EmailStats['days'][number]) => number) => days.reduce((total, day) => total + pick(day), 0);
  const known = sum(({ sent }) => sent);
  return (
    <>
      <Lines
        label="Recipients by day"
        series={[
          series('Delivered', ({ delivered }) => delivered),
          series('Bounced', ({ bounced }) => bounced),
          series('Complained', ({ complained }) => complained),
        ]}
        from={at(from)}
        stepSeconds={dayMs / 1000}
        steps={days.length}
        format={(value) => (value < 1_000 ? String(Number(value.toFixed(1))) : `${Number((value / 1_000).toFixed(1))}k`)}
        none="nothing"
      />
      {known === 0 && (
        <p class="faint">
          No outcome in this time. <Link to="/email/messages">Messages</Link> shows what is under way.
        </p>
      )}
      <h2>Against the limits</h2>
      {pause ? (
        <>
          <Limit
            what="Hard bounces"
            count={pause.hardBounces}
            pct={pause.bouncePct}
            end={pause.bouncePausePct}
            isJudged={pause.recipients >= judgedFrom}
          />
          <Limit
            what="Complaints"
            count={pause.complaints}
            pct={pause.complaintPct}
            end={pause.complaintPausePct}
            isJudged={pause.recipients >= judgedFrom}
          />
          <p class="hint">
            Of {counted(pause.recipients, 'recipient')} in the last 7 days, over all domains; fewer than {judgedFrom} are not judged. At a
            limit sending pauses by itself, and the operator of this server resumes it.
          </p>
        </>
      ) : (
        <p class="faint">The limits are of the whole organization; a role on some of its domains does not show them.</p>
      )}
    </>
  );
}

interface LimitProps {
  what: string;
  count: number;
  pct: number;
  end: number;
  /** So few recipients are not judged: one of five would be 20 %. */
  isJudged: boolean;
}

const Limit = ({ what, count, pct, end, isJudged }: LimitProps) => (
  <p class="quota">
    <meter
      min={0}
      max={end}
      high={end * warnFrom}
      optimum={0}
      value={isJudged ? Math.min(pct, end) : 0}
      aria-label={`${what} against the limit`}
    />{' '}
    <span class={isJudged && pct >= end * warnFrom ? 'attention' : undefined}>
      {what}: {Number(pct.toFixed(2))} % ({count.toLocaleString('en')}); sending pauses at {end} %
    </span>
  </p>
);

function Settings() {
  const isAllowed = useMay('getEmailSettings');
  const { data } = useSettings();
  if (!isAllowed || !data) return null;
  const { paused, pausedAt, pauseReason, warning, dailyQuota, acceptedToday = 0 } = data;
  return (
    <>
      {paused && (
        <p class="note bad" role="alert">
          Sending is paused{pausedAt && ' since '}
          {pausedAt && <Moment at={pausedAt} />}: {pauseReason ?? 'the operator knows why'}. New mail is refused, and what is queued waits.
          The operator of this server resumes it.
        </p>
      )}
      {warning && <p class="note attention">{warning}</p>}
      <Sheet
        rows={[
          [
            'Today',
            <span key="today" class="quota">
              <meter
                min={0}
                max={Math.max(1, dailyQuota)}
                high={dailyQuota * 0.9}
                optimum={0}
                value={Math.min(acceptedToday, dailyQuota)}
                aria-label="Share of the daily quota that is used"
              />{' '}
              {acceptedToday.toLocaleString('en')} of {dailyQuota.toLocaleString('en')} recipients, until midnight UTC
            </span>,
          ],
        ]}
      />
    </>
  );
}
