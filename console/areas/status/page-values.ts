import type { StatusPage } from '../../../sdk/browser.ts';
import { isColour } from './colour.ts';

// What the editor of a status page holds while it is typed, and what the API takes. Pure.

export interface Section {
  /** Keeps a section apart while its name is typed. */
  key: number;
  /** Empty in the first one: its services stand above all groups. */
  name: string;
  serviceIds: readonly string[];
}

export interface PageValues {
  slug: string;
  title: string;
  description: string;
  timezone: string;
  accentColour: string;
  /** A data: URL that is new; `stored` is the one that the page has. */
  logo: string | 'stored' | '';
  /** The first holds the services without a group. */
  sections: readonly Section[];
}

export const freshValues = (timezone: string): PageValues => ({
  slug: '',
  title: '',
  description: '',
  timezone,
  accentColour: '',
  logo: '',
  sections: [{ key: 0, name: '', serviceIds: [] }],
});

export function valuesOf(page: StatusPage): PageValues {
  const grouped = new Set(page.groups.flatMap((group) => group.serviceIds));
  return {
    slug: page.slug,
    title: page.title,
    description: page.description ?? '',
    timezone: page.timezone,
    accentColour: page.accentColour ?? '',
    logo: page.logoUrl ? 'stored' : '',
    sections: [
      { key: 0, name: '', serviceIds: page.serviceIds.filter((id) => !grouped.has(id)) },
      ...page.groups.map(({ name, serviceIds }, at) => ({ key: at + 1, name, serviceIds })),
    ],
  };
}

export const shownServices = ({ sections }: Pick<PageValues, 'sections'>): string[] => sections.flatMap(({ serviceIds }) => serviceIds);

/** One place up or down; at the end of its section a service goes on into the next one. */
export function moveService(sections: readonly Section[], id: string, by: 1 | -1): readonly Section[] {
  const at = sections.findIndex(({ serviceIds }) => serviceIds.includes(id));
  const { serviceIds } = sections[at]!;
  const from = serviceIds.indexOf(id);
  const without = serviceIds.filter((one) => one !== id);
  if (from + by >= 0 && from + by < serviceIds.length)
    return sections.with(at, { ...sections[at]!, serviceIds: without.toSpliced(from + by, 0, id) });
  const next = sections[at + by];
  if (!next) return sections;
  return sections
    .with(at, { ...sections[at]!, serviceIds: without })
    .with(at + by, { ...next, serviceIds: by > 0 ? [id, ...next.serviceIds] : [...next.serviceIds, id] });
}

export const addService = (sections: readonly Section[], id: string): readonly Section[] =>
  sections.with(-1, { ...sections.at(-1)!, serviceIds: [...sections.at(-1)!.serviceIds, id] });

export const removeService = (sections: readonly Section[], id: string): readonly Section[] =>
  sections.map((section) => ({ ...section, serviceIds: section.serviceIds.filter((one) => one !== id) }));

export const addGroup = (sections: readonly Section[]): readonly Section[] => [
  ...sections,
  { key: Math.max(...sections.map(({ key }) => key)) + 1, name: '', serviceIds: [] },
];

/** A group changes places with its neighbour; the services without a group stay first. */
export function moveGroup(sections: readonly Section[], at: number, by: 1 | -1): readonly Section[] {
  const to = at + by;
  if (to < 1 || to >= sections.length) return sections;
  return sections.with(at, sections[to]!).with(to, sections[at]!);
}

/** Its services go to the end of the section before it. */
export const removeGroup = (sections: readonly Section[], at: number): readonly Section[] =>
  sections
    .with(at - 1, { ...sections[at - 1]!, serviceIds: [...sections[at - 1]!.serviceIds, ...sections[at]!.serviceIds] })
    .toSpliced(at, 1);

/** A mistake that the form finds by itself, at its field. */
export class FieldProblem extends Error {
  field: keyof PageValues;
  constructor(field: keyof PageValues, problem: string) {
    super(problem);
    this.field = field;
  }
}

/** A whole page, for `createStatusPage`. */
export function createInput(values: PageValues) {
  const { slug, title, description, timezone, accentColour, logo } = values;
  if (!title.trim()) throw new FieldProblem('title', 'A title is needed');
  if (!/^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$/.test(slug))
    throw new FieldProblem('slug', '3 to 40 lower-case letters, digits and hyphens, no hyphen at the ends');
  if (accentColour && !isColour(accentColour)) throw new FieldProblem('accentColour', 'Write a colour as #0a6cff');
  const serviceIds = shownServices(values);
  if (!serviceIds.length) throw new FieldProblem('sections', 'A page shows at least one service; add one');
  const groups = values.sections.slice(1).map(({ name, serviceIds: its }) => ({ name: name.trim(), serviceIds: [...its] }));
  if (groups.some(({ name }) => !name)) throw new FieldProblem('sections', 'Each group needs a name');
  const empty = groups.find((group) => !group.serviceIds.length);
  if (empty) throw new FieldProblem('sections', `The group ${empty.name} holds no service; move one there, or remove it`);
  return {
    slug,
    title: title.trim(),
    serviceIds,
    ...(groups.length ? { groups } : {}),
    ...(description.trim() ? { description: description.trim() } : {}),
    ...(accentColour ? { accentColour } : {}),
    ...(logo && logo !== 'stored' ? { logo } : {}),
    ...(timezone.trim() ? { timezone: timezone.trim() } : {}),
  };
}

/** What differs from how the editor began, for `updateStatusPage`. */
export function changesOf(before: PageValues, after: PageValues): Record<string, unknown> {
  const { slug: _, groups = [], ...whole } = createInput(after);
  const wanted: Record<string, unknown> = { ...whole, groups };
  if (!after.description.trim()) wanted['description'] = null;
  if (!after.accentColour) wanted['accentColour'] = null;
  if (!after.logo) wanted['logo'] = null;
  const was: Record<string, unknown> = {
    title: before.title,
    description: before.description || null,
    timezone: before.timezone,
    accentColour: before.accentColour || null,
    logo: before.logo === '' ? null : undefined,
    serviceIds: shownServices(before),
    groups: before.sections.slice(1).map(({ name, serviceIds }) => ({ name, serviceIds })),
  };
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(was[name])));
}

/** An address made of a title: `Acme Shop` is `acme-shop`. */
export const slugOf = (title: string): string =>
  title
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replaceAll(/^-|-$/g, '');
