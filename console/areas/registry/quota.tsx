import { bytes } from '../../ui/cell.tsx';

/** How full a registry is, as a bar and in words. */
export function Quota({ name, used, quota }: { name: string; used: number; quota: number }) {
  const percent = quota > 0 ? (100 * used) / quota : 0;
  return (
    <span class="quota">
      <meter min={0} max={100} high={90} optimum={0} value={Math.min(100, percent)} aria-label={`Share of the quota that ${name} uses`} />{' '}
      <span class={percent >= 90 ? 'bad' : undefined}>
        {bytes(used)} of {bytes(quota)} ({Math.round(percent)} %)
      </span>
    </span>
  );
}
