import { useQuery } from '../../data/query.ts';
import { Code } from '../../ui/copy.tsx';
import { State } from '../../ui/state.tsx';
import { Waiting } from '../../ui/trouble.tsx';

/** What the domain's name servers answer, record by record: found, missing or wrong, and what to publish. */
export function DomainRecords({ id }: { id: string }) {
  const reading = useQuery({ key: ['dns', id], kinds: ['email.domain'], ask: (api, signal) => api.email.getDomainDns(id, { signal }) });
  const records = reading.data?.records;
  if (!records) return <Waiting reading={reading} what="answer of the name servers" />;
  return (
    <section>
      <h2>DNS as it is now</h2>
      {records.map((record) => (
        <article key={`${record.type} ${record.name}`} class="card">
          <p>
            <State word={record.outcome} /> {record.type} <code>{record.name}</code>
          </p>
          <Code text={JSON.stringify(record, null, 2)} label={`${record.type} ${record.name}`} />
        </article>
      ))}
    </section>
  );
}
