import { useState } from 'preact/hooks';
import { useMembers } from '../../data/members.ts';
import { query, setQuery } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FilterSelect } from '../../ui/fields.tsx';
import { Page } from '../../ui/page.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { GrantDialog } from './grant-dialog.tsx';
import { GrantTable } from './grant-table.tsx';
import { useGrants } from './readings.ts';

/** Who holds which role, and on what. */
export default function Grants() {
  const why = useWhy();
  const subject = query.value.get('member') ?? '';
  const members = useMembers();
  const reading = useGrants(subject || undefined);
  const [isNew, setNew] = useState(false);
  const nameOf = (userId: string) => members.find(({ value }) => value === userId)?.label ?? userId;
  const grant = (
    <Button kind="primary" why={why('createGrant')} onPress={() => setNew(true)}>
      Grant a role
    </Button>
  );
  return (
    <Page
      title="Grants"
      actions={grant}
      code={[
        { operation: 'listGrants', ...(subject ? { input: { subject } } : {}) },
        { operation: 'createGrant', input: { subject: subject || '<member>', role: 'oncall.editor' } },
      ]}
    >
      <div class="toolbar">
        <FilterSelect label="Member" all="All members" value={subject} onChange={(id) => setQuery('member', id)} options={members} />
      </div>
      {!reading.data ? (
        <Waiting reading={reading} what="list" />
      ) : reading.data.grants.length ? (
        <GrantTable grants={reading.data.grants} nameOf={nameOf} />
      ) : (
        <Empty title="No grants" command="quarterdeck iam grants create --subject ada@example.com --role oncall.editor">
          A grant gives a member a role, on everything or on some things. Owners and admins need none.
        </Empty>
      )}
      {reading.data?.cursor && <p class="note">There are more than these: choose a member, or read on with the command line.</p>}
      {isNew && <GrantDialog subject={subject} onClose={() => setNew(false)} />}
    </Page>
  );
}
