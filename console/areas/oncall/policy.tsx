import { useState } from 'preact/hooks';
import type { OncallEscalationPolicy } from '../../../sdk/browser.ts';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { draftOf, dropDraft, keepDraft } from '../../data/drafts.ts';
import { open } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { OneLine } from '../../ui/as-code.tsx';
import { Page } from '../../ui/page.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { newPolicy, PolicyForm, type PolicyInput, policyKinds } from './policy-form.tsx';

const crumbs = [{ to: '/oncall/policies', label: 'Escalation policies' }];

/** A policy, or at `/oncall/policies/new` a new one. */
export default function Policy({ params: { id } }: { params: Record<string, string> }) {
  const isNew = id === undefined;
  const reading = useQuery({
    key: ['policies'],
    kinds: policyKinds,
    isOff: isNew,
    ask: (client, signal) => client.oncall.listEscalationPolicies({ signal }),
  });
  const found = reading.data?.policies.find((policy) => policy.id === id);
  if (isNew || found) return <Edit key={id ?? 'new'} found={found} />;
  return (
    <Page title="Escalation policy" crumbs={crumbs}>
      {reading.data ? <p class="note">There is no such policy; it may have been deleted.</p> : <Waiting reading={reading} what="policy" />}
    </Page>
  );
}

function Edit({ found }: { found: OncallEscalationPolicy | undefined }) {
  const why = useWhy();
  const draft = found ? `policy ${found.id}` : 'new policy';
  const [input, setInput] = useState<PolicyInput>(() => draftOf<PolicyInput>(draft) ?? (found ? inputOf(found) : newPolicy()));
  const operation = found ? 'updateEscalationPolicy' : 'createEscalationPolicy';
  const save = async (given: PolicyInput) => {
    const { id } = await attempt({
      what: `save the policy ${given.name}`,
      done: `Saved ${given.name}`,
      kinds: policyKinds,
      work: () => (found ? api().oncall.updateEscalationPolicy(found.id, given) : api().oncall.createEscalationPolicy(given)),
    });
    dropDraft(draft);
    if (!found) open(`/oncall/policies/${id}`);
  };
  const line = { operation, ...(found ? { params: [found.id] } : {}), input: { ...input } };
  return (
    <Page title={found?.name ?? 'New policy'} crumbs={crumbs} code={[line]}>
      {found && (
        <p class="about">
          {found.services
            ? `${found.services} services have it. Incidents under way keep the copy that they opened with.`
            : 'No service has it yet.'}
        </p>
      )}
      <PolicyForm
        start={input}
        action={found ? 'Save' : 'Create the policy'}
        why={why(operation)}
        onSubmit={save}
        onChange={(next) => {
          setInput(next);
          keepDraft(draft, next);
        }}
      />
      <details class="below">
        <summary>As code</summary>
        <OneLine line={line} />
      </details>
    </Page>
  );
}

const inputOf = ({ name, repeat, steps, remindAfterSeconds = 0 }: OncallEscalationPolicy): PolicyInput => ({
  name,
  repeat,
  steps,
  remindAfterSeconds,
});
