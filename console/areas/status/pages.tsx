import { open } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { shortUrl } from './link-words.ts';
import { usePages } from './readings.ts';

/** The public pages of the organization. */
export default function Pages() {
  const why = useWhy();
  const reading = usePages();
  const pages = reading.data;
  const create = (
    <Button kind="primary" why={why('createStatusPage')} onPress={() => open('/status/new')}>
      New page
    </Button>
  );
  return (
    <Page title="Status pages" actions={pages?.length !== 0 && create} code={[{ operation: 'listStatusPages' }]}>
      {!pages ? (
        <Waiting reading={reading} what="list" />
      ) : !pages.length ? (
        <Empty
          title="No status page yet"
          action={create}
          command="quarterdeck status pages create --slug acme --title Acme --service-ids shop"
        >
          A status page tells customers how services are. It shows only updates that were published, and stays up without the database.
        </Empty>
      ) : (
        <Table
          label="Status pages"
          rows={pages}
          keyOf={({ slug }) => slug}
          to={({ slug }) => `/status/${slug}`}
          columns={[
            { head: 'Page', cell: ({ title }) => <bdi>{title}</bdi> },
            {
              head: 'Public at',
              cell: ({ url }) => (
                <a href={url} target="_blank" rel="noopener">
                  {shortUrl(url)}
                </a>
              ),
            },
            { head: 'Services', kind: 'number', cell: ({ serviceIds }) => serviceIds.length },
            { head: 'Subscribers', kind: 'number', cell: ({ subscribers }) => subscribers },
            { head: 'Made', kind: 'wide', cell: ({ createdAt }) => <Age at={createdAt} long /> },
          ]}
        />
      )}
    </Page>
  );
}
