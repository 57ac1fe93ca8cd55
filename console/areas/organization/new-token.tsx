import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { open, organization } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useRights, useWhy } from '../../data/rights.ts';
import { OneLine } from '../../ui/as-code.tsx';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { PermissionGrid } from './permission-grid.tsx';
import { type Entry, reachOfToken } from './permission-rules.ts';
import { roleKinds, usePermissions, useRoles } from './readings.ts';
import { ScopePicker } from './scope-picker.tsx';

const day = 86_400;
const lifetimes = [
  ['3600', 'An hour'],
  [String(day), 'A day'],
  [String(7 * day), 'A week'],
  [String(90 * day), '90 days'],
  [String(365 * day), 'A year'],
] as const;

/** Mints a token, and shows before what it will be able to do. */
export default function NewToken() {
  const why = useWhy();
  const rights = useRights();
  const roles = useRoles();
  const services = usePermissions();
  const options = useQuery({
    key: ['scope options'],
    kinds: [...roleKinds, 'iam.grant'],
    ask: (client, signal) => client.tokens.listScopeOptions({ signal }),
  });
  const [name, setName] = useState('');
  const [expiresIn, setExpiresIn] = useState(String(90 * day));
  const [scope, setScope] = useState<readonly Entry[]>([]);
  const [key, setKey] = useState<string>();
  const input = {
    name,
    expiresIn: Number(expiresIn),
    ...(scope.length
      ? { scope: scope.map(({ role, resourceIds }) => ({ role, ...(resourceIds.length ? { resourceIds: [...resourceIds] } : {}) })) }
      : {}),
  };
  const mint = async () => {
    if (!name.trim()) throw new Error('Name is needed: it tells later what uses the token');
    if (scope.some(({ role }) => !role)) throw new Error('Choose a role for each part of the scope, or remove the part');
    const answer = await attempt({ what: `mint the token ${name}`, kinds: ['tokens.token'], work: () => api().tokens.createToken(input) });
    setKey(answer.key);
  };
  const crumbs = [{ to: '/organization/tokens', label: 'My tokens' }];
  const { data: offered } = options;
  if (!offered || !roles.data || !services.data || !rights.data)
    return (
      <Page title="New token" crumbs={crumbs}>
        <Waiting reading={[options, roles, services].find(({ error }) => error) ?? rights} what="form" />
      </Page>
    );
  const withPermissions = offered.roles.map((role) => ({
    ...role,
    permissions: roles.data!.find(({ id }) => id === role.id)?.permissions ?? [],
  }));
  const reach = reachOfToken(
    scope.filter(({ role }) => role),
    roles.data,
    rights.data.permissions,
  );
  const isPending = scope.length > 0 && scope.every(({ role }) => !role);
  return (
    <Page title="New token" crumbs={crumbs} code={[{ operation: 'createToken', input }]}>
      <div class="beside">
        <Form action="Mint the token" why={why('createToken')} onSubmit={mint} onCancel={() => open('/organization/tokens')}>
          <TextField label="Name" required isFirst value={name} onChange={setName} hint="What will use it: “deploys from CI”" />
          <SelectField
            label="Works for"
            value={expiresIn}
            onChange={setExpiresIn}
            options={lifetimes.map(([value, label]) => ({ value, label }))}
          />
          {scope.length === 0 && (
            <p class="note attention">Without a scope it may do all that you may. Narrow it to what its program needs.</p>
          )}
          {scope.map((entry, at) => (
            <fieldset key={at}>
              <legend>Scope {at + 1}</legend>
              <ScopePicker
                value={entry}
                onChange={(next) => setScope(scope.with(at, next))}
                roles={withPermissions}
                resources={offered.resources}
              />
              <Button small kind="quiet" onPress={() => setScope(scope.toSpliced(at, 1))}>
                Remove
              </Button>
            </fieldset>
          ))}
          <p>
            <Button small onPress={() => setScope([...scope, { role: '', resourceIds: [] }])}>
              {scope.length ? 'Add another role' : 'Narrow it to a role'}
            </Button>
          </p>
        </Form>
        <section class="beside-preview" aria-label="What it will be able to do" tabIndex={0}>
          <h2>What it will be able to do</h2>
          {isPending ? (
            <p class="faint">Choose a role.</p>
          ) : (
            <PermissionGrid
              isBrief
              services={services.data}
              cellOf={(permission) => {
                const where = reach.get(permission);
                return { isOn: where !== undefined, note: where instanceof Set ? `on ${where.size}` : undefined };
              }}
            />
          )}
          <p class="hint">Never more than you may do yourself at that moment.</p>
        </section>
      </div>
      {key && (
        <Dialog
          title="Your token"
          wide
          onClose={() => {
            setKey(undefined);
            open('/organization/tokens');
          }}
        >
          <p class="note attention">This is shown once. Copy it now: nothing here keeps it.</p>
          <Code text={key} label="Token" />
          <h3>On a command line</h3>
          <Code
            label="Command line"
            text={`export QUARTERDECK_URL=${location.origin}\nexport QUARTERDECK_TOKEN=${key}\nquarterdeck me get`}
          />
          <h3>With curl</h3>
          <Code
            label="curl"
            text={`curl ${location.origin}/api/v1/me \\\n  -H 'Authorization: Bearer ${key}' \\\n  -H 'X-Organization: ${organization.value}'`}
          />
        </Dialog>
      )}
      <details class="below">
        <summary>As code</summary>
        <OneLine line={{ operation: 'createToken', input }} />
      </details>
    </Page>
  );
}
