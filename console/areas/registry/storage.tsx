import type { RegistryUsage } from '../../../sdk/browser.ts';
import { useQuery } from '../../data/query.ts';
import { Lines } from '../../plots/lines.tsx';
import { bytes } from '../../ui/cell.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { imageKinds } from './places.ts';

const daySeconds = 86_400;
const count = 90;

/** What the registry held at the end of each day, against its quota of that day. */
export function Storage({ slug }: { slug: string }) {
  const reading = useQuery({
    key: ['registry', slug, 'usage'],
    kinds: imageKinds,
    ask: (client, signal) => client.registry.getRegistryUsage(slug, { days: count }, { signal }),
  });
  const days = reading.data?.days;
  if (!days) return <Waiting reading={reading} what="registry" />;
  const at = (date: string) => Date.parse(date) / 1000;
  const last = at(days.at(-1)!.date);
  const steps = Math.max(7, Math.min(count, Math.round((last - at(days[0]!.date)) / daySeconds) + 1));
  const points = (pick: (day: RegistryUsage['days'][number]) => number) =>
    days.map((day) => ({ t: at(day.date), value: pick(day), up: 1 }));
  const highest = Math.max(1, ...days.map((day) => Math.max(day.usedBytes, day.storageQuotaBytes)));
  return (
    <Lines
      label={`Storage of ${slug} by day`}
      series={[
        { name: 'Used', points: points(({ usedBytes }) => usedBytes) },
        { name: 'Quota', points: points(({ storageQuotaBytes }) => storageQuotaBytes) },
      ]}
      from={last - (steps - 1) * daySeconds}
      stepSeconds={daySeconds}
      steps={steps}
      format={bytes}
      max={2 ** Math.ceil(Math.log2(highest))}
      none="not noted"
    />
  );
}
