import type { PermissionCatalogService } from '../../../sdk/browser.ts';
import { Sign } from '../../ui/sign.tsx';

export interface GridCell {
  isOn: boolean;
  /** Why it cannot be changed. */
  why?: string | undefined;
  /** Where, or by which role. */
  note?: string | undefined;
}

interface PermissionGridProps {
  services: readonly PermissionCatalogService[];
  cellOf(permission: string, label: string): GridCell;
  /** Absent: it is shown and not changed. */
  onToggle?: ((permission: string, isOn: boolean) => void) | undefined;
  /** Leaves out what has nothing. */
  isBrief?: boolean;
}

const heads = { read: 'See', write: 'Change', admin: 'Admin' } as const;
const tiers = ['read', 'write', 'admin'] as const;

/** The catalog of permissions as a grid: resources down, what one may do across. */
export function PermissionGrid({ services, cellOf, onToggle, isBrief = false }: PermissionGridProps) {
  const shown = services
    .map((service) => ({
      ...service,
      resources: isBrief
        ? service.resources.filter((resource) => resource.tiers.some(({ permission, label }) => cellOf(permission, label).isOn))
        : service.resources,
    }))
    .filter(({ resources }) => resources.length);
  if (!shown.length) return <p class="faint">Nothing.</p>;
  return (
    <>
      {shown.map(({ service, serviceLabel, resources }) => (
        <section key={service}>
          <h3>{serviceLabel}</h3>
          <div class="scroll grid">
            <table aria-label={serviceLabel}>
              <thead>
                <tr>
                  <th scope="col">Of</th>
                  {tiers.map((tier) => (
                    <th key={tier} scope="col">
                      {heads[tier]}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {resources.map((resource) => (
                  <tr key={resource.resource}>
                    <th scope="row">{resource.resourceLabel}</th>
                    {tiers.map((tier) => {
                      const known = resource.tiers.find((each) => each.tier === tier);
                      return (
                        <td key={tier}>{known && <Cell {...known} cell={cellOf(known.permission, known.label)} onToggle={onToggle} />}</td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      ))}
    </>
  );
}

interface CellProps {
  permission: string;
  label: string;
  cell: GridCell;
  onToggle: PermissionGridProps['onToggle'];
}

function Cell({ permission, label, cell: { isOn, why, note }, onToggle }: CellProps) {
  if (!onToggle)
    return (
      <span title={label}>
        {isOn ? <Sign of="good" /> : <span class="faint">–</span>} <span class="hidden">{isOn ? label : `not: ${label}`}</span>
        <span class="wide small-text">{isOn ? label : ''}</span>
        {note && <div class="small-text faint">{note}</div>}
      </span>
    );
  return (
    <span class="row" title={why ? `${label}: ${why}` : label}>
      <input
        type="checkbox"
        checked={isOn}
        aria-label={why ? `${label}. ${why}` : label}
        aria-disabled={why ? true : undefined}
        onClick={(event) => {
          if (why) event.preventDefault();
        }}
        onChange={(event) => why || onToggle(permission, event.currentTarget.checked)}
      />
      <span class="wide small-text">{label}</span>
    </span>
  );
}
