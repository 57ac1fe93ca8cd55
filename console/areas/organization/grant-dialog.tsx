import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useMembers } from '../../data/members.ts';
import { useWhy } from '../../data/rights.ts';
import { OneLine } from '../../ui/as-code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import type { Entry } from './permission-rules.ts';
import { useGrantCatalog } from './readings.ts';
import { ScopePicker } from './scope-picker.tsx';

/** Gives a member a role, on everything or on some things. */
export function GrantDialog({ subject: first = '', onClose }: { subject?: string; onClose(): void }) {
  const why = useWhy();
  const members = useMembers();
  const catalog = useGrantCatalog();
  const [subject, setSubject] = useState(first);
  const [entry, setEntry] = useState<Entry>({ role: '', resourceIds: [] });
  const input = {
    subject,
    role: entry.role,
    ...(entry.resourceIds.length ? { resourceIds: [...entry.resourceIds] } : {}),
  };
  const grant = async () => {
    if (!subject) throw new Error('Choose who gets the role first');
    if (!entry.role) throw new Error('Choose the role first');
    await attempt({ what: 'grant a role', done: 'Granted', kinds: ['iam.grant'], work: () => api().iam.createGrant(input) });
    onClose();
  };
  return (
    <Dialog title="Grant a role" onClose={onClose}>
      {catalog.data ? (
        <Form action="Grant" why={why('createGrant')} onSubmit={grant} onCancel={onClose}>
          <SelectField
            label="Who"
            required
            value={subject}
            onChange={setSubject}
            options={[{ value: '', label: 'Choose …' }, ...members]}
          />
          {/* The three roles of the organization itself are changed at the member. */}
          <ScopePicker
            value={entry}
            onChange={setEntry}
            roles={catalog.data.roles.filter(({ id }) => !['owner', 'admin', 'member'].includes(id))}
            resources={catalog.data.resources}
          />
        </Form>
      ) : (
        <Waiting reading={catalog} what="role" />
      )}
      <details>
        <summary>As code</summary>
        <OneLine line={{ operation: 'createGrant', input }} />
      </details>
    </Dialog>
  );
}
