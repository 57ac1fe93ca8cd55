import type { ComponentChildren } from 'preact';

/** What is known of one thing: names on the left, values on the right. Rows without a value are left out. */
export const Sheet = ({ rows }: { rows: readonly (readonly [string, ComponentChildren] | false | undefined)[] }) => (
  <dl class="sheet">
    {rows.map(
      (row) =>
        row &&
        row[1] !== undefined &&
        row[1] !== null && (
          <div key={row[0]}>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
    )}
  </dl>
);
