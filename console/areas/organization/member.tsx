import { useState } from 'preact/hooks';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Value } from '../../ui/copy.tsx';
import { Link } from '../../ui/link.tsx';
import { OperationDialog } from '../../ui/operation-dialog.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { GrantDialog } from './grant-dialog.tsx';
import { GrantTable } from './grant-table.tsx';
import { PermissionGrid } from './permission-grid.tsx';
import { grantKinds, useGrants, usePermissions, useRoles } from './readings.ts';

const crumbs = [{ to: '/organization/members', label: 'Members' }];

/** One person: their role, their grants, and what they may do by them, as the guards compute it. */
export default function Member({ params: { id = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const reading = useQuery({
    key: ['effective', id],
    kinds: grantKinds,
    ask: (api, signal) => api.iam.getEffectivePermissions({ userId: id }, { signal }),
  });
  const services = usePermissions();
  const grants = useGrants(id);
  const roles = useRoles();
  const roleName = (role: string) => roles.data?.find((one) => one.id === role)?.name ?? role;
  const [asked, setAsked] = useState<'grant' | 'updateMember' | 'removeMember'>();
  const { data } = reading;
  const close = () => setAsked(undefined);
  if (!data || !services.data)
    return (
      <Page title="Member" crumbs={crumbs}>
        <Waiting reading={reading.error ? reading : services} what="member" />
      </Page>
    );
  const held = new Map(data.permissions.map((each) => [each.permission, each]));
  return (
    <Page
      title={data.name || data.email}
      crumbs={crumbs}
      actions={
        <>
          <Button kind="primary" why={why('createGrant')} onPress={() => setAsked('grant')}>
            Grant a role
          </Button>
          <Button why={why('updateMember')} onPress={() => setAsked('updateMember')}>
            Change role
          </Button>
          <Button kind="danger" why={why('removeMember')} onPress={() => setAsked('removeMember')}>
            Remove
          </Button>
        </>
      }
      code={[
        { operation: 'getEffectivePermissions', input: { userId: id } },
        { operation: 'listGrants', input: { subject: id } },
      ]}
    >
      <Sheet
        rows={[
          ['Address', data.email],
          ['Role in the organization', data.role],
          ['Id', <Value key="id" text={id} />],
          [
            'On record',
            <Link key="audit" to={`/organization/audit?actor=${encodeURIComponent(id)}`}>
              What they did
            </Link>,
          ],
        ]}
      />
      <h2>Grants</h2>
      {grants.data?.grants.length ? (
        <GrantTable grants={grants.data.grants} />
      ) : grants.data ? (
        <p class="faint">None: what they may do comes from their role in the organization.</p>
      ) : (
        <Waiting reading={grants} what="list" />
      )}
      <h2>What they may do</h2>
      <PermissionGrid
        isBrief
        services={services.data}
        cellOf={(permission) => {
          const found = held.get(permission);
          return {
            isOn: found !== undefined,
            note: found && `${found.everywhere ? '' : `on ${found.resources}, `}by ${found.roles.map(roleName).join(', ')}`,
          };
        }}
      />
      {asked === 'grant' && <GrantDialog subject={id} onClose={close} />}
      {(asked === 'updateMember' || asked === 'removeMember') && (
        <OperationDialog operation={asked} params={[id]} input={asked === 'updateMember' ? { role: data.role } : {}} onClose={close} />
      )}
    </Page>
  );
}
