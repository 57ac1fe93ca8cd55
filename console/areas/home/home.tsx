import type { ComponentChildren } from 'preact';
import type { Overview } from '../../data/overview.ts';
import { useOverview } from '../../data/overview.ts';
import { useRights } from '../../data/rights.ts';
import { bytes } from '../../ui/cell.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Sign } from '../../ui/sign.tsx';
import { State } from '../../ui/state.tsx';
import { Age, written } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { FirstSteps } from './first-steps.tsx';
import { placeOfEnding, placeOfFailing, placeOfFull } from './places.ts';

/** What needs the person now, the most urgent first. A part that could not be had is named; a part that is well takes one line. */
export default function Home() {
  const reading = useOverview();
  const { data: rights } = useRights();
  const { data } = reading;
  return (
    <Page title="Home" code={[{ operation: 'getOverview' }]}>
      {!data ? (
        <Waiting reading={reading} what="overview" />
      ) : (
        <>
          {data.unavailable.map(({ area, reason }) => (
            <p key={area} class="note attention">
              {area}: {reason}
            </p>
          ))}
          <OnCall overview={data} />
          <Incidents overview={data} />
          <Down overview={data} />
          <Failing overview={data} />
          {rights && <FirstSteps steps={data.firstSteps} />}
          <Ends overview={data} />
          <Changes overview={data} />
        </>
      )}
    </Page>
  );
}

type Part = { overview: Overview };

function OnCall({ overview: { onCall, nextShift } }: Part) {
  if (!onCall) return null;
  return (
    <section class="banner">
      {onCall.length ? (
        onCall.map(({ scheduleId, scheduleName, until, nextLabel }) => (
          <p key={scheduleId}>
            <strong>You are on call</strong> by <Link to={`/oncall/schedules/${scheduleId}`}>{scheduleName}</Link>
            {until ? ` until ${written(until)}` : ', with no end in the next four weeks'}
            {until && `, then ${nextLabel ?? 'nobody: there is a gap'}`}.
          </p>
        ))
      ) : (
        <p>
          You are not on call now.
          {nextShift && (
            <>
              {' '}
              Your next shift is <Link to={`/oncall/schedules/${nextShift.scheduleId}`}>{nextShift.scheduleName}</Link>, from{' '}
              {written(nextShift.startsAt)}.
            </>
          )}
        </p>
      )}
    </section>
  );
}

/** A list of what is wrong; one line where nothing is. */
function Wrong({
  title,
  total = 0,
  calm,
  children,
}: {
  title: string;
  total: number | undefined;
  calm: string;
  children: ComponentChildren;
}) {
  if (!total)
    return (
      <p class="calm">
        <Sign of="good" /> {calm}
      </p>
    );
  return (
    <section class="wrong">
      <h2>
        {title} <span class="faint">{total}</span>
      </h2>
      <ul class="items">{children}</ul>
    </section>
  );
}

function Incidents({ overview: { incidents, totals } }: Part) {
  if (!incidents) return null;
  return (
    <Wrong title="Incidents" total={totals.incidents} calm="No incident is open.">
      {incidents.map(({ id, title, status, pagesMe, serviceName, openedAt }) => (
        <li key={id}>
          <State word={status} />
          <Link to={`/oncall/incidents/${id}`}>{title}</Link>
          <span class="faint">
            <bdi>{serviceName}</bdi> · <Age at={openedAt} long />
            {pagesMe && ' · you were paged'}
          </span>
        </li>
      ))}
      {(totals.incidents ?? 0) > incidents.length && (
        <li>
          <Link to="/oncall/incidents">All {totals.incidents}</Link>
        </li>
      )}
    </Wrong>
  );
}

function Down({ overview: { down, totals } }: Part) {
  if (!down) return null;
  return (
    <Wrong title="Down" total={totals.down} calm="Nothing is down.">
      {down.map(({ kind, id, name, state, since, serviceName, reason }) => (
        <li key={id}>
          <State word={state} />
          <Link to={kind === 'cluster' ? `/clusters/${encodeURIComponent(id)}` : `/uptime/monitors/${id}`}>{name}</Link>
          <span class="faint">
            <bdi>{[kind === 'cluster' ? 'cluster' : serviceName, reason].filter(Boolean).join(' · ')}</bdi>
            {since && ' · '}
            {since && <Age at={since} long />}
          </span>
        </li>
      ))}
      {(totals.down ?? 0) > down.length && (
        <li>
          <Link to="/uptime/monitors?state=down">All {totals.down}</Link>
        </li>
      )}
    </Wrong>
  );
}

function Failing({ overview: { failing, totals } }: Part) {
  if (!failing) return null;
  return (
    <Wrong title="Does not do its work" total={totals.failing} calm="Deliveries, domains, vantages and pages do their work.">
      {failing.map((one) => (
        <li key={`${one.kind} ${one.id ?? one.name}`}>
          <Sign of="attention" />
          <Link to={placeOfFailing(one)}>{one.name}</Link>
          <span class="faint">
            <bdi>{one.reason}</bdi>
            {one.since && ' · '}
            {one.since && <Age at={one.since} long />}
          </span>
        </li>
      ))}
    </Wrong>
  );
}

function Ends({ overview: { ends = [], full = [] } }: Part) {
  if (!ends.length && !full.length) return null;
  return (
    <section>
      <h2>Ends or fills soon</h2>
      <ul class="items">
        {full.map((one) => (
          <li key={`${one.kind} ${one.id}`}>
            <Sign of={one.percent >= 95 ? 'bad' : 'attention'} />
            <Link to={placeOfFull(one)}>{one.name}</Link>
            <span class="faint">
              {one.percent} % of {one.unit === 'bytes' ? bytes(one.limit) : `${one.limit} ${one.unit}`}
            </span>
          </li>
        ))}
        {ends.map((one) => (
          <li key={`${one.kind} ${one.id}`}>
            <Sign of="attention" />
            <Link to={placeOfEnding(one)}>{one.name}</Link>
            <span class="faint">
              ends <Age at={one.endsAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const shownChanges = 5;

function Changes({ overview: { changes } }: Part) {
  if (!changes?.length) return null;
  return (
    <section>
      <h2>Last changes</h2>
      <ul class="items">
        {changes.slice(0, shownChanges).map(({ id, at, actorLabel, action, target }) => (
          <li key={id}>
            <span>
              <bdi>{actorLabel}</bdi>: <code>{action}</code>
            </span>
            <span class="faint">
              <bdi class="wide">{target}</bdi> <Age at={at} long />
            </span>
          </li>
        ))}
      </ul>
      <p>
        <Link to="/organization/audit">The whole audit log</Link>
      </p>
    </section>
  );
}
