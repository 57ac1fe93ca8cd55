import { Sign } from '../../ui/sign.tsx';
import { isColour, textColours } from './colour.ts';
import type { PageValues } from './page-values.ts';

interface PreviewProps {
  values: PageValues;
  services: readonly { id: string; name: string }[];
  /** Services of which a monitor is down now. */
  down: ReadonlySet<string>;
  /** The picture that the page has, if it comes from this server. */
  storedLogo: string | undefined;
}

/** How the page will look, while it is typed. The page itself is made by the server, without script. */
export function Preview({ values, services, down, storedLogo }: PreviewProps) {
  const { title, description, accentColour, logo, sections } = values;
  const colour = isColour(accentColour) ? accentColour : undefined;
  const text = colour && textColours(colour);
  const picture = logo === 'stored' ? storedLogo : logo || undefined;
  const names = new Map(services.map(({ id, name }) => [id, name]));
  const failing = sections.flatMap(({ serviceIds }) => serviceIds).filter((id) => down.has(id));
  return (
    <div
      class="preview"
      style={
        { '--band': colour ?? 'var(--accent)', ...(text ? { '--accent-light': text.light, '--accent-dark': text.dark } : {}) } as Record<
          string,
          string
        >
      }
    >
      <div class="preview-head">
        {picture && <img src={picture} alt="" />}
        <p class="preview-title">
          <bdi>{title || 'Title of the page'}</bdi>
        </p>
        {description && <p class="faint">{description}</p>}
      </div>
      <p class={`preview-now ${failing.length ? 'bad' : 'good'}`}>
        {failing.length
          ? `${failing.length === 1 ? 'A service is' : `${failing.length} services are`} down`
          : 'All services are operational'}
      </p>
      {sections.map(
        ({ key, name, serviceIds }, at) =>
          serviceIds.length > 0 && (
            <div key={key}>
              {at > 0 && (
                <p class="preview-group">
                  <bdi>{name || 'Heading'}</bdi>
                </p>
              )}
              <ul class="preview-services">
                {serviceIds.map((id) =>
                  names.has(id) ? (
                    <li key={id}>
                      <bdi>{names.get(id)}</bdi>
                      {down.has(id) ? (
                        <span class="state bad">
                          <Sign of="bad" /> Down
                        </span>
                      ) : (
                        <span class="state good">
                          <Sign of="good" /> Operational
                        </span>
                      )}
                    </li>
                  ) : null,
                )}
              </ul>
            </div>
          ),
      )}
      <p class="preview-link">Get updates by mail</p>
      <p class="hint">The page itself adds 90 days of each service, its incidents with published updates, and planned maintenance.</p>
    </div>
  );
}
