import { useState } from 'preact/hooks';
import { CheckField, SelectField, TextField } from '../../ui/fields.tsx';
import { type Entry, serviceOf } from './permission-rules.ts';

interface RoleChoice {
  id: string;
  name: string;
  scopable: boolean;
  service?: string | undefined;
  permissions?: readonly string[];
}

interface ScopePickerProps {
  value: Entry;
  onChange(value: Entry): void;
  roles: readonly RoleChoice[];
  resources: readonly { service: string; id: string; name: string }[];
}

/** More are found by typing. */
const maxShown = 30;

/** A role, and the things that it is narrowed to. */
export function ScopePicker({ value: { role, resourceIds }, onChange, roles, resources }: ScopePickerProps) {
  const [text, setText] = useState('');
  const chosen = roles.find(({ id }) => id === role);
  const services = new Set(chosen?.service ? [chosen.service] : chosen?.permissions?.map(serviceOf));
  const its = resources.filter(({ service }) => services.has(service));
  const found = its.filter(({ id, name }) => resourceIds.includes(id) || `${name} ${id}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      <SelectField
        label="Role"
        required
        value={role}
        onChange={(next) => onChange({ role: next, resourceIds: [] })}
        options={[{ value: '', label: 'Choose …' }, ...roles.map(({ id, name }) => ({ value: id, label: name }))]}
      />
      {chosen?.scopable && (
        <details class="group" open={resourceIds.length > 0}>
          <summary>{resourceIds.length ? `On ${resourceIds.length} of ${its.length}` : 'On everything; narrow it to some things'}</summary>
          {its.length > maxShown && <TextField label="Name contains" type="search" value={text} onChange={setText} />}
          {found.slice(0, maxShown).map(({ id, name, service }) => (
            <CheckField
              key={id}
              label={services.size > 1 ? `${service}: ${name}` : name}
              value={resourceIds.includes(id)}
              onChange={(isOn) => onChange({ role, resourceIds: isOn ? [...resourceIds, id] : resourceIds.filter((one) => one !== id) })}
            />
          ))}
          {found.length > maxShown && <p class="faint">{found.length - maxShown} more: type a part of the name.</p>}
          {!its.length && <p class="faint">There is nothing yet that it could be narrowed to.</p>}
        </details>
      )}
    </>
  );
}
