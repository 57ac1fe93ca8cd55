import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../ui/button.tsx';
import { Field, TextField } from '../../ui/fields.tsx';
import { Glyph } from '../../ui/glyph.tsx';
import { addGroup, addService, moveGroup, moveService, removeGroup, removeService, type Section } from './page-values.ts';

interface ServiceOrderProps {
  sections: readonly Section[];
  services: readonly { id: string; name: string }[];
  onChange(sections: readonly Section[]): void;
  error: string | undefined;
}

/** Which services the page shows, in which order and under which headings: by buttons, or with Alt and the arrow keys. */
export function ServiceOrder({ sections, services, onChange, error }: ServiceOrderProps) {
  const [told, setTold] = useState('');
  const { list, focusOn } = useFocusAfterMove(sections);
  const shown = new Set(sections.flatMap(({ serviceIds }) => serviceIds));
  const left = services.filter(({ id }) => !shown.has(id));
  const nameOf = (id: string) => services.find((one) => one.id === id)?.name ?? `${id} (deleted)`;
  const move = (id: string, by: 1 | -1) => {
    const next = moveService(sections, id, by);
    if (next === sections) return setTold(`${nameOf(id)} is already at the ${by > 0 ? 'end' : 'top'}`);
    focusOn(id, by);
    onChange(next);
    setTold(placeOf(next, id, nameOf(id)));
  };
  return (
    <fieldset class="arrange" ref={list}>
      <legend>Services</legend>
      {sections.map((section, at) => (
        <div key={section.key} class="arrange-group">
          {at > 0 && (
            <div class="arrange-head">
              <TextField
                label={`Group ${at}`}
                value={section.name}
                onChange={(name) => onChange(sections.with(at, { ...section, name }))}
                placeholder="Heading"
              />
              <span class="buttons">
                <Button
                  small
                  label={`Move group ${section.name || at} up`}
                  why={at > 1 ? undefined : 'It is the first group'}
                  onPress={() => onChange(moveGroup(sections, at, -1))}
                >
                  <Glyph of="up" />
                </Button>
                <Button
                  small
                  label={`Move group ${section.name || at} down`}
                  why={at < sections.length - 1 ? undefined : 'It is the last group'}
                  onPress={() => onChange(moveGroup(sections, at, 1))}
                >
                  <Glyph of="down" />
                </Button>
                <Button
                  small
                  label={`Remove group ${section.name || at}; its services stay`}
                  onPress={() => onChange(removeGroup(sections, at))}
                >
                  <Glyph of="cross" />
                </Button>
              </span>
            </div>
          )}
          <ul aria-label={at === 0 ? 'Services without a group' : `Services of ${section.name || `group ${at}`}`}>
            {section.serviceIds.map((id) => (
              <li
                key={id}
                data-service={id}
                onKeyDown={(event) => {
                  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key] as 1 | -1 | undefined;
                  if (!event.altKey || !by) return;
                  event.preventDefault();
                  move(id, by);
                }}
              >
                <bdi>{nameOf(id)}</bdi>
                <span class="buttons">
                  <Button small label={`Move ${nameOf(id)} up`} onPress={() => move(id, -1)}>
                    <Glyph of="up" />
                  </Button>
                  <Button small label={`Move ${nameOf(id)} down`} onPress={() => move(id, 1)}>
                    <Glyph of="down" />
                  </Button>
                  <Button small label={`Remove ${nameOf(id)}`} onPress={() => onChange(removeService(sections, id))}>
                    <Glyph of="cross" />
                  </Button>
                </span>
              </li>
            ))}
          </ul>
          {!section.serviceIds.length && (
            <p class="hint">{at === 0 ? 'No service stands outside the groups.' : 'No service yet: move one here.'}</p>
          )}
        </div>
      ))}
      <p class="hidden" role="status">
        {told}
      </p>
      {error && <p class="hint bad">{error}</p>}
      <Field label="Add a service" hint={left.length ? 'It comes last; Alt and the arrow keys move it' : 'Every service is shown'}>
        {({ id, describedBy }) => (
          <select
            id={id}
            aria-describedby={describedBy}
            value=""
            onChange={(event) => {
              const { value } = event.currentTarget;
              event.currentTarget.value = '';
              if (value) onChange(addService(sections, value));
            }}
          >
            <option value="">Choose …</option>
            {left.map((service) => (
              <option key={service.id} value={service.id}>
                {service.name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Button small onPress={() => onChange(addGroup(sections))}>
        Add a group
      </Button>
    </fieldset>
  );
}

/** A row that moves is made anew elsewhere: the button that was pressed takes the focus there. */
function useFocusAfterMove(sections: readonly Section[]) {
  const list = useRef<HTMLFieldSetElement>(null);
  const awaited = useRef<{ id: string; by: 1 | -1 } | undefined>(undefined);
  useLayoutEffect(() => {
    if (!awaited.current) return;
    const { id, by } = awaited.current;
    awaited.current = undefined;
    list.current?.querySelectorAll<HTMLElement>(`[data-service="${CSS.escape(id)}"] button`)[by < 0 ? 0 : 1]?.focus();
  }, [sections]);
  return {
    list,
    focusOn: (id: string, by: 1 | -1) => {
      awaited.current = { id, by };
    },
  };
}

function placeOf(sections: readonly Section[], id: string, name: string): string {
  const section = sections.find(({ serviceIds }) => serviceIds.includes(id))!;
  const where = section.name ? `in ${section.name}` : section === sections[0] ? 'outside the groups' : 'in a group without a name';
  return `${name} is now ${section.serviceIds.indexOf(id) + 1} of ${section.serviceIds.length}, ${where}`;
}
