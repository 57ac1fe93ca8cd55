import type { Representation } from '../engine/call.ts';
import { toEventsForm } from '../rules/kinds/event.ts';
import type { KubeObject } from '../rules/object.ts';
import { columnsOf, rowOf } from '../rules/printing.ts';
import { groupVersionOf, type Resource } from '../rules/resources.ts';

/** Renders an object in the requested representation. `text` is the stored JSON, which most clients receive unchanged. */
export interface Presenter {
  one(text: string): string;
  /** The start of a list; its end carries the metadata that is known by then. */
  begin: string;
  end(metadata: Record<string, unknown>): string;
  /** One item of a list. */
  item(text: string): string;
}

const parse = (text: string) => JSON.parse(text) as KubeObject;
const isEventsGroup = ({ storedAs, group }: Resource) => storedAs === 'events' && group !== '';

/** The groups core and events.k8s.io serve the same events in two forms. */
export const toGroupForm = (resource: Resource, object: KubeObject): KubeObject =>
  isEventsGroup(resource) ? toEventsForm(object) : object;

const metadataOnly = ({ metadata }: KubeObject) => ({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });

function rowText(resource: Resource, { rowObject }: Representation, now: string, text: string): string {
  const object = toGroupForm(resource, parse(text));
  const shown = rowObject === 'Object' ? object : rowObject === 'Metadata' ? metadataOnly(object) : undefined;
  return JSON.stringify({ cells: rowOf(object, now), ...(shown ? { object: shown } : {}) });
}

/** `now`: the reference for ages in tables. */
export function makePresenter(resource: Resource, representation: Representation, now: string): Presenter {
  const apiVersion = groupVersionOf(resource);
  const meta = (metadata: Record<string, unknown>) => `],"metadata":${JSON.stringify(metadata)}}`;
  if (representation.as === 'table') {
    const head = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":${JSON.stringify(columnsOf(resource))},"rows":[`;
    const row = (text: string) => rowText(resource, representation, now, text);
    return {
      one: (text) => `${head}${row(text)}${meta({ resourceVersion: parse(text).metadata.resourceVersion })}`,
      begin: head,
      item: row,
      end: meta,
    };
  }
  if (representation.as === 'metadata') {
    const one = (text: string) => JSON.stringify(metadataOnly(parse(text)));
    return { one, item: one, begin: '{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[', end: meta };
  }
  const one = isEventsGroup(resource) ? (text: string) => JSON.stringify(toEventsForm(parse(text))) : (text: string) => text;
  return { one, item: one, begin: `{"kind":"${resource.kind}List","apiVersion":"${apiVersion}","items":[`, end: meta };
}
