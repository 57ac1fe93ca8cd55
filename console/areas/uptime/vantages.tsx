import { useState } from 'preact/hooks';
import { Code } from '../../ui/copy.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useCatalog } from './readings.ts';

/** The places from which monitors check, and how another one is added. */
export default function Vantages() {
  const reading = useCatalog();
  return (
    <Page title="Vantages" code={[{ operation: 'getUptimeCatalog' }]}>
      <p class="about">A vantage is a place from which monitors check. With several of them, one lost network takes no monitor down.</p>
      {!reading.data ? (
        <Waiting reading={reading} what="catalog" />
      ) : (
        <Table
          label="Vantages"
          rows={reading.data.vantages}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Vantage', cell: ({ label }) => <bdi>{label}</bdi> },
            { head: 'Id', kind: 'wide', cell: ({ id }) => <code>{id}</code> },
            {
              head: 'State',
              cell: ({ id, available }) =>
                available ? (
                  <State word="active" label="reports" />
                ) : (
                  <>
                    <State word="missing" label="does not report" />
                    <div class="hint">
                      {id === 'local'
                        ? 'The prober of this server does not run: its role may be switched off here.'
                        : 'No agent of it was heard for 45 s: look whether it runs and reaches this server.'}
                    </div>
                  </>
                ),
            },
          ]}
        />
      )}
      <h2>Add a vantage</h2>
      <p>Another place is the same program with a token. Only the operator of this server registers one.</p>
      <AddVantage />
    </Page>
  );
}

const idPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

function AddVantage() {
  const [id, setId] = useState('tokyo');
  const [label, setLabel] = useState('Tokyo');
  const isFit = idPattern.test(id);
  return (
    <>
      <TextField
        label="Id"
        value={id}
        onChange={setId}
        error={isFit ? undefined : 'Lower-case letters, digits and hyphens'}
        hint="It stands in metrics and cannot be changed"
      />
      <TextField label="What people call it" value={label} onChange={setLabel} />
      <ol>
        <li>
          On this server:
          <Code
            label="The command that registers an agent"
            text={`quarterdeck admin agents create --vantage ${isFit ? id : '<id>'}${label.trim() ? ` --label ${quoted(label.trim())}` : ''}`}
          />
        </li>
        <li>It prints a token once, and the command to run over there.</li>
        <li>The vantage reports here within seconds; then monitors can be given it.</li>
      </ol>
      <p>
        <code>quarterdeck admin agents list</code> shows all agents, and <code>quarterdeck admin agents revoke</code> ends one at once.
      </p>
    </>
  );
}

const quoted = (text: string): string => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
