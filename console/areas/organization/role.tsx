import { useEffect, useState } from 'preact/hooks';
import { act, attempt, leave } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { open, query } from '../../data/place.ts';
import { useRights, useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { type GridCell, PermissionGrid } from './permission-grid.tsx';
import { broughtBy, isHeld } from './permission-rules.ts';
import { roleKinds, usePermissions, useRoles } from './readings.ts';

const crumbs = [{ to: '/organization/roles', label: 'Roles' }];

/** A role as a grid of all permissions: a custom one is edited in it, one that is built in is read. */
export default function Role({ params: { id = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const isNew = id === '';
  const roles = useRoles();
  const services = usePermissions();
  const { data: rights } = useRights();
  const like = query.value.get('like');
  const role = roles.data?.find((one) => one.id === (isNew ? like : id));
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isAsked, setAsked] = useState(false);
  // What is typed stays while the list is read again.
  useEffect(() => {
    if (!role) return;
    setName(isNew ? '' : role.name);
    setDescription(isNew ? '' : role.description);
    setChosen(new Set(role.permissions));
  }, [role?.id, isNew]);
  const title = isNew ? 'New role' : (role?.name ?? 'Role');
  if (!roles.data || !services.data || (!isNew && !role))
    return (
      <Page title={title} crumbs={crumbs}>
        {roles.data && !role && !isNew ? (
          <p class="note attention">There is no such role: it was deleted.</p>
        ) : (
          <Waiting reading={roles.error ? roles : services} what="role" />
        )}
      </Page>
    );
  const isBuiltin = !isNew && role?.kind === 'builtin';
  const operation = isNew ? 'createRole' : 'updateRole';
  const refusal = why(operation);
  const input = { name, description, permissions: [...chosen].sort() };
  const cellOf = (permission: string, label: string): GridCell => {
    const isOn = isHeld(permission, chosen);
    if (isBuiltin) return { isOn };
    const higher = broughtBy(permission, chosen);
    return {
      isOn,
      why:
        refusal ??
        (higher
          ? `It comes with what stands to its right`
          : / \(owners and admins only\)$/.test(label)
            ? 'No custom role may hold it'
            : !isOn && rights && rights.permissions[permission] !== '*'
              ? 'You do not hold it yourself'
              : undefined),
    };
  };
  const toggle = (permission: string, isOn: boolean) => {
    const next = new Set(chosen);
    if (isOn) next.add(permission);
    else next.delete(permission);
    setChosen(next);
  };
  const save = async () => {
    if (!name.trim()) throw new Error('Name is needed');
    if (!chosen.size) throw new Error('Choose a permission first: a role holds at least one');
    const answer = await attempt({
      what: isNew ? 'create a role' : `change the role ${role!.name}`,
      done: isNew ? `The role ${name} is made` : 'Saved: it holds at once for everybody who has it',
      kinds: ['iam.role', 'iam.grant'],
      work: () => (isNew ? api().iam.createRole(input) : api().iam.updateRole(id, input)),
    });
    if (isNew) open(`/organization/roles/${answer.id}`, { replace: true });
  };
  return (
    <Page
      title={title}
      crumbs={crumbs}
      aside={isBuiltin && <State word="builtin" label="built in" />}
      actions={
        !isNew && (
          <>
            <Button why={why('createRole')} onPress={() => open(`/organization/roles/new?like=${encodeURIComponent(id)}`)}>
              New role like this
            </Button>
            {!isBuiltin && (
              <Button kind="danger" why={why('deleteRole')} onPress={() => setAsked(true)}>
                Delete
              </Button>
            )}
          </>
        )
      }
      code={[{ operation: 'listRoles' }, ...(isBuiltin ? [] : [{ operation, params: isNew ? [] : [id], input }])]}
    >
      {isBuiltin ? (
        <>
          <p class="about">{role!.description}</p>
          <PermissionGrid services={services.data} cellOf={cellOf} isBrief />
        </>
      ) : (
        <Form action={isNew ? 'Create the role' : 'Save'} why={refusal} onSubmit={save}>
          <TextField label="Name" required isFirst={isNew} value={name} onChange={setName} />
          <TextField label="Description" value={description} onChange={setDescription} />
          <h2>What it allows</h2>
          <PermissionGrid services={services.data} cellOf={cellOf} onToggle={toggle} />
        </Form>
      )}
      {isAsked && (
        <ConfirmLoss
          operation="deleteRole"
          name={role!.name}
          action="Delete"
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            const done = await act({
              what: `delete the role ${role!.name}`,
              done: `${role!.name} is deleted`,
              kinds: [],
              work: () => api().iam.deleteRole(id),
            });
            if (done) leave('/organization/roles', roleKinds);
            else setAsked(false);
          }}
        >
          <p>Grants of it stand in the way: take them away first. Tokens that are narrowed to it match nothing from then on.</p>
        </ConfirmLoss>
      )}
    </Page>
  );
}
