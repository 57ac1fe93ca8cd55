import { useState } from 'preact/hooks';
import type { Api, RegistryOidcRule } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { modes, modeWords, PrefixField } from './keys.tsx';
import { Parts } from './parts.tsx';
import { crumbsTo, prefixesIn } from './places.ts';

const kinds = ['registry.oidc', 'registry.key'];
type Match = Awaited<ReturnType<Api['registry']['matchRegistryOidcSubject']>>;

/** Which jobs of a CI system log in without a stored secret. */
export default function OidcRules({ params: { slug = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const reading = useQuery({
    key: ['registry', slug, 'oidc'],
    kinds,
    ask: async (client, signal) => (await client.registry.listRegistryOidcRules(slug, { signal })).rules,
  });
  const [isNew, setNew] = useState(false);
  const [asked, setAsked] = useState<RegistryOidcRule>();
  const rules = reading.data;
  const create = (
    <Button kind="primary" why={why('createRegistryOidcRule')} onPress={() => setNew(true)}>
      New rule
    </Button>
  );
  const remove = async ({ id, name }: RegistryOidcRule) => {
    await act({
      what: `delete the rule ${name}`,
      done: `${name} is deleted; keys of its jobs are revoked`,
      kinds,
      work: () => api().registry.deleteRegistryOidcRule(slug, id),
    });
    setAsked(undefined);
  };
  return (
    <Page
      title="OIDC rules"
      crumbs={crumbsTo(slug)}
      actions={rules?.length !== 0 && create}
      code={[
        { operation: 'listRegistryOidcRules', params: [slug] },
        { operation: 'matchRegistryOidcSubject', params: [slug], input: { subject: 'repo:acme/app:ref:refs/heads/main' } },
      ]}
    >
      <Parts slug={slug} />
      {!rules ? (
        <Waiting reading={reading} what="registry" />
      ) : rules.length ? (
        <>
          <Table
            label="OIDC rules"
            rows={rules}
            keyOf={({ id }) => String(id)}
            columns={[
              { head: 'Rule', cell: ({ name }) => <bdi>{name}</bdi> },
              { head: 'Subject', cell: ({ subjectPattern }) => <code>{subjectPattern}</code> },
              { head: 'Issuer', cell: ({ issuer }) => <bdi>{issuer}</bdi> },
              { head: 'Audience', kind: 'wide', cell: ({ audience }) => <bdi>{audience}</bdi> },
              {
                head: 'May',
                cell: ({ mode, repoPrefixes }) =>
                  `${modeWords[mode]} ${repoPrefixes.length ? `below ${repoPrefixes.join(', ')}` : 'everywhere'}`,
              },
              {
                head: 'Act',
                cell: (rule) => (
                  <Button small why={why('deleteRegistryOidcRule')} onPress={() => setAsked(rule)} label={`Delete ${rule.name}`}>
                    Delete
                  </Button>
                ),
              },
            ]}
          />
          <h2>Would this subject match?</h2>
          <MatchForm slug={slug} />
          <h2>In a workflow</h2>
          <Code text={workflow(slug, rules.at(-1)!.audience)} label="The steps of a workflow" />
        </>
      ) : (
        <Empty
          title="No rule yet"
          action={create}
          command={`quarterdeck registry oidc-rules create ${slug} --name release --issuer ${presets[0]!.issuer} --audience quarterdeck --subject-pattern '${presets[0]!.pattern}' --mode readwrite`}
        >
          A rule lets jobs of GitHub, GitLab or another issuer push with their own ID token. No secret is stored anywhere.
        </Empty>
      )}
      {isNew && <NewRule slug={slug} onClose={() => setNew(false)} />}
      {asked && (
        <ConfirmLoss
          operation="deleteRegistryOidcRule"
          name={asked.name}
          action="Delete"
          onConfirm={() => remove(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Page>
  );
}

const presets = [
  {
    value: 'github',
    label: 'GitHub Actions',
    issuer: 'https://token.actions.githubusercontent.com',
    pattern: 'repo:acme/app:ref:refs/heads/main',
  },
  { value: 'gitlab', label: 'GitLab', issuer: 'https://gitlab.com', pattern: 'project_path:acme/app:ref_type:branch:ref:main' },
  { value: 'other', label: 'Another issuer', issuer: '', pattern: '' },
];

function NewRule({ slug, onClose }: { slug: string; onClose(): void }) {
  const why = useWhy();
  const [name, setName] = useState('');
  const [preset, setPreset] = useState('github');
  const [issuer, setIssuer] = useState(presets[0]!.issuer);
  const [audience, setAudience] = useState('quarterdeck');
  const [subjectPattern, setPattern] = useState('');
  const [mode, setMode] = useState<RegistryOidcRule['mode']>('readwrite');
  const [prefixes, setPrefixes] = useState('');
  const [subject, setSubject] = useState('');
  const [matched, setMatched] = useState<{ of: string; admitted: boolean }>();
  const choose = (value: string) => {
    setPreset(value);
    setIssuer(presets.find((one) => one.value === value)!.issuer);
  };
  const create = async () => {
    const repoPrefixes = prefixesIn(prefixes);
    await attempt({
      what: 'let CI log in',
      done: 'The rule admits jobs from now on',
      kinds,
      work: () =>
        api().registry.createRegistryOidcRule(slug, {
          ...(name.trim() ? { name } : {}),
          issuer,
          audience,
          subjectPattern,
          mode,
          ...(repoPrefixes ? { repoPrefixes } : {}),
        }),
    });
    onClose();
  };
  const compare = async () => {
    const found = await act({
      what: 'compare a subject',
      kinds: [],
      work: () => api().registry.matchRegistryOidcSubject(slug, { subject, subjectPattern, ...(issuer ? { issuer } : {}) }),
    });
    if (found) setMatched({ of: `${subject} ${subjectPattern}`, admitted: found.answer.admitted });
  };
  return (
    <Dialog title="New OIDC rule" onClose={onClose} wide>
      <Form action="Create the rule" why={why('createRegistryOidcRule')} onSubmit={create} onCancel={onClose}>
        <TextField label="Name" isFirst value={name} onChange={setName} placeholder="release" />
        <SelectField label="Whose jobs" value={preset} onChange={choose} options={presets} />
        <TextField label="Issuer" required type="url" value={issuer} onChange={setIssuer} hint="As in the token’s iss" />
        <TextField label="Audience" required value={audience} onChange={setAudience} hint="The job asks for a token with this aud" />
        <TextField
          label="Subject"
          required
          value={subjectPattern}
          onChange={setPattern}
          placeholder={presets.find((one) => one.value === preset)!.pattern}
          hint="* stays inside one part between colons, ** crosses parts"
        />
        <TextField label="Try a subject" value={subject} onChange={setSubject} hint="The sub of a token that a job had" />
        <p class="buttons">
          <Button small why={subject && subjectPattern ? undefined : 'Fill in Subject and Try a subject first'} onPress={compare}>
            Would it match?
          </Button>
          <span role="status">
            {matched?.of === `${subject} ${subjectPattern}` && (
              <State word={matched.admitted ? 'accepted' : 'no'} label={matched.admitted ? 'It would match' : 'It would not match'} />
            )}
          </span>
        </p>
        <SelectField label="May" value={mode} onChange={(value) => setMode(value as typeof mode)} options={modes} />
        <PrefixField value={prefixes} onChange={setPrefixes} />
      </Form>
    </Dialog>
  );
}

const mismatchWords: Record<string, string> = {
  issuer: 'another issuer',
  audience: 'another audience',
  subject: 'the subject does not fit',
};

function MatchForm({ slug }: { slug: string }) {
  const why = useWhy();
  const [subject, setSubject] = useState('');
  const [issuer, setIssuer] = useState('');
  const [found, setFound] = useState<Match>();
  const ask = async () =>
    setFound(
      await attempt({
        what: 'compare a subject',
        kinds: [],
        work: () => api().registry.matchRegistryOidcSubject(slug, { subject, ...(issuer ? { issuer } : {}) }),
      }),
    );
  return (
    <>
      <Form action="Compare" why={why('matchRegistryOidcSubject')} onSubmit={ask}>
        <TextField
          label="Subject of a token"
          required
          value={subject}
          onChange={setSubject}
          placeholder="repo:acme/app:ref:refs/heads/main"
        />
        <TextField label="Its issuer" value={issuer} onChange={setIssuer} hint="Empty: not compared" />
      </Form>
      <div role="status">
        {found && (
          <>
            <p>
              <State
                word={found.admitted ? 'accepted' : 'no'}
                label={found.admitted && found.mode ? `The job may ${modeWords[found.mode]}` : 'No rule admits it'}
              />
            </p>
            <Table
              label="What each rule says"
              rows={found.rules}
              keyOf={({ id }) => String(id)}
              columns={[
                { head: 'Rule', cell: ({ name }) => <bdi>{name}</bdi> },
                { head: 'Subject', kind: 'wide', cell: ({ subjectPattern }) => <code>{subjectPattern}</code> },
                {
                  head: 'Matches',
                  cell: ({ id, matches, mismatch }) => (
                    <State
                      word={matches ? 'yes' : 'none'}
                      label={
                        matches
                          ? id === found.ruleId
                            ? 'yes, its key is given'
                            : 'yes'
                          : `no: ${mismatchWords[mismatch ?? ''] ?? mismatch}`
                      }
                    />
                  ),
                },
              ]}
            />
          </>
        )}
      </div>
    </>
  );
}

const workflow = (slug: string, audience: string) => `permissions: { id-token: write, contents: read }
steps:
  - run: |
      ID_TOKEN=$(curl -sH "Authorization: bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${encodeURIComponent(audience)}" | jq -r .value)
      echo "$ID_TOKEN" | docker login -u oidc --password-stdin ${location.host}
      docker push ${location.host}/${slug}/app:\${{ github.sha }}
`;
