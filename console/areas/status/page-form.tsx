import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import type { Line } from '../../data/as-code.ts';
import { draftOf, dropDraft, keepDraft } from '../../data/drafts.ts';
import { useWhy } from '../../data/rights.ts';
import { OneLine } from '../../ui/as-code.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { contrastWords, isColour } from './colour.ts';
import { LogoField } from './logo-field.tsx';
import { changesOf, createInput, FieldProblem, type PageValues, slugOf } from './page-values.ts';
import { Preview } from './preview.tsx';
import { ServiceOrder } from './service-order.tsx';

interface PageFormProps {
  /** How the form begins. */
  start: PageValues;
  isNew?: boolean;
  services: readonly { id: string; name: string }[];
  down: ReadonlySet<string>;
  storedLogo?: string | undefined;
  save(input: Record<string, unknown>): Promise<{ slug: string }>;
  onSaved(slug: string): void;
}

/** The editor of a status page, with the page beside it. */
export function PageForm({ start, isNew = false, services, down, storedLogo, save, onSaved }: PageFormProps) {
  const why = useWhy();
  const draft = `status page ${isNew ? 'new' : start.slug}`;
  const [values, setValues] = useState<PageValues>(() => ({ ...start, ...draftOf<Partial<PageValues>>(draft) }));
  const [wrong, setWrong] = useState<{ field: string; problem: string }>();
  const [isSlugTyped, setSlugTyped] = useState(values.slug !== '');
  const set = (changed: Partial<PageValues>) => {
    const next = { ...values, ...changed };
    setValues(next);
    setWrong(undefined);
    keepDraft(draft, next);
  };
  const submit = async () => {
    let input: Record<string, unknown>;
    try {
      input = isNew ? createInput(values) : changesOf(start, values);
    } catch (error) {
      if (error instanceof FieldProblem) setWrong({ field: error.field, problem: error.message });
      throw error;
    }
    const { slug } = await attempt({
      what: isNew ? `create the status page ${values.slug}` : `change the status page ${start.slug}`,
      done: isNew ? 'The page is public' : 'Saved; the public page shows it within a second',
      kinds: ['oncall.page'],
      work: () => save(input),
    });
    dropDraft(draft);
    onSaved(slug);
  };
  const errorOf = (field: keyof PageValues) => (wrong?.field === field ? wrong.problem : undefined);
  const { accentColour } = values;
  return (
    <div class="beside">
      <div>
        <Form onSubmit={submit} action={isNew ? 'Create the page' : 'Save'} why={why(isNew ? 'createStatusPage' : 'updateStatusPage')}>
          <TextField
            label="Title"
            value={values.title}
            onChange={(title) => set({ title, ...(isNew && !isSlugTyped ? { slug: slugOf(title) } : {}) })}
            error={errorOf('title')}
            required
            isFirst={isNew}
          />
          {isNew && (
            <TextField
              label="Address"
              value={values.slug}
              onChange={(slug) => {
                setSlugTyped(true);
                set({ slug });
              }}
              error={errorOf('slug')}
              required
              hint={`The last part of its address: /status/${values.slug || 'acme'}. It cannot be changed later`}
            />
          )}
          <TextField
            label="Under the title"
            lines={2}
            value={values.description}
            onChange={(description) => set({ description })}
            hint="Plain text, at most 500 characters"
          />
          <ServiceOrder
            sections={values.sections}
            services={services}
            onChange={(sections) => set({ sections })}
            error={errorOf('sections')}
          />
          <Field
            label="Colour"
            error={errorOf('accentColour')}
            hint={isColour(accentColour) ? contrastWords(accentColour) : 'Of the band and the links; blue by default'}
          >
            {({ id, describedBy, invalid }) => (
              <span class="buttons">
                <input
                  type="color"
                  aria-label="Choose a colour"
                  value={isColour(accentColour) ? accentColour : '#0a5fc4'}
                  onInput={(event) => set({ accentColour: event.currentTarget.value })}
                />
                <input
                  id={id}
                  class="colour"
                  value={accentColour}
                  placeholder="#0a6cff"
                  aria-describedby={describedBy}
                  aria-invalid={invalid}
                  autocomplete="off"
                  onInput={(event) => set({ accentColour: event.currentTarget.value.trim() })}
                />
                {accentColour && (
                  <Button small onPress={() => set({ accentColour: '' })}>
                    Default
                  </Button>
                )}
              </span>
            )}
          </Field>
          <LogoField logo={values.logo} onChange={(logo) => set({ logo })} />
          <TextField
            label="Time zone"
            value={values.timezone}
            onChange={(timezone) => set({ timezone })}
            list={timeZones()}
            hint="An IANA name, such as Europe/Paris; times on the page are of it"
          />
        </Form>
        <details class="below">
          <summary>As code</summary>
          <OneLine line={lineOf(start, values, isNew)} />
        </details>
      </div>
      <section class="beside-preview" aria-label="Preview" tabIndex={0}>
        <h2>Preview</h2>
        <Preview values={values} services={services} down={down} storedLogo={storedLogo} />
      </section>
    </div>
  );
}

/** Browsers that cannot list them take any name that is typed. */
function timeZones(): readonly string[] {
  try {
    return ['UTC', ...Intl.supportedValuesOf('timeZone')];
  } catch {
    return ['UTC'];
  }
}

/** The same as a command; a logo is named, for it would fill pages. */
function lineOf(start: PageValues, values: PageValues, isNew: boolean): Line {
  const isNewLogo = values.logo !== '' && values.logo !== 'stored';
  const shown = isNewLogo ? { ...values, logo: '<data: URL>' } : values;
  try {
    return isNew
      ? { operation: 'createStatusPage', input: createInput(shown) }
      : { operation: 'updateStatusPage', params: [start.slug], input: changesOf(start, shown) };
  } catch {
    if (!isNew) return { operation: 'updateStatusPage', params: [start.slug] };
    const { slug, title, sections } = shown;
    const serviceIds = sections.flatMap((section) => section.serviceIds);
    return {
      operation: 'createStatusPage',
      input: { slug: slug || '<slug>', title: title || '<title>', serviceIds: serviceIds.length ? serviceIds : ['<service>'] },
    };
  }
}
