import { query, setQuery } from '../data/place.ts';

/** Parts of a screen; which one is shown is in the address. */
export function Tabs({ name = 'part', tabs }: { name?: string; tabs: readonly { value: string; label: string }[] }) {
  const current = tabOf(tabs, name);
  return (
    <div class="tabs" role="tablist">
      {tabs.map(({ value, label }, at) => (
        <button
          key={value}
          type="button"
          role="tab"
          aria-selected={value === current}
          tabIndex={value === current ? 0 : -1}
          onClick={() => setQuery(name, at ? value : undefined)}
          onKeyDown={(event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            const to = (at + step + tabs.length) % tabs.length;
            setQuery(name, to ? tabs[to]!.value : undefined);
            (event.currentTarget.parentElement?.children[to] as HTMLElement | undefined)?.focus();
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

export const tabOf = (tabs: readonly { value: string }[], name = 'part'): string =>
  tabs.find(({ value }) => value === query.value.get(name))?.value ?? tabs[0]!.value;
