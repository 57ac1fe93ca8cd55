import { useState } from 'preact/hooks';
import type { OncallSchedule } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';

const kinds = ['oncall.schedule'];

/** Addresses by which a phone's calendar follows the schedule. Each is shown once, and can be revoked alone. */
export function CalendarLinks({ schedule: { id } }: { schedule: OncallSchedule }) {
  const why = useWhy();
  const reading = useQuery({ key: ['calendars', id], kinds, ask: (client, signal) => client.oncall.listCalendarLinks(id, { signal }) });
  const [name, setName] = useState('');
  const [made, setMade] = useState<string>();
  const links = reading.data?.links;
  const create = async () => {
    const { link } = await attempt({
      what: 'make a calendar link',
      kinds,
      work: () => api().oncall.createCalendarLink(id, { name: name.trim() || 'my calendar' }),
    });
    setMade(link);
    setName('');
  };
  return (
    <>
      {!links ? (
        <Waiting reading={reading} what="list" />
      ) : links.length ? (
        <Table
          label="Calendar links"
          rows={links}
          keyOf={(one) => one.id}
          columns={[
            { head: 'Calendar', cell: (one) => one.name },
            { head: 'Made', cell: ({ createdAt }) => <Age at={createdAt} long /> },
            {
              head: 'Act',
              cell: (one) => (
                <Button
                  small
                  why={why('revokeCalendarLink')}
                  onPress={() =>
                    act({
                      what: 'revoke a calendar link',
                      done: `Revoked ${one.name}`,
                      kinds,
                      work: () => api().oncall.revokeCalendarLink(id, one.id),
                    })
                  }
                >
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      ) : (
        <p class="faint">No calendar follows this schedule yet.</p>
      )}
      <Form action="Make a link" why={why('createCalendarLink')} onSubmit={create}>
        <TextField
          label="Whose calendar"
          value={name}
          onChange={setName}
          placeholder="Ada's phone"
          hint="Give each calendar a link of its own, so that one can be revoked"
        />
      </Form>
      {made && (
        <Dialog title="The link, shown once" onClose={() => setMade(undefined)}>
          <p>Its holder sees who is on call when, without a login. Subscribe to it in a calendar.</p>
          <Code text={made} label="Calendar link" />
        </Dialog>
      )}
    </>
  );
}
