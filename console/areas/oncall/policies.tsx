import { useState } from 'preact/hooks';
import type { OncallEscalationPolicy } from '../../../sdk/browser.ts';
import { act } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { open } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { duration } from '../../ui/cell.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { policyKinds } from './policy-form.tsx';

/** Who is paged after whom. */
export default function Policies() {
  const why = useWhy();
  const reading = useQuery({
    key: ['policies'],
    kinds: policyKinds,
    ask: (client, signal) => client.oncall.listEscalationPolicies({ signal }),
  });
  const [asked, setAsked] = useState<OncallEscalationPolicy>();
  const policies = reading.data?.policies;
  return (
    <Page
      title="Escalation policies"
      actions={
        <Button kind="primary" why={why('createEscalationPolicy')} onPress={() => open('/oncall/policies/new')}>
          New policy
        </Button>
      }
      code={[{ operation: 'listEscalationPolicies' }]}
    >
      {!policies ? (
        <Waiting reading={reading} what="list" />
      ) : policies.length ? (
        <Table
          label="Escalation policies"
          rows={policies}
          keyOf={({ id }) => id}
          to={({ id }) => `/oncall/policies/${id}`}
          columns={[
            { head: 'Policy', cell: ({ name }) => name },
            { head: 'Pages', cell: (policy) => stepsOf(policy) },
            { head: 'Passes', kind: 'number', cell: ({ repeat }) => repeat + 1 },
            { head: 'Services', kind: 'number', cell: ({ services }) => services },
            {
              head: 'Act',
              cell: (policy) => (
                <Button
                  small
                  why={
                    why('deleteEscalationPolicy') ??
                    (policy.services ? `${policy.services} services have it: give them another one first` : undefined)
                  }
                  onPress={() => setAsked(policy)}
                >
                  Delete
                </Button>
              ),
            },
          ]}
        />
      ) : (
        <Empty
          title="No policy yet"
          command="quarterdeck oncall escalation-policies create --name night --repeat 1 --step schedule=primary,wait=5m"
        >
          A policy says who is paged first, how long to wait for an answer, and who is next.
        </Empty>
      )}
      {asked && (
        <Confirm
          title={`Delete ${asked.name}?`}
          action="Delete"
          onClose={() => setAsked(undefined)}
          onConfirm={async () => {
            const { id, name } = asked;
            const done = await act({
              what: `delete the policy ${name}`,
              done: `Deleted ${name}`,
              kinds: policyKinds,
              work: () => api().oncall.deleteEscalationPolicy(id),
            });
            if (done) setAsked(undefined);
          }}
        >
          <p>Incidents under way keep the copy that they opened with.</p>
        </Confirm>
      )}
    </Page>
  );
}

const stepsOf = ({ steps }: OncallEscalationPolicy) => (
  <ol class="inline">
    {steps.map(({ target, waitSeconds }, at) => (
      <li key={`${target.id} ${at}`}>
        <bdi>{target.label}</bdi> <span class="faint">waits {duration(waitSeconds)}</span>
      </li>
    ))}
  </ol>
);
