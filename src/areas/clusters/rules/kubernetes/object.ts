/** Whatever stands in JSON. */
export type Json = Record<string, unknown>;

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: unknown[];
}

/** An object whose shape was judged (schema/shape.ts): what a message declares has the type that it declares. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: Json;
  status?: Json;
  [field: string]: unknown;
}

/** Texts of a list that may be absent. */
export const textsOf = (value: unknown): string[] => (Array.isArray(value) ? (value as string[]) : []);
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
