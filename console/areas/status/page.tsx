import { useState } from 'preact/hooks';
import type { StatusPage } from '../../../sdk/browser.ts';
import { act, leave } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs, tabOf } from '../../ui/tabs.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { shortUrl } from './link-words.ts';
import { PageForm } from './page-form.tsx';
import { valuesOf } from './page-values.ts';
import { useDownServices, usePage, useServices } from './readings.ts';
import { HeldBack, Subscribers } from './subscribers.tsx';

/** One status page: its editor, and its subscribers. */
export default function StatusPageScreen({ params: { slug = '' } }: { params: Record<string, string> }) {
  const reading = usePage(slug);
  const page = reading.data;
  if (!page)
    return (
      <Page title="Status page" crumbs={crumbs}>
        <Waiting reading={reading} what="status page" />
      </Page>
    );
  const tabs = [
    { value: 'page', label: 'Page' },
    { value: 'subscribers', label: `Subscribers (${page.subscribers})` },
  ];
  return (
    <Page
      title={page.title}
      crumbs={crumbs}
      aside={
        <a href={page.url} target="_blank" rel="noopener">
          {shortUrl(page.url)}
        </a>
      }
      actions={<Delete page={page} />}
      code={[
        { operation: 'getStatusPage', params: [slug] },
        { operation: 'listStatusPageSubscribers', params: [slug] },
      ]}
    >
      <HeldBack list={page.heldBack ?? []} />
      <Tabs tabs={tabs} />
      {tabOf(tabs) === 'page' ? <Editor page={page} /> : <Subscribers slug={slug} />}
    </Page>
  );
}

const crumbs = [{ to: '/status', label: 'Status pages' }];

function Editor({ page }: { page: StatusPage }) {
  const services = useServices();
  const down = useDownServices();
  const [saved, setSaved] = useState(page);
  if (!services.data) return <Waiting reading={services} what="list" />;
  return (
    <PageForm
      key={JSON.stringify(saved)}
      start={valuesOf(saved)}
      services={services.data}
      down={down}
      storedLogo={ownLogo(page.logoUrl)}
      save={async (changes) => {
        const next = await api().status.updateStatusPage(page.slug, changes);
        setSaved(next);
        return next;
      }}
      onSaved={() => undefined}
    />
  );
}

/** Status pages may have a host of their own, from which this page loads nothing. */
const ownLogo = (url: string | undefined): string | undefined => (url && new URL(url).origin === location.origin ? url : undefined);

function Delete({ page: { slug, title } }: { page: StatusPage }) {
  const why = useWhy();
  const [isAsked, setAsked] = useState(false);
  const remove = async () => {
    const done = await act({
      what: `delete the status page ${slug}`,
      done: `${title} is deleted`,
      kinds: [],
      work: () => api().status.deleteStatusPage(slug),
    });
    if (done) leave('/status', ['oncall.page']);
    else setAsked(false);
  };
  return (
    <>
      <Button kind="danger" why={why('deleteStatusPage')} onPress={() => setAsked(true)}>
        Delete
      </Button>
      {isAsked && (
        <ConfirmLoss operation="deleteStatusPage" name={slug} action="Delete" onConfirm={remove} onClose={() => setAsked(false)}>
          <p>Its address answers 404 from then on.</p>
        </ConfirmLoss>
      )}
    </>
  );
}
