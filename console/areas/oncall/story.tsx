import { useState } from 'preact/hooks';
import type { OncallStoryEntry } from '../../../sdk/browser.ts';
import { now } from '../../data/clock.ts';
import { query, setQuery } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { type AreaName, areas } from '../../shell/screen.ts';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Download } from '../../ui/download.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { Sign } from '../../ui/sign.tsx';
import { State } from '../../ui/state.tsx';
import { inOwnTime, Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { IncidentActions } from './incident-actions.tsx';
import { incidentKinds } from './incident-acts.ts';
import { PublishUpdate } from './incident-updates.tsx';
import { OverrideDialog } from './override-dialog.tsx';
import { firstSign, postMortem, type Story } from './post-mortem.ts';
import { judgementOf, offsetOf, placeOf, spanOf } from './story-words.ts';

/** Probes and mails are told by no hint of the incident. */
const refreshSeconds = 60;
const storyKinds = [...incidentKinds, 'uptime.monitor', 'clusters.cluster'];
const overrideMs = 8 * 3_600_000;

/** One incident from the first failing probe to the mails that left, and above it what changed in the hour before. */
export default function StoryScreen({ params: { id = '' } }: { params: Record<string, string> }) {
  const reading = useQuery({
    key: ['story', id],
    kinds: storyKinds,
    refreshSeconds,
    ask: (api, signal) => api.oncall.getIncidentStory(id, { signal }),
  });
  const { data } = reading;
  const incidents = { to: '/oncall/incidents', label: 'Incidents' };
  if (!data)
    return (
      <Page title="Story of an incident" crumbs={[incidents]}>
        <Waiting reading={reading} what="incident" />
      </Page>
    );
  const { incident, before, entries } = data;
  return (
    <Page
      title={`Story: ${incident.title}`}
      crumbs={[incidents, { to: `/oncall/incidents/${id}`, label: incident.title }]}
      aside={<State word={incident.status} />}
      actions={<Actions story={data} />}
      code={[
        { operation: 'getIncidentStory', params: [id] },
        { operation: 'acknowledgeIncident', params: [id] },
        { operation: 'resolveIncident', params: [id] },
        { operation: 'publishIncidentUpdate', params: [id], input: { body: 'We are finding out why.' } },
      ]}
    >
      <Facts story={data} />
      <Missing story={data} />
      <Filter told={[...before, ...entries]} />
      <h2>What changed in the hour before</h2>
      <Axis of={before} openedAt={incident.openedAt} none="Nothing that you may read changed." />
      <h2>What happened</h2>
      <Axis of={entries} openedAt={incident.openedAt} none="Nothing yet." />
    </Page>
  );
}

type Part = { story: Story };

function Actions({ story }: Part) {
  const why = useWhy();
  const [asked, setAsked] = useState<'publish' | 'override' | 'post-mortem'>();
  const close = () => setAsked(undefined);
  const { incident } = story;
  return (
    <>
      <IncidentActions incident={incident} />
      <Button why={why('publishIncidentUpdate', incident.serviceId)} onPress={() => setAsked('publish')}>
        Tell the public
      </Button>
      <Button why={why('addScheduleOverride')} onPress={() => setAsked('override')}>
        Put somebody on call
      </Button>
      <Button onPress={() => setAsked('post-mortem')}>Post-mortem</Button>
      <Button onPress={() => print()}>Print</Button>
      {asked === 'publish' && (
        <Dialog title="Tell the public" onClose={close}>
          <PublishUpdate incident={incident} onDone={close} />
        </Dialog>
      )}
      {asked === 'override' && <Override onClose={close} />}
      {asked === 'post-mortem' && <Draft story={story} onClose={close} />}
    </>
  );
}

function Override({ onClose }: { onClose(): void }) {
  const reading = useQuery({
    key: ['schedules'],
    kinds: ['oncall.schedule'],
    ask: (api, signal) => api.oncall.listSchedules({ signal }),
  });
  const schedules = reading.data?.schedules;
  if (schedules?.length)
    return (
      <OverrideDialog
        start={{ scheduleId: schedules[0]!.id, startsAt: now.value, endsAt: now.value + overrideMs }}
        schedules={schedules}
        onClose={onClose}
      />
    );
  return (
    <Dialog title="Put somebody on call for a while" onClose={onClose}>
      {schedules ? (
        <p>
          There is no schedule yet. <Link to="/oncall/schedules/new">Make one first</Link>
        </p>
      ) : (
        <Waiting reading={reading} what="schedule" />
      )}
    </Dialog>
  );
}

function Draft({ story, onClose }: Part & { onClose(): void }) {
  const text = postMortem(story);
  return (
    <Dialog title="Draft of a post-mortem" onClose={onClose} wide>
      <p class="about">The facts and their times, as Markdown. What people alone can say is left for them to write.</p>
      <p class="buttons">
        <Download name={`post-mortem-${story.incident.id}.md`} text={text} />
      </p>
      <Code text={text} label="Draft of a post-mortem" />
    </Dialog>
  );
}

function Facts({ story }: Part) {
  const { incident, entries } = story;
  const { serviceId, serviceName, openedAt, acknowledgedAt, resolvedAt } = incident;
  const after = (at: string) => spanOf(Math.max(0, Math.round((Date.parse(at) - Date.parse(openedAt)) / 1_000)));
  const told = entries.find(({ kind }) => kind === 'update_published')?.at;
  const began = firstSign(story);
  return (
    <Sheet
      rows={[
        [
          'Service',
          <Link key="service" to={`/services/${serviceId}`}>
            {serviceName}
          </Link>,
        ],
        Date.parse(openedAt) - Date.parse(began) >= 1_000 && [
          'First sign',
          <>
            <Moment at={began} />, {spanOf(Math.round((Date.parse(openedAt) - Date.parse(began)) / 1_000))} before it opened
          </>,
        ],
        ['Opened', <Moment key="opened" at={openedAt} />],
        acknowledgedAt !== undefined && ['Acknowledged', `after ${after(acknowledgedAt)}`],
        told !== undefined && ['Told to the public', `after ${after(told)}`],
        resolvedAt !== undefined && ['Resolved', `after ${after(resolvedAt)}`],
      ]}
    />
  );
}

/** What this reader is not shown, so that a story with gaps is not taken for a whole one. */
function Missing({ story: { withheld, unavailable, truncated } }: Part) {
  if (!withheld.length && !unavailable.length && !truncated) return null;
  return (
    <div class="note attention">
      {withheld.length > 0 && (
        <>
          <p>Not shown to you, whether or not there is any of it. An owner or admin grants the permission:</p>
          <ul>
            {withheld.map(({ what, permission }) => (
              <li key={`${what} ${permission}`}>
                {what}: <code>{permission}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      {unavailable.map(({ area, reason }) => (
        <p key={area}>
          What {nameOf(area)} tells is missing: {reason}.
        </p>
      ))}
      {truncated && <p>There is more than a story holds: entries from the middle are left out.</p>}
    </div>
  );
}

const nameOf = (area: string): string => areas[area as AreaName] ?? area;

/** Which area tells; kept in the address. */
function Filter({ told }: { told: readonly OncallStoryEntry[] }) {
  const present = [...new Set(told.map(({ area }) => area))].sort();
  const chosen = query.value.get('area');
  if (present.length < 2 && !chosen) return null;
  return (
    <div class="toolbar">
      <Button small pressed={!chosen} onPress={() => setQuery('area', undefined)}>
        All
      </Button>
      {present.map((area) => (
        <Button key={area} small pressed={chosen === area} onPress={() => setQuery('area', chosen === area ? undefined : area)}>
          {nameOf(area)}
        </Button>
      ))}
    </div>
  );
}

const timeFormat: Intl.DateTimeFormatOptions = { dateStyle: 'short', timeStyle: 'medium' };

interface AxisProps {
  of: readonly OncallStoryEntry[];
  openedAt: string;
  none: string;
}

function Axis({ of, openedAt, none }: AxisProps) {
  const area = query.value.get('area');
  const shown = area ? of.filter((entry) => entry.area === area) : of;
  if (!shown.length) return <p class="faint">{of.length ? `Nothing of ${nameOf(area!)}.` : none}</p>;
  return (
    <ol class="log story">
      {shown.map((entry, index) => (
        <li key={`${entry.at} ${index}`}>
          <Moment at={entry.at} options={timeFormat} /> <span class="faint">{offsetOf(entry.at, openedAt)}</span>{' '}
          <span class="told-by">{nameOf(entry.area)}</span>
          <div>
            <Sign of={judgementOf(entry.kind)} /> <Title of={entry} />
          </div>
          {entry.detail && <div class="small-text faint pre">{inOwnTime(entry.detail)}</div>}
        </li>
      ))}
    </ol>
  );
}

function Title({ of }: { of: OncallStoryEntry }) {
  const to = placeOf(of);
  return to ? <Link to={to}>{inOwnTime(of.title)}</Link> : <bdi>{inOwnTime(of.title)}</bdi>;
}
