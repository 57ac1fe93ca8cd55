import { useState } from 'preact/hooks';
import type { OncallIncidentDetail, OncallUpdate } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { draftOf, dropDraft, keepDraft } from '../../data/drafts.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { CheckField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Moment } from '../../ui/time.tsx';
import { incidentKinds } from './incident-acts.ts';

/** What the public reads on status pages. */
export function Updates({ incident }: { incident: OncallIncidentDetail }) {
  const { id, updates } = incident;
  const why = useWhy();
  const [asked, setAsked] = useState<OncallUpdate>();
  return (
    <section>
      <h2>Told to the public</h2>
      {updates.length ? (
        <ol class="log">
          {updates.toReversed().map((update) => (
            <li key={update.id}>
              <Moment at={update.at} /> <span class="faint">by {update.byLabel}</span>
              {update.kind === 'postmortem' && <strong> Post-mortem</strong>}
              <p class="pre">{update.body}</p>
              <Button small kind="quiet" why={why('retractIncidentUpdate', incident.serviceId)} onPress={() => setAsked(update)}>
                Retract
              </Button>
            </li>
          ))}
        </ol>
      ) : (
        <p class="faint">Nothing: the incident is on no status page. The first update puts it there.</p>
      )}
      <PublishUpdate incident={incident} />
      {asked && (
        <Confirm
          title="Retract this update?"
          action="Retract"
          onClose={() => setAsked(undefined)}
          onConfirm={async () => {
            const done = await act({
              what: 'retract an update',
              done: 'Retracted',
              kinds: incidentKinds,
              work: () => api().oncall.retractIncidentUpdate(id, asked.id),
            });
            if (done) setAsked(undefined);
          }}
        >
          <p>It leaves status pages for good{updates.length === 1 ? ', and the incident with it' : ''}. Mails that were sent stay sent.</p>
        </Confirm>
      )}
    </section>
  );
}

interface PublishUpdateProps {
  incident: Pick<OncallIncidentDetail, 'id' | 'title' | 'status' | 'serviceId'>;
  onDone?: () => void;
}

/** What is typed outlives a reload, and is the same on the incident and on its story. */
export function PublishUpdate({ incident: { id, title, status, serviceId }, onDone }: PublishUpdateProps) {
  const why = useWhy();
  const key = `update ${id}`;
  const [body, setBody] = useState(draftOf<string>(key) ?? '');
  const [isPostmortem, setPostmortem] = useState(false);
  const type = (text: string) => {
    setBody(text);
    keepDraft(key, text);
  };
  const publish = async () => {
    if (!body.trim()) throw new Error('Write what customers should know first');
    await attempt({
      what: `publish an update of “${title}”`,
      done: 'Published: status pages of the service show it',
      kinds: incidentKinds,
      work: () => api().oncall.publishIncidentUpdate(id, { body, ...(isPostmortem ? { kind: 'postmortem' as const } : {}) }),
    });
    dropDraft(key);
    setBody('');
    onDone?.();
  };
  return (
    <Form action="Publish" why={why('publishIncidentUpdate', serviceId)} onSubmit={publish}>
      <TextField
        label="What customers should know"
        value={body}
        onChange={type}
        lines={3}
        hint="Plain text, shown to the public and mailed to subscribers"
      />
      {status === 'resolved' && <CheckField label="It is the post-mortem" value={isPostmortem} onChange={setPostmortem} />}
    </Form>
  );
}
