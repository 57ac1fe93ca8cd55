import { useState } from 'preact/hooks';
import type { IamGrant } from '../../../sdk/browser.ts';
import { act } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { useGrantCatalog } from './readings.ts';

interface GrantTableProps {
  grants: readonly IamGrant[];
  /** The person of a grant, where the table shows those of several. */
  nameOf?: ((userId: string) => string) | undefined;
}

export function GrantTable({ grants, nameOf }: GrantTableProps) {
  const why = useWhy();
  const { data: catalog } = useGrantCatalog();
  const [asked, setAsked] = useState<IamGrant>();
  const thing = (id: string) => catalog?.resources.find((one) => one.id === id)?.name ?? id;
  return (
    <>
      <Table
        label="Grants"
        rows={grants}
        keyOf={({ id }) => id}
        to={nameOf && (({ subject }) => `/organization/members/${subject}`)}
        columns={[
          ...(nameOf ? [{ head: 'Member', cell: ({ subject }: IamGrant) => nameOf(subject) }] : []),
          { head: 'Role', cell: ({ roleName, role }) => roleName || role },
          {
            head: 'On',
            cell: ({ resourceIds }) => (resourceIds.length ? resourceIds.map(thing).join(', ') : 'everything'),
          },
          { head: 'Since', cell: ({ createdAt }) => <Age at={createdAt} long /> },
          {
            head: 'Act',
            cell: (grant) => (
              <Button small why={why('deleteGrant')} onPress={() => setAsked(grant)}>
                Take away
              </Button>
            ),
          },
        ]}
      />
      {asked && (
        <ConfirmLoss
          operation="deleteGrant"
          name={asked.roleName}
          action="Take away"
          onClose={() => setAsked(undefined)}
          onConfirm={async () => {
            await act({
              what: `take away ${asked.roleName}`,
              done: `${asked.roleName} is taken away`,
              kinds: ['iam.grant'],
              work: () => api().iam.deleteGrant(asked.id),
            });
            setAsked(undefined);
          }}
        />
      )}
    </>
  );
}
