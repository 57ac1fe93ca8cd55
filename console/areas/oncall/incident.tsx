import type { OncallIncidentDetail } from '../../../sdk/browser.ts';
import { withoutSteering } from '../../data/notice-list.ts';
import { useQuery } from '../../data/query.ts';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age, inOwnTime, Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { IncidentActions } from './incident-actions.tsx';
import { incidentKinds } from './incident-acts.ts';
import { Updates } from './incident-updates.tsx';

/** One incident: what to do about it, who is paged and with which fate, what was published, and everything that happened. */
export default function Incident({ params: { id = '' } }: { params: Record<string, string> }) {
  const reading = useQuery({ key: ['incident', id], kinds: incidentKinds, ask: (api, signal) => api.oncall.getIncident(id, { signal }) });
  const { data } = reading;
  const crumbs = [{ to: '/oncall/incidents', label: 'Incidents' }];
  if (!data)
    return (
      <Page title="Incident" crumbs={crumbs}>
        <Waiting reading={reading} what="incident" />
      </Page>
    );
  const { status, title } = data;
  return (
    <Page
      title={title}
      crumbs={crumbs}
      aside={<State word={status} />}
      actions={
        <>
          <IncidentActions incident={data} />
          <Link class="button plain" to={`/oncall/incidents/${id}/story`}>
            Story
          </Link>
        </>
      }
      code={[
        { operation: 'getIncident', params: [id] },
        { operation: 'acknowledgeIncident', params: [id] },
        { operation: 'resolveIncident', params: [id] },
      ]}
    >
      <Facts incident={data} />
      <Pages incident={data} />
      <Updates incident={data} />
      <Timeline incident={data} />
      <Alerts incident={data} />
    </Page>
  );
}

type Part = { incident: OncallIncidentDetail };

function Facts({ incident }: Part) {
  const { description, serviceId, serviceName, openedAt, acknowledgedAt, acknowledgedBy, resolvedAt, resolvedBy, origin, escalation } =
    incident;
  return (
    <Sheet
      rows={[
        [
          'Service',
          <Link key="service" to={`/services/${serviceId}`}>
            {serviceName}
          </Link>,
        ],
        [
          'Opened',
          <>
            <Moment at={openedAt} /> (<Age at={openedAt} long />) by{' '}
            {origin === 'manual' ? 'a person' : origin === 'uptime' ? 'a monitor' : 'an alert'}
          </>,
        ],
        acknowledgedAt !== undefined && [
          'Acknowledged',
          <>
            <Moment at={acknowledgedAt} /> {acknowledgedBy && `by ${acknowledgedBy.label}`}
          </>,
        ],
        resolvedAt !== undefined && [
          'Resolved',
          <>
            <Moment at={resolvedAt} /> {resolvedBy && `by ${resolvedBy.label}`}
          </>,
        ],
        ['Escalation', <Escalation key="escalation" of={escalation} />],
        description !== undefined && [
          'Description',
          <span key="description" class="pre">
            {description}
          </span>,
        ],
      ]}
    />
  );
}

function Escalation({ of: { policyId, policyName, state, pass, step, nextAt } }: { of: OncallIncidentDetail['escalation'] }) {
  if (!policyId)
    return (
      <span class="attention">
        The service has no policy: this incident pages no one. <Link to="/oncall/services">Give it one</Link>
      </span>
    );
  return (
    <>
      <Link to={`/oncall/policies/${policyId}`}>{policyName ?? policyId}</Link>, {state}, step {step + 1}
      {pass > 0 && ` of pass ${pass + 1}`}
      {nextAt && state === 'walking' && (
        <>
          , next <Age at={nextAt} />
        </>
      )}
    </>
  );
}

function Pages({ incident: { pages } }: Part) {
  return (
    <section>
      <h2>Pages</h2>
      {pages.length ? (
        <Table
          label="Pages"
          rows={pages}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Person', cell: ({ label }) => label },
            { head: 'Channel', cell: ({ channel }) => channel },
            {
              head: 'Fate',
              cell: ({ state, error }) => (
                <>
                  <State word={state} /> {error && <div class="bad small-text">{error}</div>}
                </>
              ),
            },
            { head: 'Due', cell: ({ dueAt }) => <Age at={dueAt} long /> },
            { head: 'Tries', kind: 'number', cell: ({ attempts }) => attempts },
          ]}
        />
      ) : (
        <p class="faint">No page was due yet.</p>
      )}
    </section>
  );
}

function Timeline({ incident: { timeline, cut } }: Part) {
  return (
    <section>
      <h2>What happened</h2>
      {cut?.includes('timeline') && <p class="note">Only the newest 1,000 entries are shown.</p>}
      <ol class="log">
        {timeline.toReversed().map(({ id, at, message, actor }) => (
          <li key={id}>
            <Moment at={at} options={{ dateStyle: 'short', timeStyle: 'medium' }} /> <span>{inOwnTime(withoutSteering(message))}</span>
            {actor && actor.kind === 'user' && <span class="faint"> · {actor.label}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Alerts({ incident: { alerts } }: Part) {
  if (!alerts.length) return null;
  return (
    <section>
      <h2>Alerts</h2>
      <Table
        label="Alerts"
        rows={alerts}
        keyOf={({ id }) => id}
        columns={[
          {
            head: 'Alert',
            cell: ({ title, labels }) => (
              <>
                {title}
                <details class="small-text">
                  <summary>Labels</summary>
                  {Object.entries(labels).map(([name, value]) => (
                    <div key={name}>
                      <code>
                        {name}={value}
                      </code>
                    </div>
                  ))}
                </details>
              </>
            ),
          },
          { head: 'State', cell: ({ status }) => <State word={status} /> },
          { head: 'From', cell: ({ sourceName }) => sourceName },
          { head: 'Since', cell: ({ startsAt }) => <Age at={startsAt} long /> },
        ]}
      />
    </section>
  );
}
