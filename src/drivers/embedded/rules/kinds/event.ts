import type { Json, KubeObject } from '../object.ts';

// Events are stored in the form of the core group. The group events.k8s.io serves the same events with other field names.

const names: readonly [core: string, events: string][] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

function rename(object: KubeObject, apiVersion: string, toCore: boolean): KubeObject {
  const renamed: Json = {};
  const to = new Map(names.map(([core, events]) => (toCore ? [events, core] : [core, events])));
  for (const [name, value] of Object.entries(object)) renamed[to.get(name) ?? name] = value;
  return { ...renamed, apiVersion } as KubeObject;
}

export const toEventsForm = (object: KubeObject): KubeObject => rename(object, 'events.k8s.io/v1', false);
export const toCoreForm = (object: KubeObject): KubeObject => rename(object, 'v1', true);
