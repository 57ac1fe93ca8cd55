import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useWhy } from '../../data/rights.ts';
import { OneLine } from '../../ui/as-code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';

interface NameServiceProps {
  /** The service that gets another name; absent: a new one. */
  of?: { id: string; name: string };
  onClose(): void;
  onDone(id: string): void;
}

/** Creates a service, or gives one another name. */
export function NameService({ of, onClose, onDone }: NameServiceProps) {
  const why = useWhy();
  const [name, setName] = useState(of?.name ?? '');
  const operation = of ? 'renameUptimeService' : 'createUptimeService';
  const submit = async () => {
    if (!name.trim()) throw new Error('a service needs a name; type one');
    const { id } = await attempt({
      what: of ? `rename the service ${of.name}` : `create the service ${name}`,
      done: of ? `It is now called ${name.trim()}` : `The service ${name.trim()} is created`,
      kinds: ['uptime.service', 'oncall.service'],
      work: () => (of ? api().uptime.renameUptimeService(of.id, { name }) : api().uptime.createUptimeService({ name })),
    });
    onDone(id);
  };
  return (
    <Dialog title={of ? `Rename ${of.name}` : 'New service'} onClose={onClose}>
      <Form onSubmit={submit} action={of ? 'Rename' : 'Create the service'} why={why(operation, of?.id)} onCancel={onClose}>
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          required
          isFirst
          hint="What customers and colleagues call it. On-call, uptime and status pages share it"
        />
      </Form>
      <details class="below">
        <summary>As code</summary>
        <OneLine line={{ operation, params: of ? [of.id] : [], input: { name: name || '<name>' } }} />
      </details>
    </Dialog>
  );
}
